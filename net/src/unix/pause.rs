//! Pauses between attempts, where the system doesn't tell when the next one may succeed.

use std::time::Duration;
use windlass_reactor::time::sleep;

const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(50);

/// Short at first, then twice as long each time, up to the longest.
#[derive(Debug, Default)]
pub(super) struct Pause(Duration);

impl Pause {
    pub(super) async fn wait(&mut self) {
        self.0 = (self.0 * 2).clamp(SHORTEST, LONGEST);
        sleep(self.0).await;
    }
}
