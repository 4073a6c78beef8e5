//! A module's functions as specialization sees them: which call is which site, templates, and graphs of them.

use super::graph::{Act, Callee, FunctionId, Graph, Leave, Piece, PieceId, Ways};
use super::program::{FunctionGraph, Program};
use crate::ir::clone::{self, Template};
use crate::ir::{CallFacts, Form, Function, FunctionFacts, Inst, Location, Module, Target};
use covsched_core::hooks::{Hook, CXX_HOOKS, HOOKS, MARKERS};
use covsched_core::SiteId;
use std::collections::{HashMap, HashSet};

/// What calling a function of the runtime means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    True(&'static Hook),
    Enters,
    Exits,
    Derived,
    OtherMarker,
}

/// What makes a process of the one that calls it.
const FORKS: [&str; 4] = ["fork", "vfork", "_Fork", "forkpty"];

/// Where each site stands.
pub struct Sites<'m> {
    kinds: HashMap<Function<'m>, Kind>,
    /// The function with a site's hook or marker.
    pub owners: HashMap<SiteId, Function<'m>>,
    /// Every function.
    pub functions: HashMap<Function<'m>, FunctionFacts<'m>>,
    /// Functions that call `fork`, themselves or by what they call by name, and where: a child goes on in the same code
    /// with another run.
    forking: HashMap<Function<'m>, Location>,
}

impl<'m> Sites<'m> {
    /// Looks at the whole module, once.
    pub fn of(module: Module<'m>) -> Sites<'m> {
        let hooks: HashMap<&str, Kind> = HOOKS
            .iter()
            .chain(CXX_HOOKS)
            .map(|hook| (hook.symbol, Kind::True(hook)))
            .chain(MARKERS.iter().map(|marker| (marker.symbol, kind_of_marker(marker.symbol))))
            .collect();
        let functions = module.functions();
        let kinds = functions
            .iter()
            .filter(|facts| facts.is_declared())
            .filter_map(|facts| Some((facts.function, *hooks.get(facts.name.as_str())?)))
            .collect();
        let mut sites =
            Sites { kinds, owners: HashMap::new(), functions: HashMap::new(), forking: HashMap::new() };
        let forks =
            functions.iter().filter(|facts| facts.is_declared() && FORKS.contains(&facts.name.as_str()));
        let mut work: Vec<Function<'m>> = forks.map(|facts| facts.function).collect();
        let mut callers: HashMap<Function<'m>, Vec<(Function<'m>, Inst<'m>)>> = HashMap::new();
        for facts in functions {
            if facts.has_body() && !facts.is_declared() {
                for call in facts.function.calls() {
                    if let Some(callee) = call.callee.filter(|_| !work.is_empty()) {
                        callers.entry(callee).or_default().push((facts.function, call.inst));
                    }
                    if let Some(site) = sites.kind(&call).and_then(|kind| site_of(kind, &call)) {
                        sites.owners.entry(site).or_insert(facts.function);
                    }
                }
            }
            sites.functions.insert(facts.function, facts);
        }
        while let Some(function) = work.pop() {
            for (caller, call) in callers.remove(&function).unwrap_or_default() {
                sites.forking.entry(caller).or_insert_with(|| {
                    work.push(caller);
                    call.location()
                });
            }
        }
        sites
    }

    fn kind(&self, call: &CallFacts<'m>) -> Option<Kind> {
        self.kinds.get(&call.callee?).copied()
    }

    /// The hook that a call calls.
    pub fn hook(&self, call: &CallFacts<'m>) -> Option<&'static Hook> {
        match self.kind(call) {
            Some(Kind::True(hook)) => Some(hook),
            _ => None,
        }
    }
}

fn kind_of_marker(symbol: &str) -> Kind {
    match symbol {
        "covsched_main_enter" | "covsched_thread_enter" => Kind::Enters,
        "covsched_thread_exit" => Kind::Exits,
        "covsched_derived_enter" => Kind::Derived,
        _ => Kind::OtherMarker,
    }
}

/// The last operand of hooks and of markers that have a site.
fn site_of(kind: Kind, call: &CallFacts<'_>) -> Option<SiteId> {
    if kind == Kind::OtherMarker {
        return None;
    }
    let last = call.inst.argument_count().checked_sub(1)?;
    call.inst.constant_argument(last).map(SiteId)
}

/// A function that cannot be cloned.
pub struct Limit<'m> {
    /// The function.
    pub function: Function<'m>,
    /// Where that is seen; unknown without debug info.
    pub location: Location,
    /// Why.
    pub reason: &'static str,
}

/// The functions to specialize.
pub struct Source<'m> {
    /// Where sites stand.
    pub sites: Sites<'m>,
    /// By [`FunctionId`].
    pub templates: Vec<Template<'m>>,
    /// As plain data.
    pub program: Program,
    /// What could not be cloned.
    pub limits: Vec<Limit<'m>>,
    ids: HashMap<Function<'m>, FunctionId>,
}

