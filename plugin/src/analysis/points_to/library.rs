//! What library functions do with pointers and memory: the words of the [`table`], and looking functions up in it.
//!
//! An effect names arguments by their number, from 0. What has no row is unknown code, unless core's table of library
//! calls knows that it calls nothing of the program ([`Known::CallsNothing`]). A hook does what the function does that it
//! replaces; hooks that the passes add do nothing that a program sees.
//!
//! Limits: text holds no pointers, so `strcpy`, `sprintf` and `%p` move none. Pointers that are written to a file or a pipe
//! with a constant length come back from any ([`Slot::Files`]). `%n` counts where the format is not in a `va_list` call.

#[path = "table.rs"]
mod table;

use covsched_core::hooks::{CXX_HOOKS, HOOKS, MARKERS};
use covsched_core::library::never_synchronizes;
use std::collections::HashMap;

/// When a function runs that a library function was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// During the call.
    Now,
    /// At some time after: no call in the code says when.
    Later,
    /// In a new thread.
    Thread,
}

/// What library functions keep from call to call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Pointers in what was written to files, pipes and sockets.
    Files,
    /// Values of thread-specific data.
    Keys,
    /// What threads end with.
    Exits,
    /// Signal handlers.
    Handlers,
    /// What `strtok` is at.
    Tokens,
    /// Memory that streams use or write to.
    Buffers,
    /// Strings that `putenv` made part of the environment.
    Environment,
}

impl Slot {
    /// How many there are.
    pub const COUNT: usize = Slot::Environment as usize + 1;
}

/// What a library function passes to a function that it calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// No pointer.
    Nothing,
    /// Its own argument.
    Argument(u8),
    /// A pointer into what its argument points to.
    Into(u8),
    /// What was kept.
    Kept(Slot),
    /// What unknown code may pass.
    External,
}

