//! The wrapped functions, declared from core's table.
//!
//! Declared as not unwinding although some do (cancellation, C++ exceptions in once routines): with
//! `panic=abort` Rust turns every call of an unwinding function into one that aborts. Hook frames have
//! nothing to clean up, so unwinding passes through them by their tables alone, which scripts/build
//! asks for (`-C force-unwind-tables`).

use covsched_core::for_each_hook;
use libc::c_int;

/// The Rust type behind a table's word.
macro_rules! rust_type {
    (ptr) => { *mut libc::c_void };
    (int) => { libc::c_int };
    (uint) => { libc::c_uint };
    (ulong) => { libc::c_ulong };
    (site) => { covsched_core::SiteId };
    (void) => { () };
    (never) => { ! };
}
pub(crate) use rust_type;

macro_rules! declare {
    ($($name:ident ( $($param:ident : $word:ident),* ) -> $result:ident : $class:ident $effect:ident;)*) => {
        // sem_open is variadic in C; with this ABI the two optional arguments travel as named ones do.
        #[allow(clashing_extern_declarations)]
        unsafe extern "C" {
            $(pub fn $name($($param: rust_type!($word)),*) -> rust_type!($result);)*
        }
    };
}
for_each_hook!(declare);

/// The thread's errno.
pub fn errno() -> c_int {
    // SAFETY: glibc's, of this thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the thread's errno.
pub fn set_errno(value: c_int) {
    // SAFETY: glibc's, of this thread.
    unsafe { *libc::__errno_location() = value };
}

/// What a call that returns -1 and sets errno amounts to as a result in a schedule.
#[inline(always)]
pub fn errno_result(returned: c_int) -> c_int {
    if returned == 0 {
        0
    } else {
        errno()
    }
}

/// And back: sets errno.
#[inline(always)]
pub fn errno_returns(result: c_int) -> c_int {
    if result == 0 {
        return 0;
    }
    set_errno(result);
    -1
}
