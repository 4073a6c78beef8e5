//! The passes by name, and their parameters in LLVM's form `name<flag;key=value>`: one parser for `-passes=`
//! and for `COVSCHED_PASS_OPTIONS`, which says the same to clang and lld (a plugin's `-mllvm` options come too
//! late there) as a list `name<...>,name<...>`.

use std::fmt;

/// The environment variable that parameterizes the passes where no pipeline is spelled out.
pub const ENVIRONMENT: &str = "COVSCHED_PASS_OPTIONS";

/// What `covsched-instrument` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InstrumentOptions {
    /// `no-bitcode`: do not keep the unit's bitcode in the object.
    pub no_bitcode: bool,
    /// `verbose`: one line a unit that counts sites and limits.
    pub verbose: bool,
}

/// What `epoch-markers` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EpochOptions {
    /// `no-trivial`: loops that only wait on condition variables, only create or only join get markers too.
    pub no_trivial: bool,
    /// `no-covered`: so do loops in which another marker must execute.
    pub no_covered: bool,
    /// `no-barrier`: so do loops in which a barrier must execute.
    pub no_barrier: bool,
    /// `whole-program`: the module is all of the program but its libraries: a pointer is one of the module's own
    /// functions or a known library function, and what is not defined here is a library's.
    pub whole_program: bool,
    /// `count-instructions`: the program counts its instructions, for `epoch-instructions` and `epoch-balance`.
    pub count_instructions: bool,
    /// `verbose`: one line a unit that counts markers, loops without and limits.
    pub verbose: bool,
}

/// What `sync-unroll` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnrollOptions {
    /// `factor=N`, at least 2: how many iterations one of the unrolled loop has.
    pub factor: u32,
    /// `whole-program`: as for `epoch-markers`.
    pub whole_program: bool,
    /// `verbose`: one line a loop that says what was done.
    pub verbose: bool,
}

/// What `print<covsched-epochs>` takes, after a semicolon: `print<covsched-epochs;json;whole-program>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrintOptions {
    /// `json`: as `covsched epochs --format json`.
    pub json: bool,
    /// The rest: as for `epoch-markers`.
    pub epochs: EpochOptions,
}

/// What `schedspec` takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecializeOptions {
    /// `schedule=FILE`, which must be given.
    pub schedule: String,
    /// `control-only`, `analysis-only`, `aggressive`, `check`, `order=hb|total`, `ignore-sites=GLOB` (as often as
    /// wanted).
    pub options: crate::specialize::Options,
    /// `summaries=FILE`.
    pub summaries: Option<String>,
    /// `verbose`: a summary of what was done.
    pub verbose: bool,
}

/// What `loom` takes. The flags that begin with `no-`, and `all-loops`, show what each optimization buys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoomOptions {
    /// `precise`: stands before optimization, right after `covsched-instrument`, where the environment asks for it.
    pub precise: bool,
    /// `no-variables`: slots have no values of variables.
    pub no_variables: bool,
    /// `no-cloning`: slots stand in the only copy of the code.
    pub no_cloning: bool,
    /// `no-filter-byte`: every check calls the runtime.
    pub no_filter_byte: bool,
    /// `no-inline`: tests and stores are functions that the code calls.
    pub no_inline: bool,
    /// `no-direct`: functions of other units are called by name, each between a release and a re-acquire.
    pub no_direct: bool,
    /// `all-loops`: every iteration of every loop has a check.
    pub all_loops: bool,
    /// `verbose`: one line a unit that counts what was done and limits.
    pub verbose: bool,
}

impl LoomOptions {
    const FLAGS: &'static [&'static str] = &[
        "precise",
        "no-variables",
        "no-cloning",
        "no-filter-byte",
        "no-inline",
        "no-direct",
        "all-loops",
        "verbose",
    ];

    fn set(&mut self, flag: &str) {
        match flag {
            "precise" => self.precise = true,
            "no-variables" => self.no_variables = true,
            "no-cloning" => self.no_cloning = true,
            "no-filter-byte" => self.no_filter_byte = true,
            "no-inline" => self.no_inline = true,
            "no-direct" => self.no_direct = true,
            "all-loops" => self.all_loops = true,
            _ => self.verbose = true,
        }
    }
}

