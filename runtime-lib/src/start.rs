//! The runtime's start and end: an entry in `.preinit_array`, which runs before every constructor, and one in
//! `.fini_array`, which runs after every exit handler.
//!
//! The identity of the program is that of the executable's own site tables. Those are reached by the
//! linker's symbols, since the runtime is part of the executable; the constructors of shared objects, which
//! come before the executable's, then already find the mode set.

use crate::options::{self, Mode};
use crate::{clock, delay, exports, hook, interpose, meta, process, sys, threads};
use core::ffi::{c_char, c_int, c_ulong, CStr};
use covsched_core::site::program_id;

/// The executable's site tables; empty if it has none.
fn own_tables() -> &'static [u8] {
    let start = sys::weak_address!("__start_covsched_sites", ".hidden");
    let stop = sys::weak_address!("__stop_covsched_sites", ".hidden");
    let length = (stop as usize).saturating_sub(start as usize);
    if start.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the linker's bounds of one section.
    unsafe { core::slice::from_raw_parts(start, length) }
}

type Preinit = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char);

#[link_section = ".preinit_array"]
#[used]
static PREINIT: Preinit = start;

#[link_section = ".fini_array"]
#[used]
static FINI: unsafe extern "C" fn() = end;

unsafe extern "C" fn start(count: c_int, arguments: *const *const c_char, environment: *const *const c_char) {
    interpose::start();
    // SAFETY: as the C runtime gives them.
    let Some(text) = (unsafe { find_options(environment) }) else { return };
    // SAFETY: as above.
    if unsafe { is_privileged(environment) } {
        // Whoever starts a set-user-id program must not choose where it writes.
        return;
    }
    let options = options::parse(text, complain);
    if options.help {
        options::print_help();
    }
    if options.mode == Mode::Off {
        return;
    }
    let program = program_id(own_tables());
    if options.program.is_some_and(|wanted| wanted != program) {
        // The options are for the program that started this one.
        return;
    }
    let Some(folder) = options.log else {
        complain(&["mode=record needs log=DIR; not recording"]);
        return;
    };
    clock::start();
    hook::start();
    if let Some(seed) = options.delay {
        delay::start(seed);
    }
    // SAFETY: as the C runtime gives them.
    let command = unsafe { command_line(count, arguments) };
    let begun = meta::set_process(folder.as_bytes(), program, command).and_then(|()| meta::begin(0, 0));
    match begun {
        Ok(()) => (),
        Err(libc::ENAMETOOLONG) => {
            return complain(&["the name of folder '", folder, "' is too long; not recording"])
        }
        Err(libc::ENOENT) => return complain(&["folder '", folder, "' does not exist; not recording"]),
        Err(_) => return complain(&["cannot write to folder '", folder, "'; not recording"]),
    }
    if !threads::start() || !process::start() {
        meta::note_lost_records();
        return complain(&["no thread key or fork handler to be had; not recording"]);
    }
    // SAFETY: before all constructors there is one thread.
    unsafe { exports::set_active(true) };
}

unsafe extern "C" fn end() {
    if !exports::is_off() {
        process::ended();
    }
}

fn complain(parts: &[&str]) {
    let mut line = ["", "", "", "", "", "", "", "\n"];
    line[0] = "covsched: COVSCHED_OPTIONS: ";
    line[1..7].iter_mut().zip(parts).for_each(|(place, part)| *place = part);
    sys::write_error(&line);
}

/// The text of `COVSCHED_OPTIONS`.
///
/// # Safety
/// `environment` is a null-ended array of zero-ended strings.
unsafe fn find_options(environment: *const *const c_char) -> Option<&'static str> {
    let mut at = environment;
    // SAFETY: by the contract.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            let variable = CStr::from_ptr(*at).to_bytes();
            if let Some(text) = variable.strip_prefix(b"COVSCHED_OPTIONS=") {
                let text = core::str::from_utf8(text);
                if text.is_err() {
                    complain(&["not UTF-8; ignored"]);
                }
                return text.ok();
            }
            at = at.add(1);
        }
    }
    None
}

/// Whether the program has more rights than who started it: AT_SECURE in the auxiliary vector.
///
/// # Safety
/// `environment` is as the kernel gave it, followed by the auxiliary vector.
unsafe fn is_privileged(environment: *const *const c_char) -> bool {
    // SAFETY: by the contract.
    unsafe {
        let mut at = environment;
        while !(*at).is_null() {
            at = at.add(1);
        }
        let mut pair = at.add(1).cast::<[c_ulong; 2]>();
        while (*pair)[0] != libc::AT_NULL {
            if (*pair)[0] == libc::AT_SECURE {
                return (*pair)[1] != 0;
            }
            pair = pair.add(1);
        }
    }
    false
}

/// The command line: the kernel puts the arguments one after the other, each with its zero byte.
///
/// # Safety
/// `arguments` has `count` zero-ended strings.
unsafe fn command_line(count: c_int, arguments: *const *const c_char) -> (*const u8, usize) {
    if count <= 0 {
        return (core::ptr::null(), 0);
    }
    // SAFETY: by the contract.
    unsafe {
        let first = (*arguments).cast::<u8>();
        let mut length = 0;
        for index in 0..count as usize {
            let argument = *arguments.add(index);
            if argument.cast::<u8>() != first.wrapping_add(length) {
                break;
            }
            length += CStr::from_ptr(argument).to_bytes_with_nul().len();
        }
        (first, length)
    }
}
