//! Epochs (Bergan 3.2.2, 3.5, 3.6.2): what markers do.

use covsched_core::SiteId;
use libc::c_int;

/// A thread comes to a marker.
pub unsafe fn epoch_marker(_site: SiteId) {}

/// A thread is about to make a library call that may block.
pub unsafe fn epoch_leave() -> c_int {
    0
}

/// That call has returned.
pub unsafe fn epoch_enter(_left: c_int) {}