/// A pass with its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pass {
    /// `covsched-instrument`.
    Instrument(InstrumentOptions),
    /// `covsched-lower`.
    Lower {
        /// Says what it does.
        verbose: bool,
    },
    /// `print<covsched-sites>`.
    PrintSites,
    /// `epoch-markers`.
    EpochMarkers(EpochOptions),
    /// `sync-unroll`.
    SyncUnroll(UnrollOptions),
    /// `print<covsched-epochs>`.
    PrintEpochs(PrintOptions),
    /// `verify<covsched-epochs>`; takes `whole-program`.
    VerifyEpochs(EpochOptions),
    /// `schedspec`.
    Specialize(SpecializeOptions),
    /// `print<covsched-points-to>`.
    PrintPointsTo {
        /// `sets`, after a semicolon: where each register may point.
        sets: bool,
    },
    /// `loom`.
    Loom(LoomOptions),
    /// `print<covsched-loom>`.
    PrintLoom,
}

/// The passes that an environment asks for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    /// `epoch-markers` and `sync-unroll`, in order: they run before the module is instrumented.
    pub before: Vec<Pass>,
    /// What `covsched-instrument` takes.
    pub instrument: InstrumentOptions,
    /// What `loom` takes; `None` if it is not asked for.
    pub loom: Option<LoomOptions>,
    /// Whether `covsched-lower` says what it does.
    pub lower_verbose: bool,
}

/// What is wrong with a pass's parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParameterError {
    /// A pass takes no such parameter.
    Unknown {
        /// The pass.
        pass: &'static str,
        /// What was given.
        parameter: String,
        /// What it takes.
        known: &'static [&'static str],
    },
    /// A flag was given a value.
    TakesNoValue {
        /// The pass.
        pass: &'static str,
        /// The flag.
        parameter: String,
    },
    /// A parameter has no value, or one that is not allowed.
    BadValue {
        /// The pass.
        pass: &'static str,
        /// The parameter as given.
        parameter: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// `<` without its `>`.
    NotClosed {
        /// The element as given.
        text: String,
    },
    /// The environment names a pass that covsched does not have.
    UnknownPass {
        /// The element as given.
        text: String,
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Unknown { pass, parameter, known: [] } => {
                write!(f, "{pass}: unknown parameter '{parameter}': it takes none")
            }
            ParameterError::Unknown { pass, parameter, known } => {
                write!(f, "{pass}: unknown parameter '{parameter}'; known: {}", known.join(", "))
            }
            ParameterError::TakesNoValue { pass, parameter } => {
                write!(f, "{pass}: parameter '{parameter}' takes no value")
            }
            ParameterError::BadValue { pass, parameter, expected } => {
                write!(f, "{pass}: '{parameter}': expected {expected}")
            }
            ParameterError::NotClosed { text } => write!(f, "'{text}': '<' without '>'"),
            ParameterError::UnknownPass { text } => write!(
                f,
                "'{text}' is no pass of covsched that can be asked for here; known: {INSTRUMENT}, {LOWER}, \
                 {EPOCH_MARKERS}, {SYNC_UNROLL}, {LOOM} (each with <parameters>)"
            ),
        }
    }
}

const INSTRUMENT: &str = "covsched-instrument";
const LOWER: &str = "covsched-lower";
const PRINT_SITES: &str = "print<covsched-sites>";
const EPOCH_MARKERS: &str = "epoch-markers";
const SYNC_UNROLL: &str = "sync-unroll";
const PRINT_EPOCHS: &str = "print<covsched-epochs>";
const VERIFY_EPOCHS: &str = "verify<covsched-epochs>";
const SCHEDSPEC: &str = "schedspec";
const PRINT_POINTS_TO: &str = "print<covsched-points-to>";
const LOOM: &str = "loom";
const PRINT_LOOM: &str = "print<covsched-loom>";

