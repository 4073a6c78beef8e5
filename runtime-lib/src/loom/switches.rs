//! `loom-switch`: functions' switches set without a filter, to test that both copies of a function do the same.

use super::units;
use super::update::Installed;
use super::SETTINGS;
use covsched_core::hash::mix;

/// Flips functions at random, for as long as no filter is installed.
pub struct Flips {
    state: u64,
}

impl Flips {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Flips { state: seed }
    }

    /// Sets all switches anew.
    pub fn flip(&mut self, installed: &Installed) {
        // With a filter, only those that it names are slow, and they stay so.
        if installed.all().any(|filter| filter.is_active()) {
            return;
        }
        units::set_slow(|_, _| {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            SETTINGS.is_slow() || mix(self.state) & 1 != 0
        });
    }
}
