//! What to instrument, and each site's id. Changes nothing.

use crate::analysis::calls::{callee_name, Body, Calls, Meaning};
use crate::analysis::threads::{passed_to_create, role, Role};
use crate::ir::{CallFacts, Form, Function, FunctionFacts, Inst, Location, Module};
use crate::report::limits::{Limit, Limits};
use covsched_core::hooks::{Hook, Op};
use covsched_core::site::{site_id, Site, SiteKind};
use covsched_core::SiteId;
use std::collections::{HashMap, HashSet};

/// A call that a hook replaces.
pub struct TrueCall<'m> {
    /// The call.
    pub inst: Inst<'m>,
    /// What it calls now.
    pub original: Function<'m>,
    /// What it will call.
    pub hook: &'static Hook,
    /// Its site.
    pub site: SiteId,
}

/// A call that gets markers before and after.
pub struct DerivedCall<'m> {
    /// The call.
    pub inst: Inst<'m>,
    /// Whether exceptions land in this function.
    pub is_invoke: bool,
    /// Its site.
    pub site: SiteId,
}

/// What to do to one function.
pub struct FunctionPlan<'m> {
    /// The function.
    pub function: Function<'m>,
    /// What it is to a thread, and its entry's site unless it is nothing.
    pub entry: Option<(Role, SiteId)>,
    /// Its returns, if it has an entry.
    pub exits: Vec<(Inst<'m>, SiteId)>,
    /// Synchronizing calls.
    pub true_calls: Vec<TrueCall<'m>>,
    /// Calls that may synchronize.
    pub derived_calls: Vec<DerivedCall<'m>>,
    /// Calls that may return twice, the second time from below.
    pub returns_twice: Vec<Inst<'m>>,
}

/// The address of a synchronizing function that is data somewhere.
pub struct Reference<'m> {
    /// The function.
    pub original: Function<'m>,
    /// Its hook.
    pub hook: &'static Hook,
    /// The site of all calls through the pointer.
    pub site: SiteId,
}

/// What to do to a module.
pub struct Plan<'m> {
    /// Functions that are not done yet.
    pub functions: Vec<FunctionPlan<'m>>,
    /// Addresses to replace.
    pub references: Vec<Reference<'m>>,
    /// The new sites, in order.
    pub sites: Vec<Site>,
    /// What is left alone.
    pub limits: Limits<'m>,
    epoch_sites: HashSet<SiteId>,
}

impl<'m> Plan<'m> {
    /// Looks at the whole module.
    pub fn of(module: Module<'m>) -> Self {
        let calls = Calls::of(module);
        let passed = passed_to_create(&calls);
        let mut plan = Plan {
            functions: Vec::new(),
            references: Vec::new(),
            sites: Vec::new(),
            limits: Limits::default(),
            epoch_sites: HashSet::new(),
        };
        let unit = module.source_name();
        for body in calls.bodies() {
            if body.facts.has_body() && !body.facts.is_instrumented() {
                let role = role(body, &passed);
                plan.add_function(&calls, body, role, &unit);
            }
        }
        for body in calls.bodies() {
            if let Meaning::True(hook) = body.meaning {
                plan.add_reference(&body.facts, hook);
            }
        }
        plan
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.references.is_empty()
    }

    /// For the summary: "3 true, 1 derived, 0 entry, 0 exit"; epoch markers are counted if there are any.
    pub fn count_sites(&self) -> String {
        let count = |kind| self.sites.iter().filter(|site| site.kind == kind).count();
        let kinds = [SiteKind::True, SiteKind::Derived, SiteKind::Entry, SiteKind::Exit, SiteKind::Epoch];
        let counts = kinds.iter().map(|&kind| (count(kind), kind));
        let said = counts.filter(|&(count, kind)| count > 0 || kind != SiteKind::Epoch);
        said.map(|(count, kind)| format!("{count} {}", kind.name())).collect::<Vec<_>>().join(", ")
    }