/// Reads one element of a pipeline; `None` if it is not a pass of covsched.
pub fn parse(text: &str) -> Result<Option<Pass>, ParameterError> {
    if text == PRINT_SITES {
        return Ok(Some(Pass::PrintSites));
    }
    if text == PRINT_LOOM {
        return Ok(Some(Pass::PrintLoom));
    }
    if let Some(parameters) = parameters_of(text, INSTRUMENT)? {
        let mut options = InstrumentOptions::default();
        for parameter in parameters {
            match flag(INSTRUMENT, parameter, &["no-bitcode", "verbose"])? {
                "no-bitcode" => options.no_bitcode = true,
                _ => options.verbose = true,
            }
        }
        return Ok(Some(Pass::Instrument(options)));
    }
    if let Some(parameters) = parameters_of(text, LOWER)? {
        let mut verbose = false;
        for parameter in parameters {
            flag(LOWER, parameter, &["verbose"])?;
            verbose = true;
        }
        return Ok(Some(Pass::Lower { verbose }));
    }
    if let Some(parameters) = parameters_of(text, EPOCH_MARKERS)? {
        let mut options = EpochOptions::default();
        for parameter in parameters {
            options.set(flag(EPOCH_MARKERS, parameter, EpochOptions::FLAGS)?);
        }
        return Ok(Some(Pass::EpochMarkers(options)));
    }
    if let Some(parameters) = parameters_of(text, SYNC_UNROLL)? {
        return parse_unroll(parameters).map(|options| Some(Pass::SyncUnroll(options)));
    }
    if let Some(parameters) = parameters_inside(text, PRINT_EPOCHS)? {
        let mut options = PrintOptions::default();
        for parameter in parameters {
            match flag(PRINT_EPOCHS, parameter, PrintOptions::FLAGS)? {
                "json" => options.json = true,
                name => options.epochs.set(name),
            }
        }
        return Ok(Some(Pass::PrintEpochs(options)));
    }
    if let Some(parameters) = parameters_inside(text, VERIFY_EPOCHS)? {
        let mut options = EpochOptions::default();
        for parameter in parameters {
            options.set(flag(VERIFY_EPOCHS, parameter, &["whole-program"])?);
        }
        return Ok(Some(Pass::VerifyEpochs(options)));
    }
    if let Some(parameters) = parameters_inside(text, PRINT_POINTS_TO)? {
        let mut sets = false;
        for parameter in parameters {
            flag(PRINT_POINTS_TO, parameter, &["sets"])?;
            sets = true;
        }
        return Ok(Some(Pass::PrintPointsTo { sets }));
    }
    if let Some(parameters) = parameters_of(text, LOOM)? {
        let mut options = LoomOptions::default();
        for parameter in parameters {
            options.set(flag(LOOM, parameter, LoomOptions::FLAGS)?);
        }
        return Ok(Some(Pass::Loom(options)));
    }
    if let Some(parameters) = parameters_of(text, SCHEDSPEC)? {
        return parse_specialize(parameters).map(|options| Some(Pass::Specialize(options)));
    }
    Ok(None)
}

fn parse_specialize<'a>(
    parameters: impl Iterator<Item = &'a str>,
) -> Result<SpecializeOptions, ParameterError> {
    const KNOWN: &[&str] = &[
        "schedule=FILE",
        "control-only",
        "analysis-only",
        "aggressive",
        "check",
        "summaries=FILE",
        "ignore-sites=GLOB",
        "order=hb|total",
        "verbose",
    ];
    let bad = |parameter: &str, expected| ParameterError::BadValue {
        pass: SCHEDSPEC,
        parameter: parameter.to_owned(),
        expected,
    };
    let (mut schedule, mut summaries) = (None, None);
    let mut options = crate::specialize::Options { control_only: false, ..Default::default() };
    let mut verbose = false;
    for parameter in parameters {
        let Some((key, value)) = parameter.split_once('=') else {
            match parameter {
                "control-only" => options.control_only = true,
                "analysis-only" => options.analysis_only = true,
                "aggressive" => options.data.aggressive = true,
                "check" => options.data.check = true,
                "verbose" => verbose = true,
                _ => return Err(unknown_of(SCHEDSPEC, parameter, KNOWN)),
            }
            continue;
        };
        match (key, value) {
            ("schedule", "") => return Err(bad(parameter, "schedule=FILE")),
            ("schedule", file) => schedule = Some(file.to_owned()),
            ("summaries", "") => return Err(bad(parameter, "summaries=FILE")),
            ("summaries", file) => summaries = Some(file.to_owned()),
            ("ignore-sites", "") => return Err(bad(parameter, "ignore-sites=GLOB")),
            ("ignore-sites", glob) => options.ignore_sites.push(glob.to_owned()),
            ("order", order) => {
                options.order = order.parse().map_err(|_| bad(parameter, "order=hb or order=total"))?;
            }
            ("control-only" | "analysis-only" | "aggressive" | "check" | "verbose", _) => {
                return Err(ParameterError::TakesNoValue { pass: SCHEDSPEC, parameter: key.to_owned() })
            }
            _ => return Err(unknown_of(SCHEDSPEC, key, KNOWN)),
        }
    }
    let schedule = schedule.ok_or_else(|| bad("", "schedule=FILE"))?;
    Ok(SpecializeOptions { schedule, summaries, options, verbose })
}

