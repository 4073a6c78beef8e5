//! A schedule's events in words, for traps and refusals: `pthread_mutex_lock at queue.c:31 (push)`. A place in a header
//! of the system (`std::mutex`) is given as the place in the program's own files that called it.

use super::items::KeptFrames;
use crate::ir::clone::Trap;
use covsched_core::hooks::Op;
use covsched_core::schedule::describe::describe_site;
use covsched_core::schedule::stack::is_system_file;
use covsched_core::schedule::Schedule;
use covsched_core::site::{Site, SiteKind};
use covsched_core::{Seq, SiteId};
use std::collections::HashMap;

/// What is needed for words.
pub struct Words<'a> {
    /// The schedule.
    pub schedule: &'a Schedule,
    /// What is specialized of it.
    pub kept: &'a KeptFrames,
    /// The program's sites: more than the schedule knows.
    pub sites: &'a HashMap<SiteId, Site>,
}

impl Words<'_> {
    /// What a frame's thread does next when so many of the frame's items are done.
    pub fn expected(&self, place: usize, done: usize) -> Trap {
        let frame = &self.kept.frames[place];
        let Some((place, done)) = self.kept.expected(place, done) else {
            return Trap { expected: SiteId::NONE, text: format!("the end of {}", frame.thread) };
        };
        let item = &self.kept.frames[place].items[done];
        let Some(event) = self.schedule.events.get(item.first.0 as usize - 1) else {
            return Trap { expected: item.site, text: self.site(item.site) };
        };
        let user = self.kept.callers(place, event.site).filter_map(|site| self.schedule.sites.get(&site));
        let site = { user }.find(|site| !is_system_file(&site.file));
        let text = match site.or_else(|| self.schedule.sites.get(&event.site)) {
            Some(site) => format!("{} at {}", event.op.name(), demangled(site)),
            None => event.op.name().to_owned(),
        };
        Trap { expected: event.site, text }
    }

    /// An event.
    pub fn event(&self, seq: Seq) -> String {
        match self.schedule.events.get(seq.0.max(1) as usize - 1) {
            Some(event) => match self.schedule.sites.get(&event.site) {
                Some(site) => format!("{} at {}", event.op.name(), demangled(site)),
                None => event.op.name().to_owned(),
            },
            None => "nothing".to_owned(),
        }
    }

    /// What is said where a function that is to do nothing comes to one of these synchronizations.
    pub fn nothing(&self, function: &str, instead: &[SiteId]) -> Trap {
        let is_true = |site: &&SiteId| self.sites.get(site).is_some_and(|site| site.kind == SiteKind::True);
        let text = match instead.iter().find(is_true).or(instead.first()) {
            Some(site) if is_true(&site) => format!("no {}", self.site(*site)),
            Some(&site) => format!("no call of {}", self.site(site)),
            None => format!("no synchronization in {}", crate::demangle(function)),
        };
        Trap { expected: SiteId::NONE, text }
    }

    /// A site.
    pub fn site(&self, site: SiteId) -> String {
        match self.schedule.sites.get(&site).or_else(|| self.sites.get(&site)) {
            Some(known) => {
                let callee = crate::demangle(&known.callee);
                let what = match known.kind {
                    SiteKind::Exit => Op::leave.name(),
                    kind if callee.is_empty() => kind.name(),
                    _ => callee.as_str(),
                };
                format!("{what} at {}", demangled(known))
            }
            None => format!("site {site}"),
        }
    }
}

fn demangled(site: &Site) -> String {
    describe_site(&Site { function: crate::demangle(&site.function), ..site.clone() })
}
