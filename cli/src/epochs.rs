//! `covsched epochs`: where a program's epoch markers stand, or would go if it had none, and why each loop has one or
//! not; then whether the bound verifier finds a cycle that synchronizes without a marker.
//!
//! The program is taken as a whole ([`crate::whole_program`]), unlike when its files are compiled: what is not in it is a
//! library's.

use crate::failure::{Failure, FOUND};
use crate::say::say;
use crate::whole_program::read_app;
use covsched::epoch;
use covsched::parameters::EpochOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `epochs` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// An executable made by covsched cc, a bitcode file or an .ll file; taken as the whole program
    #[arg(value_name = "APP")]
    app: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The rules by which loops need no marker, of trivial, covered and barrier; or none
    #[arg(
        long,
        value_enum,
        value_name = "RULE,...",
        value_delimiter = ',',
        default_value = "trivial,covered,barrier",
        hide_possible_values = true
    )]
    rules: Vec<Rule>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// By which a loop needs no marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Rule {
    /// It only waits, only creates or only joins
    Trivial,
    /// Another marker runs in each iteration
    Covered,
    /// So does a barrier
    Barrier,
    /// No rule
    None,
}

/// Exit code 0; 1 if a cycle is not bounded.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let epochs = options(&arguments.rules)?;
    let program = read_app(&arguments.app)?;
    let report = epoch::examine(program.module(), epochs);
    if !report.placed {
        say(format_args!(
            "covsched: {}: was compiled without --epochs; these are the markers that it would get as a whole",
            arguments.app.display()
        ));
    }
    let text = match arguments.format {
        Format::Text => report.text(),
        Format::Json => report.json(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(if report.unbounded.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

fn options(rules: &[Rule]) -> Result<EpochOptions, Failure> {
    if rules.contains(&Rule::None) && rules.len() > 1 {
        return Err(Failure::bad("--rules: none stands alone"));
    }
    Ok(EpochOptions {
        no_trivial: !rules.contains(&Rule::Trivial),
        no_covered: !rules.contains(&Rule::Covered),
        no_barrier: !rules.contains(&Rule::Barrier),
        whole_program: true,
        ..EpochOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_not_named_are_off() {
        let off = |rules: &[Rule]| {
            let options = options(rules).unwrap();
            assert!(options.whole_program);
            [options.no_trivial, options.no_covered, options.no_barrier]
        };
        assert_eq!(off(&[Rule::Trivial, Rule::Covered, Rule::Barrier]), [false; 3]);
        assert_eq!(off(&[Rule::Covered]), [true, false, true]);
        assert_eq!(off(&[Rule::None]), [true; 3]);
        assert!(options(&[Rule::None, Rule::Covered]).is_err());
    }
}
