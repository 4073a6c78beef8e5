//! Synchronizations that users leave out (Wu 2.2.3.3): those of allocators and of logging, which would make every schedule
//! one of a single run. They are no items of frames, no run follows them, and their hooks are told so
//! ([`SiteId::IGNORED`]).
//!
//! What makes, joins and ends threads is never left out: it is what a schedule is about. Limit: a wait and what wakes it
//! are left out together or not at all; a lock that is left out must not be held around synchronizations that are not.

use super::fits::Tables;
use super::{glob, SpecializeError};
use covsched_core::hooks::{ObjectClass, CXX_HOOKS, HOOKS};
use covsched_core::schedule::describe::describe_site;
use covsched_core::schedule::Schedule;
use covsched_core::site::{Site, SiteKind};
use covsched_core::SiteId;
use std::collections::{BTreeSet, HashSet};

/// What is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ignored {
    /// No items of frames: synchronizations, and calls.
    pub sites: HashSet<SiteId>,
    /// The synchronizations among them.
    pub synchronizations: BTreeSet<SiteId>,
}

impl Ignored {
    /// Chooses; refuses what would leave a wait without what wakes it.
    pub fn choose(
        globs: &[String],
        tables: &Tables,
        schedule: &Schedule,
    ) -> Result<Ignored, SpecializeError> {
        let mut ignored = Ignored::default();
        for site in tables.sites.values().filter(|site| globs.iter().any(|glob| glob::fits_site(glob, site)))
        {
            match site.kind {
                SiteKind::True if can_be_left_out(site) => {
                    ignored.synchronizations.insert(site.id);
                    ignored.sites.insert(site.id);
                }
                SiteKind::Derived => {
                    ignored.sites.insert(site.id);
                }
                _ => {}
            }
        }
        let name = |site: &SiteId| match tables.sites.get(site) {
            Some(site) => format!("{} at {}", site.callee, describe_site(site)),
            None => format!("site {site}"),
        };
        for event in &schedule.events {
            let Some(waker) = event.waker.and_then(|waker| schedule.events.get(waker.0 as usize - 1)) else {
                continue;
            };
            let is_out = |site: &SiteId| ignored.synchronizations.contains(site);
            if is_out(&event.site) != is_out(&waker.site) {
                let (out, kept) =
                    if is_out(&event.site) { (event.site, waker.site) } else { (waker.site, event.site) };
                return Err(SpecializeError::HalfIgnored { ignored: name(&out), kept: name(&kept) });
            }
        }
        Ok(ignored)
    }
}

fn can_be_left_out(site: &Site) -> bool {
    let hook = HOOKS.iter().chain(CXX_HOOKS).find(|hook| hook.replaces == site.callee);
    hook.is_some_and(|hook| !matches!(hook.op.class(), ObjectClass::Thread | ObjectClass::Flow))
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::schedule::parse;
    use covsched_core::ProgramId;

    fn tables() -> Tables {
        let site = |(id, kind, function, callee): (u64, SiteKind, &str, &str)| Site {
            id: SiteId(id),
            kind,
            file: "a.c".to_owned(),
            line: id as u32,
            column: 1,
            function: function.to_owned(),
            callee: callee.to_owned(),
        };
        let sites = [
            (1, SiteKind::Entry, "main", ""),
            (2, SiteKind::True, "log", "pthread_mutex_lock"),
            (3, SiteKind::True, "log", "pthread_create"),
            (4, SiteKind::Derived, "main", "log"),
            (5, SiteKind::True, "log", "pthread_cond_signal"),
            (6, SiteKind::True, "main", "pthread_cond_wait"),
            (7, SiteKind::Exit, "log", ""),
        ];
        let sites = sites.map(site).map(|site| (site.id, site)).into();
        Tables { program: ProgramId(1), sites }
    }

    const NO_WAIT: &str = "covsched-schedule 2\nprogram \"a\" 0000000000000001\ncommand \"a\"\ncomplete\n\
                           thread t0 main\nevents 1\nt0 entry\nend\n";

    #[test]
    fn threads_stay() {
        let schedule = parse::parse(NO_WAIT).unwrap();
        let ignored = Ignored::choose(&["log".to_owned()], &tables(), &schedule).unwrap();
        assert_eq!(ignored.synchronizations, [SiteId(2), SiteId(5)].into());
        assert_eq!(ignored.sites, [SiteId(2), SiteId(4), SiteId(5)].into());
        assert_eq!(Ignored::choose(&[], &tables(), &schedule).unwrap(), Ignored::default());
    }

    #[test]
    fn a_wait_needs_what_wakes_it() {
        let mut schedule = parse::parse(NO_WAIT).unwrap();
        let mut event = |site, waker: Option<u64>| {
            let mut event = schedule.events[0].clone();
            (event.site, event.waker) = (SiteId(site), waker.map(covsched_core::Seq));
            schedule.events.push(event);
        };
        event(5, None);
        event(6, Some(2));
        let choose = |globs: &[&str]| {
            let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
            Ignored::choose(&globs, &tables(), &schedule)
        };
        let error = choose(&["log"]).unwrap_err().to_string();
        assert!(
            error.contains(
                "pthread_cond_signal at a.c:5 (log) is ignored and pthread_cond_wait at a.c:6 (main) is not"
            ),
            "{error}"
        );
        assert!(choose(&["main"]).is_err());
        assert!(choose(&["*cond*"]).is_ok() && choose(&["*mutex*"]).is_ok());
    }
}