impl<'m> Source<'m> {
    /// The functions in which `wanted` sites stand, and all that those call by name where it may synchronize.
    pub fn of(
        module: Module<'m>,
        wanted: impl IntoIterator<Item = SiteId>,
        ignored: &HashSet<SiteId>,
    ) -> Source<'m> {
        let sites = Sites::of(module);
        let mut source = Source {
            templates: Vec::new(),
            program: Program::default(),
            limits: Vec::new(),
            ids: HashMap::new(),
            sites,
        };
        let mut seen: HashSet<Function<'m>> = HashSet::new();
        let mut work: Vec<Function<'m>> =
            wanted.into_iter().filter_map(|site| source.sites.owners.get(&site).copied()).collect();
        work.reverse();
        while let Some(function) = work.pop() {
            let is_defined =
                source.sites.functions.get(&function).is_some_and(|f| f.has_body() && !f.is_declared());
            if !is_defined || !seen.insert(function) {
                continue;
            }
            if let Some(location) = source.sites.forking.get(&function) {
                let reason = "it may fork, and the child goes on where the schedule does not";
                source.limits.push(Limit { function, location: location.clone(), reason });
                continue;
            }
            match Template::of(function, matters(&source.sites)) {
                Ok(template) => {
                    let derived = template.pieces.iter().filter(|piece| piece.site.is_some());
                    let called = derived.filter_map(|piece| piece.call.as_ref()?.callee);
                    work.extend(called);
                    source.ids.insert(function, FunctionId(source.templates.len() as u32));
                    source.templates.push(template);
                }
                Err(clone::Limit { obstacle, location }) => {
                    source.limits.push(Limit { function, location, reason: obstacle.describe() });
                }
            }
        }
        let graphs = source.templates.iter().map(|template| {
            let name = source.sites.functions[&template.function].name.clone();
            FunctionGraph::new(name, source.graph(template, ignored))
        });
        source.program = Program::new(graphs.collect());
        source
    }

    /// The function in which a site stands, if it can be cloned.
    pub fn function_of(&self, site: SiteId) -> Option<FunctionId> {
        self.ids.get(self.sites.owners.get(&site)?).copied()
    }

    /// A function.
    pub fn function(&self, id: FunctionId) -> Function<'m> {
        self.templates[id.index()].function
    }

    fn graph(&self, template: &Template<'m>, ignored: &HashSet<SiteId>) -> Graph {
        let piece = |piece: &clone::Piece<'m>| Piece {
            act: self
                .act(piece)
                .filter(|(site, _)| !ignored.contains(site))
                .map_or(Act::Plain, |(_, act)| act),
            next: piece.next.iter().map(|next| PieceId(next.0)).collect(),
            is_invoke: piece.call.as_ref().is_some_and(|call| call.form == Form::Invoke),
            leaves: piece.leaves.map(|leave| match leave {
                clone::Leave::Returns => Leave::Returns,
                clone::Leave::Unwinds => Leave::Unwinds,
            }),
            may_unwind: piece.may_unwind,
        };
        Graph::new(template.pieces.iter().map(piece).collect())
    }

    fn act(&self, piece: &clone::Piece<'m>) -> Option<(SiteId, Act)> {
        let (call, site) = (piece.call.as_ref()?, piece.site?);
        let act = match self.sites.kind(call) {
            Some(Kind::True(_)) => Act::Synchronizes(site),
            Some(Kind::Exits) => Act::Exits(site),
            Some(_) => return None,
            None => {
                let callee = match call.callee.map(|callee| self.ids.get(&callee)) {
                    Some(Some(&id)) => Callee::Function(id),
                    None if call.target == Target::Indirect => Callee::Pointer,
                    _ => Callee::Elsewhere,
                };
                let free = if matches!(callee, Callee::Function(_)) { Ways::NONE } else { Ways::ANY };
                Act::Calls { site, callee, free }
            }
        };
        Some((site, act))
    }
}

/// Which calls need a piece of their own: hooks, the end of a thread's function, and the call after the marker of a
/// derived call.
fn matters<'a, 'm: 'a>(sites: &'a Sites<'m>) -> impl FnMut(&CallFacts<'m>) -> bool + 'a {
    let mut is_derived = false;
    move |call| match sites.kind(call) {
        Some(Kind::True(_) | Kind::Exits) => true,
        Some(Kind::Derived) => {
            is_derived = true;
            false
        }
        // The call was inlined.
        Some(Kind::Enters | Kind::OtherMarker) => {
            is_derived = false;
            false
        }
        None => std::mem::take(&mut is_derived),
    }
}
