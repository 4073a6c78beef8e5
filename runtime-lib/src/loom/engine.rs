//! The engine's thread.

/// Starts the engine if there is something to control and it does not run yet.
pub fn start_if_wanted() {}

/// Something has happened that the engine may want to know.
pub fn notice() {}
