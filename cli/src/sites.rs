//! `covsched sites`: the sites in a program, an object file or a shared object.

use crate::elf::{self, Binary};
use crate::failure::Failure;
use crate::names::demangle;
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `sites` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// An executable, shared object or object file made by covsched cc
    #[arg(value_name = "APP")]
    file: PathBuf,
    /// How to print them
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Lists them by translation unit.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let binary = Binary::read(&arguments.file)?;
    let tables = elf::site_tables(binary.path(), &binary.parse()?)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match arguments.format {
        Format::Text => write_text(&tables, &mut out),
        Format::Json => write_json(&tables, &mut out),
    };
    written.and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

fn write_text(tables: &elf::SiteTables, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "program {}", tables.program)?;
    for unit in &tables.units {
        let bitcode = if unit.has_bitcode { "" } else { ", no bitcode" };
        writeln!(out, "\n{} ({} sites{bitcode})", unit.unit, unit.sites.len())?;
        for site in &unit.sites {
            let place = match site.file.as_str() {
                "" => "-".to_owned(),
                file => format!("{file}:{}:{}", site.line, site.column),
            };
            let callee = demangle(&site.callee);
            let arrow = if callee.is_empty() { "" } else { " -> " };
            let (id, kind, function) = (site.id, site.kind.name(), demangle(&site.function));
            writeln!(out, "  {id} {kind:7} {place:24} {function}{arrow}{callee}")?;
        }
    }
    Ok(())
}

fn write_json(tables: &elf::SiteTables, out: &mut impl Write) -> io::Result<()> {
    let units: Vec<_> = tables
        .units
        .iter()
        .map(|unit| {
            let sites: Vec<_> = unit
                .sites
                .iter()
                .map(|site| {
                    json!({
                        "site": site.id.to_string(),
                        "kind": site.kind.name(),
                        "file": site.file,
                        "line": site.line,
                        "column": site.column,
                        "function": demangle(&site.function),
                        "callee": demangle(&site.callee),
                    })
                })
                .collect();
            json!({ "unit": unit.unit, "bitcode": unit.has_bitcode, "sites": sites })
        })
        .collect();
    serde_json::to_writer_pretty(
        &mut *out,
        &json!({ "program": tables.program.to_string(), "units": units }),
    )?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::site::{Site, SiteKind, UnitTable};
    use covsched_core::{ProgramId, SiteId};

    #[test]
    fn a_site_without_a_place_has_a_dash() {
        let site = |file: &str, line, column| Site {
            id: SiteId(1),
            kind: SiteKind::Entry,
            file: file.into(),
            line,
            column,
            function: "main".into(),
            callee: String::new(),
        };
        let sites = vec![site("", 0, 0), site("a.c", 3, 1)];
        let unit = UnitTable { unit: "a.c".into(), hash: 1, has_bitcode: true, has_epochs: false, sites };
        let mut text = Vec::new();
        write_text(&elf::SiteTables { program: ProgramId(1), units: vec![unit] }, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(" -  ") && text.contains(" a.c:3:1 ") && !text.contains(":0"), "{text}");
    }
}