fn unknown_of(pass: &'static str, parameter: &str, known: &'static [&'static str]) -> ParameterError {
    match parameter.strip_suffix('=').unwrap_or(parameter) {
        "schedule" => {
            ParameterError::BadValue { pass, parameter: parameter.to_owned(), expected: "schedule=FILE" }
        }
        other => ParameterError::Unknown { pass, parameter: other.to_owned(), known },
    }
}

impl EpochOptions {
    const FLAGS: &'static [&'static str] =
        &["no-trivial", "no-covered", "no-barrier", "whole-program", "count-instructions", "verbose"];

    fn set(&mut self, flag: &str) {
        match flag {
            "no-trivial" => self.no_trivial = true,
            "no-covered" => self.no_covered = true,
            "no-barrier" => self.no_barrier = true,
            "whole-program" => self.whole_program = true,
            "count-instructions" => self.count_instructions = true,
            _ => self.verbose = true,
        }
    }
}

impl PrintOptions {
    const FLAGS: &'static [&'static str] =
        &["json", "no-trivial", "no-covered", "no-barrier", "whole-program"];
}

fn parse_unroll<'a>(parameters: impl Iterator<Item = &'a str>) -> Result<UnrollOptions, ParameterError> {
    let mut factor = None;
    let mut options = UnrollOptions { factor: 0, whole_program: false, verbose: false };
    let bad = |parameter: &str| ParameterError::BadValue {
        pass: SYNC_UNROLL,
        parameter: parameter.to_owned(),
        expected: "factor=N with N from 2 to 1024",
    };
    for parameter in parameters {
        match parameter.strip_prefix("factor=") {
            Some(value) => {
                let value = value.parse().ok().filter(|value| (2..=1024).contains(value));
                factor = Some(value.ok_or_else(|| bad(parameter))?);
            }
            None if parameter == "factor" => return Err(bad(parameter)),
            None => match flag(SYNC_UNROLL, parameter, &["factor=N", "whole-program", "verbose"])? {
                "whole-program" => options.whole_program = true,
                _ => options.verbose = true,
            },
        }
    }
    options.factor = factor.ok_or_else(|| bad(""))?;
    Ok(options)
}

/// What the environment's text asks for.
pub fn parse_environment(text: &str) -> Result<Asked, ParameterError> {
    let mut asked = Asked::default();
    for element in text.split(',').map(str::trim).filter(|element| !element.is_empty()) {
        match parse(element)? {
            Some(Pass::Instrument(given)) => asked.instrument = given,
            Some(Pass::Lower { verbose }) => asked.lower_verbose = verbose,
            Some(Pass::Loom(given)) => asked.loom = Some(given),
            Some(pass @ (Pass::EpochMarkers(_) | Pass::SyncUnroll(_))) => asked.before.push(pass),
            Some(
                Pass::PrintSites
                | Pass::PrintLoom
                | Pass::PrintEpochs(_)
                | Pass::VerifyEpochs(_)
                | Pass::Specialize(_)
                | Pass::PrintPointsTo { .. },
            )
            | None => return Err(ParameterError::UnknownPass { text: element.to_owned() }),
        }
    }
    Ok(asked)
}

