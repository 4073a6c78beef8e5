//! The C symbols, made from core's tables: a row without an implementation does not compile.
//!
//! Each export tests one byte. In mode off it goes on to the wrapped function with a jump, without a frame of its
//! own: three instructions, one predictable branch (`objdump -d target/rt-link/covsched_rt.o`):
//! ```text
//! covsched_pthread_mutex_lock:
//!     cmpb  $1, ACTIVE(%rip)
//!     je    1f
//!     jmp   *pthread_mutex_lock@GOTPCREL(%rip)
//! 1:  jmp   act
//! ```
//! The site stays in the register in which it came: it is the last argument, and the function does not look
//! there. Functions that do not return are called, since Rust makes no tail calls of those.

use crate::epoch::Visit;
use crate::loom::birth;
use crate::real::{self, rust_type};
use core::cell::UnsafeCell;
use covsched_core::{for_each_cxx_hook, for_each_hook, for_each_marker, SiteId};

/// Whether the hooks do anything.
struct Active(UnsafeCell<bool>);

// SAFETY: written only while the process has one thread: at start, and in a forked child.
unsafe impl Sync for Active {}

static ACTIVE: Active = Active(UnsafeCell::new(false));

/// Mode off. A plain load: an atomic one costs an instruction more.
#[inline(always)]
pub fn is_off() -> bool {
    // SAFETY: nobody writes it while there are other threads.
    unsafe { !*ACTIVE.0.get() }
}

/// Turns the hooks on or off.
///
/// # Safety
/// The process has one thread.
pub unsafe fn set_active(active: bool) {
    // SAFETY: by the contract.
    unsafe { *ACTIVE.0.get() = active };
}

static RECORDING: Active = Active(UnsafeCell::new(false));

/// Whether events are recorded; else the hooks only follow a plan.
#[inline(always)]
pub fn is_recording() -> bool {
    // SAFETY: nobody writes it while there are other threads.
    unsafe { *RECORDING.0.get() }
}

/// Begins or ends recording.
///
/// # Safety
/// The process has one thread.
pub unsafe fn set_recording(recording: bool) {
    // SAFETY: by the contract.
    unsafe { *RECORDING.0.get() = recording };
}

static BARRIER: Active = Active(UnsafeCell::new(false));

/// Whether epoch markers are barriers.
#[inline(always)]
pub fn is_barrier() -> bool {
    // SAFETY: nobody writes it while there are other threads.
    unsafe { *BARRIER.0.get() }
}

/// Makes epoch markers barriers.
///
/// # Safety
/// The process has one thread.
pub unsafe fn set_barrier(barrier: bool) {
    // SAFETY: by the contract.
    unsafe { *BARRIER.0.get() = barrier };
}

/// Where the implementations are, by name.
mod active {
    pub use crate::barrier::*;
    pub use crate::c11::*;
    pub use crate::cond::*;
    pub use crate::cxx::*;
    pub use crate::epoch::{epoch_enter, epoch_leave, epoch_marker, epoch_spin};
    pub use crate::markers::*;
    pub use crate::mutex::*;
    pub use crate::not_covered::{claim_failed, not_covered};
    pub use crate::once::*;
    pub use crate::process::*;
    pub use crate::rwlock::*;
    pub use crate::sem::*;
    pub use crate::spin::*;
    pub use crate::thread::*;
}

/// Calls an implementation with `epochs=barrier`; what returns is a visit, as [`crate::epoch`] wants to know.
macro_rules! visited {
    (never, $call:expr) => {
        $call
    };
    ($result:ident, $call:expr) => {{
        let visit = Visit::begin();
        let returned = $call;
        visit.end();
        returned
    }};
}

/// The wrapped function. Whoever makes a thread tells loom.
macro_rules! wrapped {
    (Thread Create, $name:ident ( $($param:ident),* )) => {
        birth::$name($($param),*)
    };
    ($class:ident $effect:ident, $name:ident ( $($param:ident),* )) => {
        real::$name($($param),*)
    };
    (std_thread_start, $original:ident ( $($param:ident),* )) => {
        birth::std_thread_start($($param,)* $original)
    };
    ($name:ident, $original:ident ( $($param:ident),* )) => {
        $original($($param),*)
    };
}

