//! What `COVSCHED_OPTIONS` and the environment say about loom. Everything has a default, and is kept where programs that overwrite their
//! environment do not reach.

use super::report::Line;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering};

/// Longest name of a folder that a socket's address has room for.
pub const LONGEST_FOLDER: usize = 90;

/// When the engine starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// With the second thread.
    Automatic,
    /// With the first.
    On,
    /// Never.
    Off,
}

/// How functions' switches are set, for tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwitchMode {
    /// As filters want.
    Fast,
    /// Slow.
    Slow,
    /// Flipped all the time.
    Random(u64),
}

/// The settings.
pub struct Settings {
    start: AtomicU8,
    tries: AtomicU32,
    /// Nanoseconds.
    patience: AtomicU64,
    /// Milliseconds.
    timeout: AtomicU32,
    has_membarrier: AtomicBool,
    is_slow: AtomicBool,
    /// 0: no flips.
    flip_seed: AtomicU64,
    folder: UnsafeCell<Line<{ LONGEST_FOLDER + 1 }>>,
}

// SAFETY: the folder is written before there are threads.
unsafe impl Sync for Settings {}

impl Settings {
    /// Defaults.
    pub const fn new() -> Self {
        Settings {
            start: AtomicU8::new(0),
            tries: AtomicU32::new(100),
            patience: AtomicU64::new(10_000_000_000),
            timeout: AtomicU32::new(5000),
            has_membarrier: AtomicBool::new(true),
            is_slow: AtomicBool::new(false),
            flip_seed: AtomicU64::new(0),
            folder: UnsafeCell::new(Line::new()),
        }
    }

    /// As the options say.
    pub fn set(&self, options: &crate::options::LoomOptions<'_>) {
        self.start.store(options.start as u8, Ordering::Relaxed);
        self.tries.store(options.tries, Ordering::Relaxed);
        self.patience.store(options.patience.saturating_mul(1_000_000), Ordering::Relaxed);
        self.timeout.store(options.timeout, Ordering::Relaxed);
        self.has_membarrier.store(options.has_membarrier, Ordering::Relaxed);
        self.is_slow.store(options.switch == SwitchMode::Slow, Ordering::Relaxed);
        if let SwitchMode::Random(seed) = options.switch {
            self.flip_seed.store(seed.max(1), Ordering::Relaxed);
        }
        if let Some(folder) = options.socket {
            self.set_folder(&[folder.as_bytes()]);
        }
    }

    /// Where the socket is to be. Before there are threads.
    pub fn set_folder(&self, parts: &[&[u8]]) {
        // SAFETY: as it says.
        let folder = unsafe { &mut *self.folder.get() };
        *folder = Line::new();
        parts.iter().for_each(|part| {
            folder.push_bytes(part);
        });
    }

    /// The folder; empty if nothing was said.
    pub fn folder(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { (*self.folder.get()).bytes() }
    }

    /// When the engine starts.
    pub fn start(&self) -> Start {
        match self.start.load(Ordering::Relaxed) {
            1 => Start::On,
            2 => Start::Off,
            _ => Start::Automatic,
        }
    }

    /// The engine starts with the first thread.
    pub fn want_engine(&self) {
        let _ = self.start.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How often threads are asked to pause for one update.
    pub fn tries(&self) -> u32 {
        self.tries.load(Ordering::Relaxed)
    }

    /// Nanoseconds that an update may take.
    pub fn patience(&self) -> u64 {
        self.patience.load(Ordering::Relaxed)
    }

    /// Milliseconds that a thread may wait for a filter.
    pub fn timeout(&self) -> u32 {
        self.timeout.load(Ordering::Relaxed)
    }

    /// Whether the kernel's membarrier may be used.
    pub fn has_membarrier(&self) -> bool {
        self.has_membarrier.load(Ordering::Relaxed)
    }

    /// Functions are slow, whatever filters say.
    pub fn want_slow(&self) {
        self.is_slow.store(true, Ordering::Relaxed);
    }

    /// Whether functions are slow without a filter.
    pub fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::Relaxed)
    }

    /// The seed of flips.
    pub fn flip_seed(&self) -> Option<u64> {
        Some(self.flip_seed.load(Ordering::Relaxed)).filter(|&seed| seed != 0)
    }
}