/// The parts between `<` and `>` if the text names this pass.
fn parameters_of<'a>(
    text: &'a str,
    pass: &str,
) -> Result<Option<impl Iterator<Item = &'a str>>, ParameterError> {
    let inside = match text.strip_prefix(pass) {
        Some("") => "",
        Some(rest) if rest.starts_with('<') => match rest[1..].strip_suffix('>') {
            Some(inside) => inside,
            None => return Err(ParameterError::NotClosed { text: text.to_owned() }),
        },
        _ => return Ok(None),
    };
    Ok(Some(inside.split(';').map(str::trim).filter(|part| !part.is_empty())))
}

/// The parts after the first semicolon if the text is this pass, whose name ends in `>`.
fn parameters_inside<'a>(
    text: &'a str,
    pass: &str,
) -> Result<Option<impl Iterator<Item = &'a str>>, ParameterError> {
    let inside = match text.strip_prefix(pass.trim_end_matches('>')) {
        Some(">") => "",
        Some(rest) if rest.starts_with(';') => match rest.strip_suffix('>') {
            Some(inside) => inside,
            None => return Err(ParameterError::NotClosed { text: text.to_owned() }),
        },
        _ => return Ok(None),
    };
    Ok(Some(inside.split(';').map(str::trim).filter(|part| !part.is_empty())))
}

