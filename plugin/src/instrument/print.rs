//! `print<covsched-sites>`: one line a site, on standard error like LLVM's own printers. Sites of an instrumented
//! module are read from its tables; what is not instrumented yet is shown with the sites it would get.

use crate::demangle;
use crate::instrument::plan::Plan;
use crate::ir::{Module, Severity};
use covsched_core::site::{Site, UnitTable, SECTION};
use std::fmt::Write;

/// Prints; changes nothing.
pub fn print_sites(module: Module<'_>) {
    let mut text = String::new();
    for table in module.section_data(SECTION) {
        match UnitTable::read_section(&table) {
            Ok(units) => units.iter().flat_map(|unit| &unit.sites).for_each(|site| line(site, &mut text)),
            Err(error) => module.report(Severity::Error, &format!("covsched: {error}")),
        }
    }
    Plan::of(module).sites.iter().for_each(|site| line(site, &mut text));
    eprint!("{text}");
}

/// `id kind file:line:column function callee`; `-` where there is nothing to say. Spaces in demangled names are
/// kept: function and callee are set apart by `->`.
fn line(site: &Site, text: &mut String) {
    let place = match site.file.as_str() {
        "" => "-".to_owned(),
        file => format!("{file}:{}:{}", site.line, site.column),
    };
    let callee = if site.callee.is_empty() { "-".to_owned() } else { demangle(&site.callee) };
    let function = demangle(&site.function);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} {} {place} {function} -> {callee}", site.id, site.kind.name());
}