    /// `unit`: the module's source file, to which an internal function without debug info belongs.
    fn add_function(&mut self, calls: &Calls<'m>, body: &Body<'m>, role: Role, unit: &str) {
        let facts = &body.facts;
        let mut plan = FunctionPlan {
            function: facts.function,
            entry: None,
            exits: Vec::new(),
            true_calls: Vec::new(),
            derived_calls: Vec::new(),
            returns_twice: Vec::new(),
        };
        let left_alone = match () {
            () if facts.is_naked() => Some(Limit::Naked),
            () if facts.has_funclets() => Some(Limit::Funclets),
            () => None,
        };
        if let Some(limit) = left_alone {
            self.limits.note(limit, facts.function.location(), &facts.name);
            self.functions.push(plan);
            return;
        }
        let mut sites = SitesOf::new(facts, unit);
        if role != Role::None && facts.is_coroutine() {
            self.limits.note(Limit::CoroutineThread, facts.function.location(), &facts.name);
        } else if role != Role::None {
            let site = sites.add(SiteKind::Entry, "", facts.function.location(), &mut self.sites);
            plan.entry = Some((role, site));
        }
        for call in &body.calls {
            let meaning = calls.meaning(call);
            match (call.form, meaning) {
                (Form::Return, _) if plan.entry.is_some() => {
                    if call.is_bound_to_return {
                        self.limits.at(Limit::MusttailExit, call.inst, &facts.name);
                    } else {
                        let site = sites.add(SiteKind::Exit, "", call.inst.location(), &mut self.sites);
                        plan.exits.push((call.inst, site));
                    }
                }
                (Form::Return, _) => {}
                (_, Meaning::True(hook)) => self.add_true_call(call, hook, &mut sites, &mut plan),
                (_, Meaning::Derived) => self.add_derived_call(facts, call, &mut sites, &mut plan),
                (_, Meaning::Marker) => self.add_epoch_marker(facts, call),
                (_, Meaning::Nothing) => {}
            }
            let can_follow = call.form != Form::Callbr && !call.is_bound_to_return && !facts.is_coroutine();
            if call.returns_twice && can_follow && !matches!(meaning, Meaning::True(_)) {
                plan.returns_twice.push(call.inst);
            }
        }
        self.functions.push(plan);
    }

    fn add_true_call(
        &mut self,
        call: &CallFacts<'m>,
        hook: &'static Hook,
        sites: &mut SitesOf<'_>,
        plan: &mut FunctionPlan<'m>,
    ) {
        let Some(original) = call.callee else { return };
        let limit = if call.is_bound_to_return {
            Some(Limit::MusttailSynchronization)
        } else if call.form == Form::Callbr {
            Some(Limit::CallbrSynchronization)
        } else if call.has_no_arguments && !hook.params.is_empty() {
            Some(Limit::Probe)
        } else if !call.inst.call_fits(hook.params, required_arguments(hook), hook.result) {
            Some(Limit::Prototype)
        } else {
            None
        };
        if let Some(limit) = limit {
            self.limits.at(limit, call.inst, hook.replaces);
            return;
        }
        let site = sites.add(SiteKind::True, hook.replaces, call.inst.location(), &mut self.sites);
        plan.true_calls.push(TrueCall { inst: call.inst, original, hook, site });
    }

    fn add_derived_call(
        &mut self,
        facts: &FunctionFacts<'m>,
        call: &CallFacts<'m>,
        sites: &mut SitesOf<'_>,
        plan: &mut FunctionPlan<'m>,
    ) {
        let callee = callee_name(call.named);
        let limit = if facts.is_coroutine() {
            Some(Limit::Coroutine)
        } else if call.is_bound_to_return {
            Some(Limit::MusttailDerived)
        } else if call.form == Form::Callbr {
            Some(Limit::CallbrDerived)
        } else if call.is_tail_recursive {
            Some(Limit::TailRecursion)
        } else {
            None
        };
        if let Some(limit) = limit {
            self.limits.at(limit, call.inst, &callee);
            return;
        }
        let site = sites.add(SiteKind::Derived, &callee, call.inst.location(), &mut self.sites);
        plan.derived_calls.push(DerivedCall { inst: call.inst, is_invoke: call.form == Form::Invoke, site });
    }

