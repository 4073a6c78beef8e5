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

/// A pass with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// `covsched-instrument`.
    Instrument(InstrumentOptions),
    /// `covsched-lower`.
    Lower,
    /// `print<covsched-sites>`.
    PrintSites,
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
            ParameterError::NotClosed { text } => write!(f, "'{text}': '<' without '>'"),
            ParameterError::UnknownPass { text } => write!(
                f,
                "'{text}' is no pass of covsched; known: {INSTRUMENT}, {LOWER} (each with <parameters>)"
            ),
        }
    }
}

const INSTRUMENT: &str = "covsched-instrument";
const LOWER: &str = "covsched-lower";
const PRINT_SITES: &str = "print<covsched-sites>";

/// Reads one element of a pipeline; `None` if it is not a pass of covsched.
pub fn parse(text: &str) -> Result<Option<Pass>, ParameterError> {
    if text == PRINT_SITES {
        return Ok(Some(Pass::PrintSites));
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
        for parameter in parameters {
            flag(LOWER, parameter, &[])?;
        }
        return Ok(Some(Pass::Lower));
    }
    Ok(None)
}

/// What the environment's text says about `covsched-instrument`, the one pass there with parameters.
pub fn parse_environment(text: &str) -> Result<InstrumentOptions, ParameterError> {
    let mut options = InstrumentOptions::default();
    for element in text.split(',').map(str::trim).filter(|element| !element.is_empty()) {
        match parse(element)? {
            Some(Pass::Instrument(given)) => options = given,
            Some(Pass::Lower) => {}
            Some(Pass::PrintSites) | None => {
                return Err(ParameterError::UnknownPass { text: element.to_owned() })
            }
        }
    }
    Ok(options)
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
        assert_eq!(parse("covsched-lower"), Ok(Some(Pass::Lower)));
        assert_eq!(parse("print<covsched-sites>"), Ok(Some(Pass::PrintSites)));
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
        assert_eq!(error, "covsched-lower: unknown parameter 'fast': it takes none");
        let error = parse("covsched-instrument<verbose=1>").unwrap_err().to_string();
        assert_eq!(error, "covsched-instrument: parameter 'verbose' takes no value");
        assert_eq!(
            parse("covsched-instrument<verbose"),
            Err(ParameterError::NotClosed { text: "covsched-instrument<verbose".into() })
        );
    }

    #[test]
    fn the_environment_lists_passes() {
        assert_eq!(parse_environment(""), Ok(InstrumentOptions::default()));
        assert_eq!(
            parse_environment("covsched-instrument<no-bitcode>, covsched-lower"),
            Ok(InstrumentOptions { no_bitcode: true, verbose: false })
        );
        assert!(matches!(parse_environment("loom"), Err(ParameterError::UnknownPass { .. })));
        assert!(matches!(parse_environment("covsched-instrument<x>"), Err(ParameterError::Unknown { .. })));
    }
}