/// What a library function does. Arguments by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The result is a new object, as large as the product of these arguments; of unknown size if there are none.
    New(&'static [u8]),
    /// What the first points to becomes a pointer to a new object; as large as the second says, if there is one.
    NewAt(u8, Option<u8>),
    /// The new object holds what this one points to.
    NewFrom(u8),
    /// `mmap`: the result is a new object unless the flags, argument 3, say that others share it.
    Maps,
    /// The result is this argument.
    Is(u8),
    /// The result points into what it points to.
    Into(u8),
    /// The result points into what a pointer points to that is stored in what it points to; that pointer moves there, too.
    IntoStored(u8),
    /// The result points to the library's memory.
    GivesLibrary,
    /// The result points to arguments or environment.
    GivesEnvironment,
    /// The result points to unknown code's memory.
    GivesExternal,
    /// Reads what it points to.
    Reads(u8),
    /// The same for it and all after it.
    ReadsFrom(u8),
    /// Reads what pointers point to that are stored in what it points to.
    ReadsStored(u8),
    /// Reads what it points to, what is stored there points to, and so on.
    ReadsDeep(u8),
    /// Writes what it points to, no pointers.
    Writes(u8),
    /// Writes what pointers point to that are stored in what it points to, no pointers.
    WritesStored(u8),
    /// Copies memory.
    Copies {
        /// To what this one points to.
        to: u8,
        /// From what this one points to.
        from: u8,
        /// As much as this one says.
        bytes: Option<u8>,
    },
    /// What the first points to becomes a pointer into what the second points to.
    PutsInto(u8, u8),
    /// What it points to becomes a pointer to the library's memory.
    PutsLibrary(u8),
    /// Moves what is in the array that it points into.
    Sorts(u8),
    /// Keeps it.
    Keeps(Slot, u8),
    /// The result is what was kept.
    Gives(Slot),
    /// The result points into what was kept.
    GivesInto(Slot),
    /// What it points to becomes what was kept.
    GivesAt(Slot, u8),
    /// Reads and writes what that points to which was kept.
    Uses(Slot),
    /// Writes what it points to, to a file; as much as the product of the others.
    Sends(u8, &'static [u8]),
    /// Writes what it points to, from a file.
    Receives(u8),
    /// The same with pointers that are stored in what it points to.
    ReceivesStored(u8),
    /// It is a `printf` format, with values after it.
    Prints(u8),
    /// It is a `scanf` format, with targets after it.
    Scans(u8),
    /// Calls it.
    Calls(u8, &'static [Given], When),
    /// Calls the function that a pointer points to that is stored in what it points to.
    CallsStored(u8, &'static [Given], When),
    /// Starts a thread for the `std::thread::_State` that a pointer points to that is stored in what it points to.
    StartsState(u8),
    /// Makes what it points to a `va_list`.
    ListsArguments(u8),
    /// Unknown code gets it.
    Escapes(u8),
    /// Touches only what can be reached from its arguments, and may move pointers between all of that; may make a new
    /// object; may give any of these.
    Confined,
    /// Reads and writes the library's memory: errno, streams.
    UsesLibrary,
    /// Reads the environment.
    ReadsEnvironment,
    /// Writes the environment.
    WritesEnvironment,
}

/// What is known of a function without a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// All that it does.
    Effects(&'static [Effect]),
    /// It does with its arguments what it wants, but calls nothing of the program.
    CallsNothing,
    /// Nothing.
    Nothing,
}

/// The table, to look functions up.
pub struct Library {
    rows: HashMap<&'static str, &'static [Effect]>,
}

/// Functions of core's table that do call the program: the destructor of what was caught.
const CALLERS: &[&str] = &["__cxa_end_catch", "_Unwind_DeleteException", "_Unwind_RaiseException"];

impl Library {
    /// Reads the table.
    pub fn new() -> Library {
        let mut rows = HashMap::new();
        for &(names, effects) in table::FUNCTIONS {
            names.split_whitespace().for_each(|name| {
                rows.insert(name, effects);
            });
        }
        for hook in HOOKS.iter().chain(CXX_HOOKS) {
            if let Some(&effects) = rows.get(hook.replaces) {
                rows.insert(hook.symbol, effects);
            }
        }
        for marker in MARKERS {
            rows.insert(marker.symbol, &[]);
        }
        Library { rows }
    }

    /// What is known of a function that is not LLVM's.
    pub fn function(&self, name: &str) -> Known {
        if let Some(effects) = self.rows.get(name) {
            return Known::Effects(effects);
        }
        if let Some(effects) = by_beginning(table::BEGINNINGS, name) {
            return Known::Effects(effects);
        }
        let is_mangled = name.starts_with("_Z");
        if never_synchronizes(name) && !is_mangled && !CALLERS.contains(&name) {
            Known::CallsNothing
        } else {
            Known::Nothing
        }
    }

    /// What is known of a function of LLVM's: its name goes on with its types.
    pub fn intrinsic(&self, name: &str) -> Known {
        let name = name.strip_prefix("llvm.").unwrap_or(name);
        let found = table::INTRINSICS.iter().find(|(names, _)| {
            names.split_whitespace().any(|known| match name.strip_prefix(known) {
                Some(rest) => rest.is_empty() || rest.starts_with('.') || known.ends_with('.'),
                None => false,
            })
        });
        found.map_or(Known::Nothing, |&(_, effects)| Known::Effects(effects))
    }
}

fn by_beginning(
    table: &'static [(&'static str, &'static [Effect])],
    name: &str,
) -> Option<&'static [Effect]> {
    let found = table
        .iter()
        .find(|(beginnings, _)| beginnings.split_whitespace().any(|beginning| name.starts_with(beginning)));
    found.map(|&(_, effects)| effects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one_row() {
        let mut seen = HashMap::new();
        for (names, _) in table::FUNCTIONS {
            for name in names.split_whitespace() {
                assert_eq!(seen.insert(name, ()), None, "{name}");
                assert!(by_beginning(table::BEGINNINGS, name).is_none(), "{name}");
            }
        }
        assert!(seen.len() > 700, "{}", seen.len());
    }

    #[test]
    fn every_hook_and_marker_is_known() {
        let library = Library::new();
        for hook in HOOKS.iter().chain(CXX_HOOKS) {
            for name in [hook.replaces, hook.symbol] {
                assert!(matches!(library.function(name), Known::Effects(_)), "{name}");
            }
            assert_eq!(library.function(hook.replaces), library.function(hook.symbol));
        }
        for marker in MARKERS {
            assert_eq!(library.function(marker.symbol), Known::Effects(&[]), "{}", marker.symbol);
        }
    }

    #[test]
    fn intrinsics_are_known_by_the_beginning_of_their_name() {
        let library = Library::new();
        let copies = Known::Effects(&[
            Effect::Copies { to: 0, from: 1, bytes: Some(2) },
            Effect::Reads(1),
            Effect::Writes(0),
        ]);
        assert_eq!(library.intrinsic("llvm.memcpy.p0.p0.i64"), copies);
        assert_eq!(library.intrinsic("llvm.memcpy.inline.p0.p0.i64"), copies);
        assert_eq!(library.intrinsic("llvm.memcpyx"), Known::Nothing);
        assert_eq!(library.intrinsic("llvm.lifetime.start.p0"), Known::Effects(&[]));
        assert_eq!(library.intrinsic("llvm.coro.begin"), Known::Nothing);
    }

    #[test]
    fn what_runs_or_keeps_the_programs_functions_is_not_said_to_call_nothing() {
        let library = Library::new();
        for name in ["tsearch", "nftw", "scandir", "dlopen", "__cxa_end_catch", "_ZSt9terminatev", "foo"] {
            assert_eq!(library.function(name), Known::Nothing, "{name}");
        }
        assert_eq!(library.function("ioctl"), Known::CallsNothing);
        for name in ["atexit", "signal", "qsort", "bsearch", "pthread_once", "pthread_key_create"] {
            let Known::Effects(effects) = library.function(name) else { panic!("{name}") };
            assert!(effects.iter().any(|effect| matches!(effect, Effect::Calls(..))), "{name}");
        }
    }
}
