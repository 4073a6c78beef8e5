//! Control-flow specialization (Wu 4.1, 4.2.1): from a program and one of its schedules to a program in which each
//! synchronization of the schedule is one instruction, and what cannot run under the schedule is gone.
//!
//! Collect: the schedule must be of this program ([`fits`]); a thread's events are a tree of frames (core's `frames`), of
//! which [`items`] keeps what can be specialized; the functions of those frames are cut into pieces ([`graph`],
//! [`program`]). Choose ([`plan`]): for each frame the product of its function's pieces with what it did ([`layers`]),
//! and one clone without synchronization for functions that are called where the schedule expects none. Change
//! ([`driver`]): clones are made, calls and thread creations lead to them, edges that leave the schedule lead to traps.
//! Nothing is changed before all fits.
//!
//! Where Wu searches through calls with a call stack, this searches one function at a time: the derived events say
//! which call of which function did what, so the search between two synchronizations falls apart into one a frame.
//!
//! Limits: what the program does not call itself (constructors, exit handlers, destructors of thread-local objects, signal
//! handlers, functions that a library calls back) runs as it is, and so do functions with constructs that cannot be
//! cloned; they are counted. A call through a pointer that is not the next item runs as it is, too.

mod body;
pub mod data;
pub mod driver;
pub mod fits;
pub mod glob;
pub mod graph;
pub mod ignored;
pub mod items;
pub mod layers;
pub mod optimizer;
pub mod plan;
pub mod program;
mod source;
pub mod stats;
mod words;

pub use data::DataOptions;
pub use driver::{specialize, Specialized};
pub use stats::Stats;

use crate::ir::{Module, Severity};
use crate::parameters::SpecializeOptions;
use covsched_core::schedule::order::Order;
use covsched_core::schedule::{parse, verify, Schedule};
use covsched_core::ProgramId;

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// What analyses may assume.
    pub order: Order,
    /// Leave guards out: for analyses, not to run.
    pub analysis_only: bool,
    /// Do not specialize data flow.
    pub control_only: bool,
    /// What to do with data flow.
    pub data: DataOptions,
    /// Sites to leave out, by file, function or call.
    pub ignore_sites: Vec<String>,
    /// The build, if the module is not all of it: some of its units have no bitcode.
    pub program: Option<ProgramId>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            order: Order::Hb,
            analysis_only: false,
            control_only: true,
            data: DataOptions::default(),
            ignore_sites: Vec::new(),
            program: None,
        }
    }
}

/// Why a program was not specialized. It is as it was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpecializeError {
    /// The module has no site tables.
    #[error("the program was not compiled with covsched: it has no sites")]
    NoSites,
    /// They cannot be read.
    #[error("section {section}: {what}")]
    BadTables {
        /// Where.
        section: &'static str,
        /// Why.
        what: String,
    },
    /// It was done before, for something else.
    #[error(
        "the program is specialized already, for something else: specialize the one that it was made of"
    )]
    Specialized,
    /// The schedule's end is missing.
    #[error(
        "the schedule is cut off after {after} events ({reason}): only a whole run can be specialized for"
    )]
    CutOff {
        /// How the run ended.
        reason: String,
        /// How many there are.
        after: usize,
    },
    /// The schedule begins in the middle.
    #[error("the schedule is that of a forked process: it begins in the middle of its parent's run")]
    Forked,
    /// The schedule is of another program.
    #[error("the schedule is of another build of the program ({schedule}, this is {program}); {first}")]
    OtherBuild {
        /// The schedule's.
        schedule: ProgramId,
        /// This one.
        program: ProgramId,
        /// The first difference, in words.
        first: String,
    },
    /// The program cannot do what the schedule says.
    #[error("the schedule does not fit the program: {what}")]
    DoesNotFit {
        /// What, in words.
        what: String,
        /// The function that cannot.
        function: String,
    },
    /// A wait and what wakes it belong together.
    #[error("{ignored} is ignored and {kept} is not, but one wakes the other: ignore both or neither")]
    HalfIgnored {
        /// Left out.
        ignored: String,
        /// Not left out.
        kept: String,
    },
    /// What holds of all runs of the schedule cannot hold of one.
    #[error(
        "what the schedule says of the program's values contradicts itself{}: the schedule does not fit this program, or \
         this is a bug in covsched",
        at_places(places)
    )]
    Contradiction {
        /// Where the conditions stand that exclude each other.
        places: Vec<String>,
    },
    /// A summary names nothing.
    #[error("a summary names {0}, and the program defines no such function (C++ functions go by their linkage names)")]
    NoFunction(String),
    /// The program uses a name of covsched's.
    #[error("the program declares {0}, a function of covsched's runtime, with another type")]
    SymbolTaken(&'static str),
}

fn at_places(places: &[String]) -> String {
    match places {
        [] => String::new(),
        some => format!(" (conditions at {})", some.iter().take(8).cloned().collect::<Vec<_>>().join(", ")),
    }
}

/// `schedspec`. Returns whether the module changed.
pub fn run_pass(module: Module<'_>, options: &SpecializeOptions) -> bool {
    let complain = |message: String| {
        module.report(Severity::Error, &format!("covsched: {message}"));
        false
    };
    let schedule = match read_schedule(&options.schedule) {
        Ok(schedule) => schedule,
        Err(message) => return complain(message),
    };
    let mut chosen = options.options.clone();
    if let Some(path) = &options.summaries {
        match data::summaries::read(path) {
            Ok(summaries) => chosen.data.summaries = summaries,
            Err(message) => return complain(message),
        }
    }
    match specialize(module, &schedule, &chosen) {
        Ok(done) => {
            if options.verbose {
                eprintln!("covsched: {}: {}", module.source_name(), done.stats.summary());
            }
            true
        }
        Err(error) => {
            let message = format!("covsched: {}: {error}", options.schedule);
            let function = match &error {
                SpecializeError::DoesNotFit { function, .. } => {
                    module.functions().into_iter().find(|facts| facts.name == *function)
                }
                _ => None,
            };
            match function {
                Some(facts) => {
                    module.report_at(facts.function.as_place(), Severity::Error, &message);
                }
                None => module.report(Severity::Error, &message),
            }
            false
        }
    }
}

/// Reads and verifies a schedule; what is wrong, with the line.
fn read_schedule(path: &str) -> Result<Schedule, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let (schedule, lines) =
        parse::parse_bytes(&bytes).map_err(|error| format!("{path}:{}: {}", error.line, error.what))?;
    match verify::verify(&schedule) {
        Ok(()) => Ok(schedule),
        Err(fault) => Err(match fault.seq.and_then(|seq| lines.line(seq)) {
            Some(line) => format!("{path}:{line}: {fault}"),
            None => format!("{path}: {fault}"),
        }),
    }
}