/// One of the pass's flags, or what is wrong with it.
fn flag(
    pass: &'static str,
    parameter: &str,
    known: &'static [&'static str],
) -> Result<&'static str, ParameterError> {
    let (key, value) = match parameter.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (parameter, None),
    };
    let Some(&name) = known.iter().find(|&&name| name == key) else {
        return Err(ParameterError::Unknown { pass, parameter: key.to_owned(), known });
    };
    match value {
        None => Ok(name),
        Some(_) => Err(ParameterError::TakesNoValue { pass, parameter: key.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instrument(no_bitcode: bool, verbose: bool) -> Result<Option<Pass>, ParameterError> {
        Ok(Some(Pass::Instrument(InstrumentOptions { no_bitcode, verbose })))
    }

    #[test]
    fn passes_are_known_with_and_without_parameters() {
        assert_eq!(parse("covsched-instrument"), instrument(false, false));
        assert_eq!(parse("covsched-instrument<>"), instrument(false, false));
        assert_eq!(parse("covsched-instrument<no-bitcode>"), instrument(true, false));
        assert_eq!(parse("covsched-instrument<no-bitcode;verbose>"), instrument(true, true));
        assert_eq!(parse("covsched-lower"), Ok(Some(Pass::Lower { verbose: false })));
        assert_eq!(parse("covsched-lower<verbose>"), Ok(Some(Pass::Lower { verbose: true })));
        assert_eq!(parse("print<covsched-sites>"), Ok(Some(Pass::PrintSites)));
        assert_eq!(parse("print<covsched-loom>"), Ok(Some(Pass::PrintLoom)));
    }

    #[test]
    fn other_passes_are_left_to_others() {
        for text in ["", "instcombine", "covsched-instrumented", "print<covsched-site>", "covsched"] {
            assert_eq!(parse(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn a_wrong_parameter_is_named_together_with_the_known_ones() {
        let error = parse("covsched-instrument<no-bitcod>").unwrap_err().to_string();
        assert_eq!(error, "covsched-instrument: unknown parameter 'no-bitcod'; known: no-bitcode, verbose");
        let error = parse("covsched-lower<fast>").unwrap_err().to_string();
        assert_eq!(error, "covsched-lower: unknown parameter 'fast'; known: verbose");
        let error = parse("covsched-instrument<verbose=1>").unwrap_err().to_string();
        assert_eq!(error, "covsched-instrument: parameter 'verbose' takes no value");
        assert_eq!(
            parse("covsched-instrument<verbose"),
            Err(ParameterError::NotClosed { text: "covsched-instrument<verbose".into() })
        );
    }

    #[test]
    fn parameters_stand_inside_the_brackets_of_printers() {
        let epochs = EpochOptions { no_covered: true, whole_program: true, ..EpochOptions::default() };
        assert_eq!(
            parse("print<covsched-epochs;json;no-covered;whole-program>"),
            Ok(Some(Pass::PrintEpochs(PrintOptions { json: true, epochs })))
        );
        assert_eq!(parse("verify<covsched-epochs>"), Ok(Some(Pass::VerifyEpochs(EpochOptions::default()))));
        assert_eq!(parse("print<covsched-epochs2>"), Ok(None));
        assert_eq!(parse("print<covsched-points-to>"), Ok(Some(Pass::PrintPointsTo { sets: false })));
        assert_eq!(parse("print<covsched-points-to;sets>"), Ok(Some(Pass::PrintPointsTo { sets: true })));
        assert!(matches!(parse("print<covsched-epochs;jso>"), Err(ParameterError::Unknown { .. })));
    }

    #[test]
    fn an_unroll_factor_is_a_number_from_two_on() {
        for text in ["sync-unroll", "sync-unroll<factor>", "sync-unroll<factor=1>", "sync-unroll<factor=x>"] {
            assert!(matches!(parse(text), Err(ParameterError::BadValue { .. })), "{text}");
        }
        let options = UnrollOptions { factor: 8, whole_program: true, verbose: true };
        assert_eq!(parse("sync-unroll<factor=8;whole-program;verbose>"), Ok(Some(Pass::SyncUnroll(options))));
    }

    #[test]
    fn schedspec_needs_a_schedule() {
        for text in ["schedspec", "schedspec<control-only>", "schedspec<schedule>", "schedspec<schedule=>"] {
            assert!(matches!(parse(text), Err(ParameterError::BadValue { .. })), "{text}");
        }
        let Ok(Some(Pass::Specialize(found))) = parse(
            "schedspec<schedule=a b.sched;control-only;ignore-sites=log*;ignore-sites=*.h;order=total>",
        ) else {
            panic!("not parsed")
        };
        assert_eq!(found.schedule, "a b.sched");
        assert_eq!(found.options.ignore_sites, ["log*", "*.h"]);
        assert!(found.options.control_only && !found.options.analysis_only && !found.verbose);
        assert_eq!(found.options.order.to_string(), "total");
        for text in ["schedspec<schedule=a;order=best>", "schedspec<schedule=a;ignore-sites=>"] {
            assert!(matches!(parse(text), Err(ParameterError::BadValue { .. })), "{text}");
        }
        for text in ["schedspec<schedule=a;fast>", "schedspec<schedule=a;fast=1>"] {
            assert!(matches!(parse(text), Err(ParameterError::Unknown { .. })), "{text}");
        }
        assert_eq!(parse("schedspecs"), Ok(None));
    }

    #[test]
    fn the_environment_lists_passes() {
        assert_eq!(parse_environment(""), Ok(Asked::default()));
        let instrument = InstrumentOptions { no_bitcode: true, verbose: false };
        assert_eq!(
            parse_environment("covsched-instrument<no-bitcode>, covsched-lower"),
            Ok(Asked { instrument, ..Asked::default() })
        );
        let unroll = UnrollOptions { factor: 4, whole_program: false, verbose: false };
        assert_eq!(
            parse_environment("sync-unroll<factor=4>,epoch-markers"),
            Ok(Asked {
                before: vec![Pass::SyncUnroll(unroll), Pass::EpochMarkers(EpochOptions::default())],
                ..Asked::default()
            })
        );
        let precise = LoomOptions { precise: true, ..LoomOptions::default() };
        for (text, options) in [("loom", LoomOptions::default()), ("loom<precise>", precise)] {
            assert_eq!(parse_environment(text), Ok(Asked { loom: Some(options), ..Asked::default() }));
        }
        assert!(matches!(
            parse_environment("print<covsched-epochs>"),
            Err(ParameterError::UnknownPass { .. })
        ));
        assert!(matches!(parse_environment("looms"), Err(ParameterError::UnknownPass { .. })));
        assert!(matches!(parse_environment("loom<early>"), Err(ParameterError::Unknown { .. })));
        assert!(matches!(parse_environment("covsched-instrument<x>"), Err(ParameterError::Unknown { .. })));
    }
}
