//! Reports of expelled filters in words: the engine names a location by its number and its unit's hash, for it has no tables.
//! The linked files have them.

use super::engine::Engine;
use super::places;
use super::places::Place;
use covsched_core::loom::compile::Program;
use covsched_core::loom::wire::{REPORT_LOCATION, REPORT_UNIT};

/// Puts file, line and function into reports, instead of locations. Those whose unit cannot be read stay as they are.
pub fn name_places<'a>(reports: impl Iterator<Item = &'a mut String>, engine: &Engine) {
    // Read once, and only if there is something to translate: files may be large.
    let mut images = None;
    for report in reports {
        let Some(raw) = find(report) else { continue };
        if let Some(images) = images.get_or_insert_with(|| engine.images().ok()) {
            *report = translate(report, &raw, &images.program);
        }
    }
}

/// A location as the engine writes it.
struct Raw {
    /// Where it stands in the report.
    from: usize,
    to: usize,
    /// None: the unit as a whole.
    location: Option<u32>,
    unit: u64,
}

/// The first one: the text of the constraint comes behind it, and may be anything.
fn find(report: &str) -> Option<Raw> {
    let unit_at = report.find(REPORT_UNIT)?;
    let digits_at = unit_at + REPORT_UNIT.len();
    let to = digits_at + 16;
    let unit = u64::from_str_radix(report.get(digits_at..to)?, 16).ok()?;
    // "location 12 of unit ...", or "of unit ..." alone.
    let before = &report[..unit_at];
    let numbered = before.rfind(REPORT_LOCATION).and_then(|from| {
        let location = before[from + REPORT_LOCATION.len()..].parse().ok()?;
        Some(Raw { from, to, location: Some(location), unit })
    });
    Some(numbered.unwrap_or(Raw { from: unit_at, to, location: None, unit }))
}

fn translate(report: &str, raw: &Raw, program: &Program) -> String {
    let words = match raw.location {
        Some(location) => {
            let place = places::find(program, raw.unit, location);
            (place != Place::default()).then(|| place.words())
        }
        None => {
            let unit = program.units.iter().find(|unit| unit.hash == raw.unit);
            unit.map(|unit| format!(" of {}", unit.table.unit))
        }
    };
    match words {
        Some(words) => format!("{}{words}{}", &report[..raw.from], &report[raw.to..]),
        None => report.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(report: &str) -> String {
        let program = places::tests::program();
        find(report).map_or_else(|| report.to_owned(), |raw| translate(report, &raw, &program))
    }

    #[test]
    fn a_location_becomes_a_place() {
        assert_eq!(
            translated(
                "thread 5 at location 2 of unit 0000000000000007 waited too long there, constraint 1: f <> f"
            ),
            "thread 5 at a.c:5 in main waited too long there, constraint 1: f <> f"
        );
        assert_eq!(
            translated("code of unit 0000000000000007, which it is about, was unloaded"),
            "code of a.c, which it is about, was unloaded"
        );
    }

    #[test]
    fn what_is_not_known_stays() {
        for report in [
            "",
            "thread 5 at location 9 of unit 0000000000000007 waited",
            "thread 5 at location 2 of unit 0000000000000008 waited",
            "thread 5 at location x of unit 0000000000000008 waited",
            "code of unit 0000000000000008, which it is about, was unloaded",
            "of unit 00",
            "of unit 000000000000000\u{e9}",
            "something else",
        ] {
            assert_eq!(translated(report), report);
        }
    }
}