    /// An epoch marker has its site as its argument. One that was copied (by unrolling) is one site.
    fn add_epoch_marker(&mut self, facts: &FunctionFacts<'m>, call: &CallFacts<'m>) {
        let Some(id) = call.inst.constant_argument(0).map(SiteId) else { return };
        if self.epoch_sites.insert(id) {
            self.sites.push(epoch_site(id, &facts.name, call.inst.location()));
        }
    }

    fn add_reference(&mut self, facts: &FunctionFacts<'m>, hook: &'static Hook) {
        let Some(first) = facts.function.address_use() else { return };
        // A pointer to a variadic function is called with a variadic type, which a wrapper cannot pass on.
        if required_arguments(hook) != hook.params.len() {
            match first {
                Some(inst) => self.limits.at(Limit::VariadicReference, inst, hook.replaces),
                None => self.limits.note(Limit::VariadicReference, Location::default(), hook.replaces),
            }
            return;
        }
        // The wrapper is the same in every unit, so its site belongs to none.
        let site = site_id(hook.replaces, "", SiteKind::True, hook.replaces, 0);
        self.sites.push(Site {
            id: site,
            kind: SiteKind::True,
            file: String::new(),
            line: 0,
            column: 0,
            function: hook.replaces.to_owned(),
            callee: hook.replaces.to_owned(),
        });
        self.references.push(Reference { original: facts.function, hook, site });
    }
}

/// How many arguments a call must have: `sem_open` takes its last two only when it creates.
fn required_arguments(hook: &Hook) -> usize {
    match hook.op {
        Op::sem_open => 2,
        _ => hook.params.len(),
    }
}

/// The file that a site's id is made of: where an internal function is defined, else empty. The file of its
/// definition, not the unit's: a static function of a header (libstdc++'s `__gthread_mutex_lock`) is the same in every
/// unit.
pub fn file_of_sites<'f>(facts: &'f FunctionFacts<'_>, unit: &'f str) -> &'f str {
    match (facts.internal, facts.file.as_str()) {
        (false, _) => "",
        (true, "") => unit,
        (true, file) => file,
    }
}

/// The site of an epoch marker.
pub fn epoch_site(id: SiteId, function: &str, location: Location) -> Site {
    Site {
        id,
        kind: SiteKind::Epoch,
        file: location.file,
        line: location.line,
        column: location.column,
        function: function.to_owned(),
        callee: String::new(),
    }
}

/// Makes the ids of one function's sites.
struct SitesOf<'f> {
    function: &'f str,
    /// See [`file_of_sites`].
    file: &'f str,
    ordinals: HashMap<(SiteKind, String), u32>,
}

impl<'f> SitesOf<'f> {
    fn new(facts: &'f FunctionFacts<'_>, unit: &'f str) -> Self {
        SitesOf { function: &facts.name, file: file_of_sites(facts, unit), ordinals: HashMap::new() }
    }

    fn add(&mut self, kind: SiteKind, callee: &str, location: Location, sites: &mut Vec<Site>) -> SiteId {
        let ordinal = self.ordinals.entry((kind, callee.to_owned())).or_insert(0);
        let id = site_id(self.function, self.file, kind, callee, *ordinal);
        *ordinal += 1;
        sites.push(Site {
            id,
            kind,
            file: location.file,
            line: location.line,
            column: location.column,
            function: self.function.to_owned(),
            callee: callee.to_owned(),
        });
        id
    }
}
