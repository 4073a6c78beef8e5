//! The runtime's start and end: an entry in `.preinit_array`, which runs before every constructor, and one in
//! `.fini_array`, which runs after every exit handler.
//!
//! The identity of the program is that of the executable's own site tables. Those are reached by the
//! linker's symbols, since the runtime is part of the executable; the constructors of shared objects, which
//! come before the executable's, then already find the mode set.

use crate::enforce::{self, Refusal};
use crate::options::{self, Mode, Options};
use crate::{
    clock, delay, epoch, exports, hook, interpose, loom, markers, meta, not_covered, process, sys, threads,
};
use core::ffi::{c_char, c_int, c_ulong, CStr};
use covsched_core::site::program_id;
use covsched_core::ProgramId;

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

/// The executable's identity.
pub fn program() -> ProgramId {
    program_id(own_tables())
}

/// Whether the process has more rights than who started it.
pub fn is_privileged_process(environment: *const *const c_char) -> bool {
    // SAFETY: the process's own.
    environment.is_null() || unsafe { is_privileged(environment) }
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
    loom::remember_environment(environment);
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
    let program = program();
    if options.program.is_some_and(|wanted| wanted != program) {
        // The options are for the program that started this one.
        return;
    }
    loom::configure(&options.loom, complain);
    not_covered::set_exit_code(options.exit_code);
    if options.mode == Mode::Off && !options.are_epochs_barriers {
        return;
    }
    if options.mode == Mode::Enforce && options.are_epochs_barriers {
        complain(&["epochs=barrier cannot be combined with mode=enforce: a plan has no epochs; leave one of them out"]);
        sys::exit_process(2);
    }
    clock::start();
    hook::start();
    // SAFETY: before all constructors there is one thread.
    unsafe { exports::set_barrier(options.are_epochs_barriers) };
    epoch::set_shape(options.epoch_markers, options.epoch_instructions, options.epoch_balance);
    if let Some(seed) = options.delay {
        delay::start(seed);
    }
    if options.mode == Mode::Enforce && !start_enforcing(&options, program) {
        return;
    }
    if options.mode == Mode::Record || options.log.is_some() {
        // SAFETY: as the C runtime gives them.
        let command = unsafe { command_line(count, arguments) };
        let is_recording = start_recording(options.log, program, command);
        if !is_recording && options.mode == Mode::Record && !options.are_epochs_barriers {
            return;
        }
        // SAFETY: before all constructors there is one thread.
        unsafe { exports::set_recording(is_recording) };
    }
    if !threads::start() || !process::start() {
        meta::note_lost_records();
        return complain(&["no thread key or fork handler to be had; the hooks do nothing"]);
    }
    if markers::keeps_stack() {
        loom::stay_slow();
    }
    // SAFETY: as above.
    unsafe { exports::set_active(true) };
}

fn start_recording(folder: Option<&str>, program: ProgramId, command: (*const u8, usize)) -> bool {
    let Some(folder) = folder else {
        complain(&["mode=record needs log=DIR; not recording"]);
        return false;
    };
    let begun = meta::set_process(folder.as_bytes(), program, command).and_then(|()| meta::begin(0, 0));
    match begun {
        Ok(()) => (),
        Err(libc::ENAMETOOLONG) => {
            complain(&["the name of folder '", folder, "' is too long; not recording"])
        }
        Err(libc::ENOENT) => complain(&["folder '", folder, "' does not exist; not recording"]),
        Err(_) => complain(&["cannot write to folder '", folder, "'; not recording"]),
    }
    begun.is_ok()
}

fn start_enforcing(options: &Options<'_>, program: ProgramId) -> bool {
    let Some(plan) = options.plan else {
        complain(&["mode=enforce needs plan=FILE; not enforcing"]);
        return false;
    };
    enforce::divergence::set_reaction(options.ends_on_divergence, options.exit_code.into());
    enforce::turn::set_fast_timeouts(options.fast_timeouts);
    enforce::set_stall(options.stall.unwrap_or(0));
    let (mut path, mut status) = (meta::Path::EMPTY, meta::Path::EMPTY);
    path.push(plan.as_bytes());
    status.push(plan.as_bytes());
    status.push(b".status");
    match enforce::start(path.zero_ended(), status.zero_ended(), program, own_tables().as_ptr() as usize) {
        Ok(()) => return true,
        // A child, or what the process became by exec: the plan is not for it.
        Err(Refusal::Taken) => (),
        Err(Refusal::Unreadable) => {
            complain(&["cannot read plan '", plan, "' and its status; not enforcing"])
        }
        Err(Refusal::NotAPlan) => complain(&["'", plan, "' is no plan of this version; not enforcing"]),
        Err(Refusal::OtherProgram) => complain(&["plan '", plan, "' is for another program; not enforcing"]),
    }
    false
}

unsafe extern "C" fn end() {
    loom::process_ends();
    if !exports::is_off() {
        enforce::process_ended();
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
