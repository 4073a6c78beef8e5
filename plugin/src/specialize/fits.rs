//! Whether a schedule is one of this program: complete, of this build, and with the program's own sites.

use super::SpecializeError;
use covsched_core::schedule::describe::describe_site;
use covsched_core::schedule::{Completeness, Schedule};
use covsched_core::site::{program_id, Site, UnitTable, SECTION};
use covsched_core::{ProgramId, Seq, SiteId};
use std::collections::HashMap;

/// What a module's site tables say.
pub struct Tables {
    /// The build.
    pub program: ProgramId,
    /// All its sites.
    pub sites: HashMap<SiteId, Site>,
}

impl Tables {
    /// Of the tables in a module, if it has any.
    pub fn read(parts: &[Vec<u8>]) -> Result<Option<Tables>, SpecializeError> {
        if parts.is_empty() {
            return Ok(None);
        }
        let section = parts.concat();
        let units = UnitTable::read_section(&section)
            .map_err(|error| SpecializeError::BadTables { section: SECTION, what: error.to_string() })?;
        let sites = units.into_iter().flat_map(|unit| unit.sites).map(|site| (site.id, site)).collect();
        Ok(Some(Tables { program: program_id(&section), sites }))
    }
}

/// Refuses a schedule that is not of this program. `program`: the build, if it is more than the module.
pub fn check(
    schedule: &Schedule,
    tables: &Tables,
    program: Option<ProgramId>,
) -> Result<(), SpecializeError> {
    if let Completeness::Incomplete(reason) = &schedule.completeness {
        return Err(SpecializeError::CutOff { reason: reason.clone(), after: schedule.events.len() });
    }
    if schedule.forked {
        return Err(SpecializeError::Forked);
    }
    let program = program.unwrap_or(tables.program);
    if schedule.program_id == program {
        return Ok(());
    }
    Err(SpecializeError::OtherBuild {
        schedule: schedule.program_id,
        program,
        first: first_difference(schedule, tables),
    })
}

/// The first event whose site is not in the program, or is something else there, in words.
fn first_difference(schedule: &Schedule, tables: &Tables) -> String {
    for (number, event) in (1..).map(Seq).zip(&schedule.events) {
        let Some(site) = schedule.sites.get(&event.site) else { continue };
        let here = tables.sites.get(&event.site);
        if here == Some(site) {
            continue;
        }
        let what = format!("{number}: {} {} at {}", event.thread, event.op.name(), describe_site(site));
        return match here {
            None => format!("the first synchronization that is not in the program: {what}"),
            Some(here) => {
                format!("the first synchronization that is elsewhere: {what}, now at {}", describe_site(here))
            }
        };
    }
    "all synchronizations of the schedule are where they were, others are not".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::schedule::parse;
    use covsched_core::site::{SiteKind, TableBuilder};

    fn table(line: u32, name: &str) -> Tables {
        let mut builder = TableBuilder::default();
        builder.push(&Site {
            id: SiteId(1),
            kind: SiteKind::Entry,
            file: "a.c".to_owned(),
            line,
            column: 1,
            function: name.to_owned(),
            callee: String::new(),
        });
        Tables::read(&[builder.finish("a.c", 0).0]).unwrap().unwrap()
    }

    fn schedule(program: ProgramId, completeness: &str) -> Schedule {
        let text = format!(
            "covsched-schedule 2\nprogram \"./a\" {program}\ncommand \"./a\"\n{completeness}\n\
             thread t0 main entry=0000000000000001\nsite 0000000000000001 entry \"a.c\":3:1 \"main\" \"\"\n\
             events 1\nt0 entry @0000000000000001\nend\n"
        );
        parse::parse(&text).unwrap()
    }

    #[test]
    fn a_schedule_of_this_build_fits() {
        let tables = table(3, "main");
        check(&schedule(tables.program, "complete"), &tables, None).unwrap();
    }

    #[test]
    fn another_build_is_refused_with_the_first_difference() {
        let of_now = table(4, "main");
        let error = check(&schedule(ProgramId(7), "complete"), &of_now, None).unwrap_err().to_string();
        assert!(error.contains("1: t0 entry at a.c:3 (main), now at a.c:4 (main)"), "{error}");
        let nothing = Tables { program: ProgramId(1), sites: HashMap::new() };
        let error = check(&schedule(ProgramId(7), "complete"), &nothing, None).unwrap_err().to_string();
        assert!(error.contains("not in the program: 1: t0 entry at a.c:3 (main)"), "{error}");
    }

    #[test]
    fn a_program_may_be_more_than_the_module() {
        let tables = table(3, "main");
        check(&schedule(ProgramId(7), "complete"), &tables, Some(ProgramId(7))).unwrap();
    }

    #[test]
    fn a_schedule_that_was_cut_off_is_refused_with_the_reason() {
        let tables = table(3, "main");
        let cut = schedule(tables.program, "incomplete \"killed by signal 9\"");
        let error = check(&cut, &tables, None).unwrap_err().to_string();
        assert!(error.contains("killed by signal 9"), "{error}");
    }
}
