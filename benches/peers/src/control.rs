//! The control: how late a bare thread is that only sleeps, while something else is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that sleeps a millisecond again and again.
#[derive(Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Control {
    /// Starts the thread.
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut worst = Duration::ZERO;
            while !seen.load(Ordering::Relaxed) {
                worst = worst.max(lateness_of_a_sleep());
            }
            worst
        });
        Self { stop, thread }
    }

    /// Stops the thread and returns how late it was at the worst, in microseconds.
    pub fn stop(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        let worst = self.thread.join().expect("the thread does not panic");
        worst.as_secs_f64() * 1e6
    }
}

/// Sleeps a millisecond and returns by how much that took longer.
pub fn lateness_of_a_sleep() -> Duration {
    let (start, asked) = (Instant::now(), Duration::from_millis(1));
    std::thread::sleep(asked);
    start.elapsed().saturating_sub(asked)
}
