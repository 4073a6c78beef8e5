//! `--epochs[=PARAMETERS]`, `--sync-unroll=N` and `--loom[=PARAMETERS]`: covsched's own words among clang's. They become
//! `COVSCHED_PASS_OPTIONS`, since a plugin in clang can be told something in no other way; what the user has set there
//! for other passes stays. Clang does not see the words.
//!
//! Limit: they are not looked for in response files (`@file`), where clang refuses them.

use super::arguments::takes_value;
use crate::failure::Failure;
use covsched::parameters::{self, Pass};
use std::ffi::OsString;

/// What the user asks for, as elements of `COVSCHED_PASS_OPTIONS`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requested {
    /// `sync-unroll<...>`.
    unroll: Option<String>,
    /// `epoch-markers<...>`.
    markers: Option<String>,
    /// `loom<...>`.
    loom: Option<String>,
}

impl Requested {
    /// Takes covsched's words out of a command line; of a word that is given twice the last counts, as with clang's.
    pub fn take(user: &[OsString]) -> Result<(Requested, Vec<OsString>), Failure> {
        let mut requested = Requested::default();
        let mut rest = Vec::with_capacity(user.len());
        let mut words = user.iter();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or_default();
            if requested.read(text)? {
                continue;
            }
            rest.push(word.clone());
            if text == "--" {
                rest.extend(words.by_ref().cloned());
            } else if takes_value(text) {
                rest.extend(words.next().cloned());
            }
        }
        Ok((requested, rest))
    }

    /// Whether the word is one of covsched's.
    fn read(&mut self, word: &str) -> Result<bool, Failure> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let (element, slot) = match (name, value) {
            ("--epochs", None | Some("")) => ("epoch-markers".to_owned(), &mut self.markers),
            ("--epochs", Some(list)) => {
                (format!("epoch-markers<{}>", list.replace(',', ";")), &mut self.markers)
            }
            ("--loom", None | Some("")) => ("loom".to_owned(), &mut self.loom),
            ("--loom", Some(list)) => (format!("loom<{}>", list.replace(',', ";")), &mut self.loom),
            ("--sync-unroll", Some(factor)) => (format!("sync-unroll<factor={factor}>"), &mut self.unroll),
            ("--sync-unroll", None) => {
                return Err(Failure::bad(
                    "--sync-unroll needs the number of iterations that one is to have: --sync-unroll=4",
                ))
            }
            _ => return Ok(false),
        };
        // The plugin says the same, but once a file, and when clang has begun.
        match parameters::parse(&element) {
            Ok(Some(Pass::EpochMarkers(_) | Pass::SyncUnroll(_) | Pass::Loom(_))) => {}
            Ok(_) => return Err(Failure::bad(format!("{word}: no pass takes this"))),
            Err(error) => return Err(Failure::bad(format!("{word}: {error}"))),
        }
        *slot = Some(element);
        Ok(true)
    }

    /// Whether the program is to take filters: it needs types and variables in its debug info, besides lines.
    pub fn wants_variables(&self, environment: &str) -> bool {
        let element = |element: &str| element.trim().split('<').next() == Some("loom");
        self.loom.is_some() || environment.split(',').any(element)
    }

    /// The value of `COVSCHED_PASS_OPTIONS`, given what the user has there; `None`: as it is. What was asked for on the
    /// command line takes the place of the same pass. Loops are unrolled before markers are placed.
    pub fn pass_options(&self, environment: &str) -> Option<String> {
        if *self == Requested::default() {
            return None;
        }
        let mut unroll = self.unroll.as_deref();
        let mut markers = self.markers.as_deref();
        let mut loom = self.loom.as_deref();
        let mut others = Vec::new();
        for element in environment.split(',').map(str::trim).filter(|element| !element.is_empty()) {
            match element.split('<').next() {
                Some("sync-unroll") => unroll = unroll.or(Some(element)),
                Some("epoch-markers") => markers = markers.or(Some(element)),
                Some("loom") => loom = loom.or(Some(element)),
                _ => others.push(element),
            }
        }
        let elements: Vec<&str> = unroll.into_iter().chain(markers).chain(others).chain(loom).collect();
        Some(elements.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str) -> Result<(Option<String>, String), String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let (requested, rest) = Requested::take(&words).map_err(|failure| failure.to_string())?;
        let rest: Vec<String> = rest.into_iter().map(|word| word.into_string().unwrap()).collect();
        Ok((requested.pass_options(""), rest.join(" ")))
    }

    #[test]
    fn clang_does_not_see_covscheds_words() {
        let of = |options: &str, rest: &str| Ok((Some(options.to_owned()), rest.to_owned()));
        assert_eq!(take("-c a.c"), Ok((None, "-c a.c".to_owned())));
        assert_eq!(take("--epochs -c a.c"), of("epoch-markers", "-c a.c"));
        assert_eq!(take("-c --epochs= a.c"), of("epoch-markers", "-c a.c"));
        assert_eq!(
            take("-O2 --epochs=no-trivial,count-instructions a.c --sync-unroll=4"),
            of("sync-unroll<factor=4>,epoch-markers<no-trivial;count-instructions>", "-O2 a.c")
        );
        assert_eq!(take("--loom -c a.c"), of("loom", "-c a.c"));
        assert_eq!(take("--loom= --loom=precise a.c"), of("loom<precise>", "a.c"));
        assert_eq!(
            take("--loom=precise,verbose a.c --epochs"),
            of("epoch-markers,loom<precise;verbose>", "a.c")
        );
        assert_eq!(take("--sync-unroll=4 a.c --sync-unroll=8"), of("sync-unroll<factor=8>", "a.c"));
    }

    #[test]
    fn files_and_values_of_options_are_clangs() {
        for line in [
            "-- --epochs",
            "--looms a.c",
            "-o --loom a.c",
            "-o --epochs a.c",
            "-D --sync-unroll a.c",
            "--epochsx a.c",
            "-epochs a.c",
        ] {
            assert_eq!(take(line), Ok((None, line.to_owned())), "{line}");
        }
    }

    #[test]
    fn what_no_pass_takes_is_refused() {
        for (line, part) in [
            (
                "--epochs=trivial a.c",
                "--epochs=trivial: epoch-markers: unknown parameter 'trivial'; known: no-trivial",
            ),
            ("--epochs=no-trivial=1 a.c", "takes no value"),
            ("--sync-unroll a.c", "--sync-unroll=4"),
            ("--sync-unroll=1 a.c", "factor=N with N from 2"),
            ("--sync-unroll=many a.c", "factor=N with N from 2"),
            ("--sync-unroll= a.c", "factor=N with N from 2"),
            ("--loom=early a.c", "--loom=early: loom: unknown parameter 'early'; known: precise"),
            ("--loom=precise=1 a.c", "takes no value"),
        ] {
            let error = take(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn the_environment_keeps_its_other_passes() {
        let words = |line: &str| -> Vec<OsString> { line.split_whitespace().map(OsString::from).collect() };
        let options = |line: &str, environment: &str| {
            Requested::take(&words(line)).unwrap().0.pass_options(environment)
        };
        assert_eq!(options("a.c", "covsched-instrument<verbose>"), None);
        assert_eq!(
            options("--epochs", "covsched-instrument<verbose;no-bitcode>, sync-unroll<factor=2>").unwrap(),
            "sync-unroll<factor=2>,epoch-markers,covsched-instrument<verbose;no-bitcode>"
        );
        assert_eq!(
            options("--epochs=no-barrier --sync-unroll=3", "epoch-markers,sync-unroll<factor=2>").unwrap(),
            "sync-unroll<factor=3>,epoch-markers<no-barrier>"
        );
        assert_eq!(options("--epochs", "loom<precise>").unwrap(), "epoch-markers,loom<precise>");
        assert_eq!(
            options("--loom", "loom<precise>,covsched-instrument").unwrap(),
            "covsched-instrument,loom"
        );
    }

    #[test]
    fn filters_need_variables() {
        let wants = |line: &str, environment: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            Requested::take(&words).unwrap().0.wants_variables(environment)
        };
        assert!(wants("--loom a.c", "") && wants("a.c", "epoch-markers, loom<precise>"));
        assert!(!wants("--epochs a.c", "covsched-instrument"));
    }
}
