//! Where a program that was specialized for a schedule leaves it: the input is not one that the schedule covers, so the
//! rest of the program may be missing. Says so once and ends the process at once, in every mode. Likewise where a program
//! that checks what its specialization concluded finds something else.
//!
//! No exit handler runs and no stream is flushed: other threads may be anywhere, and what the program would
//! still print could be a wrong answer. Safe in signal handlers.

use crate::sys;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use covsched_core::SiteId;
use libc::{c_int, c_ulong, c_void};

/// `exitcode`.
static EXIT_CODE: AtomicI32 = AtomicI32::new(66);
/// Somebody says it and ends the process.
static SAID: AtomicBool = AtomicBool::new(false);

/// Sets `exitcode`.
pub fn set_exit_code(code: u8) {
    EXIT_CODE.store(code.into(), Ordering::Relaxed);
}

/// The exit code of a bug in covsched.
const BUG: c_int = 70;

/// Ends the process: the run left its schedule.
#[cold]
pub unsafe fn not_covered(_expected: SiteId, text: *mut c_void, thread: c_int) -> ! {
    let mut digits = [0u8; 20];
    let number = u32::try_from(thread).map_or("", |thread| decimal(thread.into(), &mut digits));
    let before_number = if number.is_empty() { "" } else { ", thread t" };
    // SAFETY: the specializer made it.
    let text = unsafe { zero_ended(text.cast()) };
    say_and_end(
        &["covsched: input not covered by this schedule: expected ", text, before_number, number, "\n"],
        EXIT_CODE.load(Ordering::Relaxed),
    )
}

/// Ends the process: specialization concluded something that does not hold.
#[cold]
pub unsafe fn claim_failed(seen: c_ulong, claimed: c_ulong, text: *mut c_void) -> ! {
    // SAFETY: the specializer made it.
    let text = unsafe { zero_ended(text.cast()) };
    let (mut claimed_digits, mut seen_digits) = ([0u8; 20], [0u8; 20]);
    let claimed = decimal(claimed, &mut claimed_digits);
    let seen = decimal(seen, &mut seen_digits);
    say_and_end(&["covsched: bug: ", text, " was claimed to be ", claimed, " and is ", seen, "\n"], BUG)
}

/// Says it, if nobody did, and ends the process.
fn say_and_end(parts: &[&str], code: c_int) -> ! {
    // A handler that comes here too would wait for the thread that it interrupted.
    sys::block_signals();
    if SAID.swap(true, Ordering::Relaxed) {
        loop {
            sys::sleep_nanoseconds(100_000_000);
        }
    }
    sys::write_error(parts);
    sys::exit_process(code)
}

/// A C string.
///
/// # Safety
/// It is one, of UTF-8, and stays.
unsafe fn zero_ended(text: *const u8) -> &'static str {
    let mut length = 0;
    // SAFETY: by the contract.
    unsafe {
        while *text.add(length) != 0 {
            length += 1;
        }
        core::str::from_utf8_unchecked(core::slice::from_raw_parts(text, length))
    }
}

/// A number in digits.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    core::str::from_utf8(&digits[at..]).unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_digits() {
        for number in [0, 7, 10, 4096, u32::MAX.into(), u64::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string());
        }
    }
}
