//! What happens when the library is loaded, before `main`.

use crate::{next, settings};

/// The loader calls what stands in this section.
#[cfg_attr(not(test), used)]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
#[cfg_attr(test, expect(dead_code, reason = "unit tests load nothing"))]
static LOAD: extern "C" fn() = load;

/// Looks the C library's functions up, which may not be done in a signal handler, and reads the
/// settings, so that a mistake in them ends every program and not only those that use the device.
extern "C" fn load() {
    next::look_up_all();
    settings::settings();
}