macro_rules! export_hooks {
    ($($name:ident ( $($param:ident : $word:ident),* ) -> $result:ident : $class:ident $effect:ident;)*) => {
        $(
            #[export_name = concat!("covsched_", stringify!($name))]
            unsafe extern "C-unwind" fn $name(
                $($param: rust_type!($word),)* site: rust_type!(site)
            ) -> rust_type!($result) {
                #[cold]
                #[inline(never)]
                unsafe fn act($($param: rust_type!($word),)* site: rust_type!(site)) -> rust_type!($result) {
                    // SAFETY: as below.
                    unsafe {
                        if site == SiteId::IGNORED {
                            wrapped!($class $effect, $name($($param),*))
                        } else {
                            active::$name($($param,)* site)
                        }
                    }
                }
                #[cold]
                #[inline(never)]
                unsafe fn act_in_epoch(
                    $($param: rust_type!($word),)* site: rust_type!(site)
                ) -> rust_type!($result) {
                    // SAFETY: as below.
                    unsafe { visited!($result, act($($param,)* site)) }
                }
                // SAFETY: the caller keeps the wrapped function's contract.
                unsafe {
                    if is_off() {
                        wrapped!($class $effect, $name($($param),*))
                    } else if is_barrier() {
                        act_in_epoch($($param,)* site)
                    } else {
                        act($($param,)* site)
                    }
                }
            }
        )*
    };
}
for_each_hook!(export_hooks);

macro_rules! export_cxx_hooks {
    ($($linkage:literal $name:ident ( $($param:ident : $word:ident),* ) -> $result:ident = $op:ident;)*) => {
        $(
            #[export_name = concat!("covsched_", stringify!($name))]
            unsafe extern "C-unwind" fn $name(
                $($param: rust_type!($word),)*
                original: unsafe extern "C" fn($(rust_type!($word)),*) -> rust_type!($result),
                site: rust_type!(site),
            ) -> rust_type!($result) {
                #[cold]
                #[inline(never)]
                unsafe fn act(
                    $($param: rust_type!($word),)*
                    original: unsafe extern "C" fn($(rust_type!($word)),*) -> rust_type!($result),
                    site: rust_type!(site),
                ) -> rust_type!($result) {
                    // SAFETY: as below.
                    unsafe {
                        if site == SiteId::IGNORED {
                            wrapped!($name, original($($param),*))
                        } else {
                            active::$name($($param,)* original, site)
                        }
                    }
                }
                #[cold]
                #[inline(never)]
                unsafe fn act_in_epoch(
                    $($param: rust_type!($word),)*
                    original: unsafe extern "C" fn($(rust_type!($word)),*) -> rust_type!($result),
                    site: rust_type!(site),
                ) -> rust_type!($result) {
                    // SAFETY: as below.
                    unsafe { visited!($result, act($($param,)* original, site)) }
                }
                // SAFETY: the caller keeps the wrapped function's contract.
                unsafe {
                    if is_off() {
                        wrapped!($name, original($($param),*))
                    } else if is_barrier() {
                        act_in_epoch($($param,)* original, site)
                    } else {
                        act($($param,)* original, site)
                    }
                }
            }
        )*
    };
}
for_each_cxx_hook!(export_cxx_hooks);

/// What a marker does in mode off: nothing, unless it ends the process.
macro_rules! unless_off {
    (never, $call:expr) => {
        $call
    };
    (void, $call:expr) => {
        if !is_off() {
            $call
        }
    };
    (int, $call:expr) => {
        if is_off() {
            0
        } else {
            $call
        }
    };
}

macro_rules! export_markers {
    ($($name:ident ( $($param:ident : $word:ident),* ) -> $result:ident;)*) => {
        $(
            #[export_name = concat!("covsched_", stringify!($name))]
            unsafe extern "C-unwind" fn $name($($param: rust_type!($word)),*) -> rust_type!($result) {
                // SAFETY: the pass calls it as the table says.
                unsafe { unless_off!($result, active::$name($($param),*)) }
            }
        )*
    };
}
for_each_marker!(export_markers);
