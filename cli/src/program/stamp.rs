//! Programs that were specialized for a schedule: what they may be run for.

use super::Program;
use crate::elf;
use crate::failure::Failure;
use crate::schedule_file::ScheduleFile;
use covsched_core::schedule::order::Order;
use covsched_core::stamp::{read_ignored, schedule_hash, Stamp, IGNORED_SECTION, SECTION};
use covsched_core::SiteId;
use std::collections::BTreeSet;

impl Program {
    /// What it was specialized for; `None` if it was not.
    fn stamp(&self) -> Result<Option<Stamp>, Failure> {
        let Some(section) = elf::section(&self.binary.parse()?, SECTION) else { return Ok(None) };
        let broken = |error| Failure::bad(format!("{}: {error}", self.path().display()));
        Stamp::read(&section).map(Some).map_err(broken)
    }

    /// Refuses a program without guards, which does not notice that an input is not covered.
    pub fn check_guarded(&self) -> Result<(), Failure> {
        refuse_unguarded(self, self.stamp()?)
    }

    /// Refuses a program that was specialized for something else than this schedule under this order. Returns the sites
    /// that were left out then: no run follows them.
    pub fn check_specialized_for(
        &self,
        file: &ScheduleFile,
        order: Order,
    ) -> Result<BTreeSet<SiteId>, Failure> {
        let stamp = self.stamp()?;
        refuse_unguarded(self, stamp)?;
        let Some(stamp) = stamp else { return Ok(BTreeSet::new()) };
        let (app, name) = (self.path().display(), &file.name);
        if stamp.program != file.schedule.program_id {
            return Err(Failure::bad(format!(
                "{app} was specialized from a build with identity {}, and {name} is of {}. Specialize it again",
                stamp.program, file.schedule.program_id
            )));
        }
        if stamp.schedule != schedule_hash(&file.schedule) {
            return Err(Failure::bad(format!(
                "{app} was specialized for another schedule than {name}. Specialize the original for this one: \
                 covsched specialize APP --schedule {name} --control-only"
            )));
        }
        if stamp.order != order {
            let (made, asked) = (stamp.order.name(), order.name());
            return Err(Failure::bad(format!(
                "{app} was specialized for order {made}, and --order {asked} is asked for. Give --order {made}, or \
                 specialize the original again with --order {asked}"
            )));
        }
        let ignored = elf::section(&self.binary.parse()?, IGNORED_SECTION).unwrap_or_default();
        let broken = |error| Failure::bad(format!("{}: {error}", self.path().display()));
        read_ignored(&ignored, &stamp).map_err(broken)
    }
}

fn refuse_unguarded(program: &Program, stamp: Option<Stamp>) -> Result<(), Failure> {
    if stamp.is_some_and(|stamp| stamp.unguarded) {
        return Err(Failure::bad(format!(
            "{} was specialized with --analysis-only: it has no guards and is not to be run. Specialize it without \
             that option",
            program.path().display()
        )));
    }
    Ok(())
}
