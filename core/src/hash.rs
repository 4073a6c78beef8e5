//! The hash behind site ids and program identities: FNV-1a with a final mix, 64 bits.
//!
//! It is part of the `.sched` format (site ids are stored there), so it never changes without a new
//! format version. Small enough to run in the runtime, where no hasher of std is at hand.

/// An incremental hash.
#[derive(Clone, Copy, Debug)]
pub struct Hasher(u64);

impl Default for Hasher {
    fn default() -> Self {
        Hasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher {
    /// Adds bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// Adds a string and a separator, so that ("ab", "c") and ("a", "bc") differ.
    pub fn field(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0])
    }

    /// The hash: never 0, which means "none" wherever a hash is an id.
    pub fn finish(self) -> u64 {
        mix(self.0).max(1)
    }
}

/// Spreads every input bit over the whole word (the finalizer of SplitMix64).
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_pinned_because_schedules_store_them() {
        assert_eq!(Hasher::default().field("worker").field("pthread_mutex_lock").finish(), {
            let mut h = 0xcbf2_9ce4_8422_2325u64;
            for &b in b"worker\0pthread_mutex_lock\0" {
                h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            mix(h)
        });
        assert_eq!(Hasher::default().finish(), 0xf52a_15e9_a9b5_e89b);
    }

    #[test]
    fn field_boundaries_count() {
        let ab_c = Hasher::default().field("ab").field("c").finish();
        let a_bc = Hasher::default().field("a").field("bc").finish();
        assert_ne!(ab_c, a_bc);
    }
}
