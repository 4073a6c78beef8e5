//! `covsched loom check`: a filter compiled for a program, without a process: what it does where, where no thread may be
//! when it is installed, what it costs, what is doubtful. `-o` writes the plan, for `COVSCHED_OPTIONS=filter=FILE`.

use super::filter::{diagnostics_json, Filter};
use super::images::Images;
use super::{print, print_json, Common, Format};
use crate::failure::{Failure, BAD_INPUT};
use crate::say::say;
use covsched_core::loom::compile::{ConstraintSummary, PlaceAt, Summary};
use serde_json::{json, Value};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::names::demangle;

/// What `check` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// The filter's file; - is standard input
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// An executable made by covsched cc --loom
    #[arg(value_name = "APP")]
    app: PathBuf,
    /// Write the compiled filter, for COVSCHED_OPTIONS=filter=FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// How many places of a kind are shown in the text; JSON has all.
const MOST_PLACES: usize = 20;

/// Compiles and describes it.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let filter = Filter::read(&arguments.filter)?;
    let images = Images::of_app(&arguments.app)?;
    for limit in &images.limits {
        say(format_args!("covsched: {limit}"));
    }
    let compiled = match filter.compile(&images) {
        Ok(compiled) => compiled,
        Err(rejected) if arguments.common.format == Format::Json => {
            print_json(&json!({
                "filter": filter.name,
                "executable": images.name,
                "errors": diagnostics_json(&rejected.errors),
                "notes": rejected.notes,
            }))?;
            return Ok(ExitCode::from(BAD_INPUT));
        }
        Err(rejected) => return Err(filter.failure(&rejected)),
    };
    if let Some(output) = &arguments.output {
        write(output, &compiled.plan)?;
    }
    match arguments.common.format {
        Format::Text => {
            if !compiled.summary.warnings.is_empty() {
                say(filter.render(&compiled.summary.warnings).trim_end());
            }
            print(&text(&compiled.summary))?;
        }
        Format::Json => {
            let mut value = json(&compiled.summary);
            value["filter"] = filter.name.into();
            value["executable"] = images.name.into();
            value["plan_bytes"] = compiled.plan.len().into();
            print_json(&value)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// In one step: a process that starts meanwhile has the old plan or the new.
fn write(path: &Path, plan: &[u8]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::file(path, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(plan).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn place(at: &PlaceAt) -> String {
    let function = demangle(&at.function);
    let within = if at.within == at.function {
        String::new()
    } else {
        format!(", inlined into {}", demangle(&at.within))
    };
    match at.file.as_str() {
        "" => format!("{function}{within}"),
        file => format!("{file}:{} in {function}{within}", at.line),
    }
}

fn text(summary: &Summary) -> String {
    let mut text = String::new();
    for constraint in &summary.constraints {
        text += &constraint_text(constraint, summary.locations);
    }
    if summary.timeout_ms != 0 {
        text += &format!("timeout: {} ms\n", summary.timeout_ms);
    }
    text
}

fn constraint_text(constraint: &ConstraintSummary, locations: usize) -> String {
    let mut text = format!("{}: line {}: {}\n", constraint.kind, constraint.line, constraint.text.trim());
    for site in constraint.sites.iter().take(MOST_PLACES) {
        let when = if site.before { "before" } else { "after" };
        let looped = if site.in_loop { ", in a loop" } else { "" };
        let slots = plural(site.slots, "slot");
        text += &format!("  {} {when} {} ({slots}{looped})\n", site.operation, place(&site.place));
    }
    text += &more(constraint.sites.len());
    text += &format!("  slow path: {}\n", plural(constraint.functions.len(), "function"));
    for function in constraint.functions.iter().take(MOST_PLACES) {
        let name = function.demangled.as_deref().unwrap_or(&function.name);
        text += &format!("    {name} ({}:{})\n", function.file, function.line);
    }
    text += &more(constraint.functions.len());
    let by_caller = match constraint.unsafe_by_caller {
        0 => String::new(),
        count => format!(", {count} of them only for threads that were called from there"),
    };
    text += &format!("  unsafe: {} of {locations} locations{by_caller}\n", constraint.unsafe_locations);
    // Those of the filter's own functions first: the others follow from them, and are many in a large program.
    let is_own = |at: &&PlaceAt| {
        constraint.functions.iter().any(|own| own.name == at.function || own.name == at.within)
    };
    let (own, others): (Vec<&PlaceAt>, Vec<&PlaceAt>) = constraint.unsafe_at.iter().partition(is_own);
    for at in own.into_iter().chain(others).take(MOST_PLACES) {
        text += &format!("    {}\n", place(at));
    }
    text += &more(constraint.unsafe_at.len());
    let cost = &constraint.cost;
    text += &format!(
        "  cost: about {} ns each time if nobody waits; {} with operations ({} in loops), {} on slow paths\n",
        cost.nanoseconds,
        plural(cost.slots, "slot"),
        cost.slots_in_loops,
        plural(cost.slow_slots, "slot")
    );
    text
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn more(count: usize) -> String {
    match count.checked_sub(MOST_PLACES) {
        None | Some(0) => String::new(),
        Some(rest) => format!("    and {rest} more (--format json has all)\n"),
    }
}

fn place_json(at: &PlaceAt) -> Value {
    json!({
        "file": at.file,
        "line": at.line,
        "function": demangle(&at.function),
        "within": demangle(&at.within),
    })
}

fn json(summary: &Summary) -> Value {
    let constraints: Vec<Value> = summary.constraints.iter().map(constraint_json).collect();
    json!({
        "constraints": constraints,
        "timeout_ms": summary.timeout_ms,
        "locations": summary.locations,
        "warnings": diagnostics_json(&summary.warnings),
    })
}

fn constraint_json(constraint: &ConstraintSummary) -> Value {
    let sites: Vec<Value> = constraint
        .sites
        .iter()
        .map(|site| {
            let mut value = place_json(&site.place);
            value["operation"] = site.operation.into();
            value["when"] = if site.before { "before" } else { "after" }.into();
            value["slots"] = site.slots.into();
            value["in_loop"] = site.in_loop.into();
            value
        })
        .collect();
    let functions: Vec<Value> = constraint
        .functions
        .iter()
        .map(|function| {
            json!({
                "function": function.demangled.as_deref().unwrap_or(&function.name),
                "linkage_name": function.name,
                "file": function.file,
                "line": function.line,
            })
        })
        .collect();
    json!({
        "text": constraint.text,
        "line": constraint.line,
        "kind": constraint.kind,
        "slots": constraint.slots,
        "sites": sites,
        "functions": functions,
        "unsafe": constraint.unsafe_at.iter().map(place_json).collect::<Vec<_>>(),
        "unsafe_locations": constraint.unsafe_locations,
        "unsafe_by_caller": constraint.unsafe_by_caller,
        "cost": {
            "slots": constraint.cost.slots,
            "slots_in_loops": constraint.cost.slots_in_loops,
            "slow_slots": constraint.cost.slow_slots,
            "nanoseconds": constraint.cost.nanoseconds,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::loom::compile::{Cost, FunctionAt, SiteSummary};

    fn summary() -> Summary {
        let at = |line, function: &str| PlaceAt {
            file: "a.c".into(),
            line,
            function: function.into(),
            within: "main".into(),
        };
        let function = FunctionAt { name: "main".into(), demangled: None, file: "a.c".into(), line: 1 };
        Summary {
            constraints: vec![ConstraintSummary {
                text: "{a.c:4; a.c:5} <> *".into(),
                line: 2,
                kind: "unilateral exclusion",
                sites: vec![SiteSummary {
                    operation: "alone",
                    place: at(4, "main"),
                    before: true,
                    slots: 1,
                    in_loop: true,
                }],
                slots: 2,
                functions: vec![function],
                unsafe_at: (0..25).map(|line| at(line, "f")).collect(),
                unsafe_locations: 30,
                unsafe_by_caller: 7,
                cost: Cost { slots: 2, slots_in_loops: 1, slow_slots: 9, nanoseconds: 50 },
            }],
            timeout_ms: 100,
            warnings: vec![],
            locations: 40,
        }
    }

    #[test]
    fn a_compiled_filter_is_described() {
        let text = text(&summary());
        for part in [
            "unilateral exclusion: line 2: {a.c:4; a.c:5} <> *\n",
            "  alone before a.c:4 in main (1 slot, in a loop)\n",
            "  slow path: 1 function\n    main (a.c:1)\n",
            "  unsafe: 30 of 40 locations, 7 of them only for threads that were called from there\n    a.c:0 in f, inlined into main\n",
            "    and 5 more (--format json has all)\n",
            "  cost: about 50 ns each time if nobody waits; 2 slots with operations (1 in loops), 9 slots on slow paths\n",
            "timeout: 100 ms\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn unsafe_places_of_the_filters_functions_come_first() {
        let mut summary = summary();
        summary.constraints[0].unsafe_by_caller = 0;
        for at in &mut summary.constraints[0].unsafe_at[..24] {
            at.within = "called".into();
        }
        let text = text(&summary);
        let first = "  unsafe: 30 of 40 locations\n    a.c:24 in f, inlined into main\n    a.c:0 in f, inlined into called\n";
        assert!(text.contains(first), "{text}");
    }

    #[test]
    fn json_has_the_documented_keys() {
        let value = json(&summary());
        let constraint = &value["constraints"][0];
        assert_eq!(constraint["sites"][0]["operation"], "alone");
        assert_eq!(constraint["sites"][0]["when"], "before");
        assert_eq!(constraint["unsafe"].as_array().unwrap().len(), 25);
        assert_eq!(constraint["unsafe_by_caller"], 7);
        assert_eq!(constraint["cost"]["nanoseconds"], 50);
        assert_eq!(value["locations"], 40);
    }

    #[test]
    fn a_plan_is_written_in_one_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.plan");
        std::fs::write(&path, "old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&folder.path().join("none/f.plan"), b"").is_err());
    }
}
