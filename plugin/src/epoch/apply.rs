//! Puts the markers that were decided on into the module, each with its site, and lets threads leave their epoch around
//! library calls that may block:
//! ```text
//! loop header                       ->  call void @covsched_epoch_marker(i64 SITE)
//! header of a loop that spins       ->  call void @covsched_epoch_spin(i64 SITE)
//! %n = call i64 @read(...)          ->  %l = call i32 @covsched_epoch_leave()
//!                                       %n = call i64 @read(...)
//!                                       call void @covsched_epoch_enter(i32 %l)
//! ```
//! A site's id has its number among the function's markers, in the order of instructions; numbers whose id the module
//! has already are left out. If the function is instrumented
//! already, its sites go into a table of their own, which the linker puts behind the others; if not,
//! `covsched-instrument` finds the markers.

use super::extract::{Details, Extracted};
use super::place::{Cycle, Decisions, Why};
use super::program::{Action, BlockId, FunctionId};
use super::ways::Spot;
use crate::analysis::calls::{EPOCH_MARKER, EPOCH_SPIN};
use crate::instrument::apply::{ApplyError, Declarations, DERIVED, EPOCH_ENTER, EPOCH_LEAVE};
use crate::instrument::plan::{epoch_site, file_of_sites};
use crate::ir::flow::Place;
use crate::ir::{CallFacts, Form, Function, Inst, Location, Module, Severity};
use crate::parameters::EpochOptions;
use crate::report::limits::{Limit, Limits};
use covsched_core::hooks::{Hook, CXX_HOOKS, HOOKS};
use covsched_core::site::{site_id, Site, SiteKind, TableBuilder, UnitTable, SECTION, UNIT_HAS_EPOCHS};
use covsched_core::{library, SiteId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The ids of new markers.
pub type NewSites = BTreeMap<(FunctionId, Spot), SiteId>;

/// The ids that a module has: of markers that stand in it, and of its site tables. A marker that was taken out again
/// (`sync-unroll` does that) is still in its table, and its id must not come to mean another place.
pub fn taken_ids(module: Module<'_>, extracted: &Extracted<'_>) -> HashSet<SiteId> {
    let blocks = extracted.program.functions.iter().flat_map(|flow| &flow.blocks);
    let mut taken: HashSet<SiteId> = blocks
        .flat_map(|block| &block.steps)
        .filter_map(|step| match step.action {
            Action::Marker(site) => Some(site),
            _ => None,
        })
        .collect();
    for table in module.section_data(SECTION) {
        match UnitTable::read_section(&table) {
            Ok(units) => taken.extend(units.iter().flat_map(|unit| &unit.sites).map(|site| site.id)),
            Err(error) => module.report(Severity::Error, &format!("covsched: {error}")),
        }
    }
    taken
}

/// Gives every new marker its id, which is none of the `taken` ones.
pub fn number(
    extracted: &Extracted<'_>,
    decisions: &Decisions,
    taken: &HashSet<SiteId>,
    unit: &str,
) -> NewSites {
    let mut ordinals: HashMap<FunctionId, u32> = HashMap::new();
    let mut sites = NewSites::new();
    for &(function, spot) in decisions.markers.keys() {
        let facts = &extracted.details[function.0 as usize].facts;
        let next = ordinals.entry(function).or_default();
        let site = loop {
            let site = site_id(&facts.name, file_of_sites(facts, unit), SiteKind::Epoch, "", *next);
            *next += 1;
            if !taken.contains(&site) {
                break site;
            }
        };
        sites.insert((function, spot), site);
    }
    sites
}

/// Where a new marker stands in the source: at the start of its loop, at its call, or at its function.
pub fn location_of(extracted: &Extracted<'_>, function: FunctionId, spot: Spot) -> Location {
    let details = &extracted.details[function.0 as usize];
    if let Some(place) = place_of(extracted, function, spot) {
        return place.location();
    }
    let at = match spot {
        (BlockId(0), 0) => None,
        _ => call_before(extracted, function, spot).or(details.starts[spot.0 .0 as usize]),
    };
    at.map_or_else(|| details.facts.function.location(), |inst| inst.location())
}

/// The start of the loop whose header has this spot.
fn place_of<'m>(extracted: &Extracted<'m>, function: FunctionId, spot: Spot) -> Option<Place<'m>> {
    let flow = &extracted.program.functions[function.0 as usize];
    let number = flow.loops.iter().position(|natural| (natural.header, 0) == spot)?;
    extracted.details[function.0 as usize].places[number]
}

fn call_before<'m>(extracted: &Extracted<'m>, function: FunctionId, (block, step): Spot) -> Option<Inst<'m>> {
    let flow = &extracted.program.functions[function.0 as usize];
    flow.blocks[block.0 as usize].steps.get(step.checked_sub(1)?)?.inst
}

/// Changes the module. Returns whether there was anything to do.
pub fn apply<'m>(
    module: Module<'m>,
    extracted: &Extracted<'m>,
    decisions: &Decisions,
    sites: &NewSites,
    blocking: &[(Function<'m>, Vec<Inst<'m>>)],
) -> Result<bool, ApplyError> {
    let mut declarations = Declarations::new(module);
    let mut late: Vec<Site> = Vec::new();
    for (&(function, spot), &site) in sites {
        let details = &extracted.details[function.0 as usize];
        let location = location_of(extracted, function, spot);
        let why = decisions.markers.get(&(function, spot)).copied().unwrap_or(Why::Loop);
        if !insert_marker(&mut declarations, extracted, function, spot, (site, why))? {
            continue;
        }
        details.facts.function.allow_markers();
        if details.facts.is_instrumented() {
            late.push(epoch_site(site, &details.facts.name, location));
        }
    }
    if !late.is_empty() {
        let mut table = TableBuilder::default();
        late.iter().for_each(|site| table.push(site));
        let (bytes, _) = table.finish(&module.source_name(), UNIT_HAS_EPOCHS);
        module.add_section_data("covsched.sites", SECTION, &bytes, true);
    }
    for (function, calls) in blocking {
        let (leave, enter) = (declarations.marker(EPOCH_LEAVE)?, declarations.marker(EPOCH_ENTER)?);
        for &call in calls {
            let left = call.insert_marker(leave, None, None, call);
            if let Some(after) = call.point_after() {
                after.insert_marker(enter, Some(left), None, call);
            }
        }
        function.allow_markers();
    }
    Ok(!sites.is_empty() || !blocking.is_empty())
}

/// False if control never comes there.
fn insert_marker<'m>(
    declarations: &mut Declarations<'m>,
    extracted: &Extracted<'m>,
    function: FunctionId,
    spot: Spot,
    (site, why): (SiteId, Why),
) -> Result<bool, ApplyError> {
    let marker = declarations.marker(if why == Why::Spin { EPOCH_SPIN } else { EPOCH_MARKER })?;
    let details = &extracted.details[function.0 as usize];
    let own = details.facts.function;
    let (before, place) = match (spot, call_before(extracted, function, spot)) {
        ((BlockId(0), 0), _) => (Some(own.entry_point()), own.as_place()),
        (_, Some(call)) => (call.point_after(), call),
        ((block, _), None) => match details.starts[block.0 as usize] {
            Some(start) => (Some(start), start),
            None => return Ok(false),
        },
    };
    let Some(before) = before else { return Ok(false) };
    let call = before.insert_marker(marker, None, Some(site), place);
    if let Some(place) = place_of(extracted, function, spot) {
        call.set_place(place);
    }
    Ok(true)
}

/// The calls that may block and around which no thread leaves its epoch yet, by function.
pub fn blocking_calls<'m>(
    extracted: &Extracted<'m>,
    options: EpochOptions,
    limits: &mut Limits<'m>,
) -> Vec<(Function<'m>, Vec<Inst<'m>>)> {
    let markable = extracted.details.iter().filter(|details| details.hints.unmarkable.is_none());
    markable
        .map(|details| (details.facts.function, blocking_calls_of(extracted, details, options, limits)))
        .filter(|(_, calls)| !calls.is_empty())
        .collect()
}

fn blocking_calls_of<'m>(
    extracted: &Extracted<'m>,
    details: &Details<'m>,
    options: EpochOptions,
    limits: &mut Limits<'m>,
) -> Vec<Inst<'m>> {
    let mut blocking = Vec::new();
    let mut has_left = false;
    for call in &details.calls {
        let name = call.callee.and_then(|callee| extracted.undefined.get(&callee)).map(String::as_str);
        let name = name.unwrap_or_default();
        if name == EPOCH_LEAVE {
            has_left = true;
            continue;
        }
        // Between leaving and the call only the markers of a derived call can stand.
        if DERIVED.contains(&name) {
            continue;
        }
        let left_before = std::mem::take(&mut has_left);
        if left_before || call.never_returns || !may_block(name, call, options) {
            continue;
        }
        if call.is_bound_to_return || call.form == Form::Callbr {
            limits.at(Limit::EpochBlocking, call.inst, name);
        } else {
            blocking.push(call.inst);
        }
    }
    blocking
}

/// Whether this call of a function that is not defined here may block outside of the program.
fn may_block(name: &str, call: &CallFacts<'_>, options: EpochOptions) -> bool {
    if name.is_empty() || call.cannot_synchronize {
        return false;
    }
    let is_hook = |hook: &&Hook| hook.replaces == name || hook.symbol == name;
    let is_unknown = || {
        !library::never_synchronizes(name)
            && !name.starts_with("covsched_")
            && HOOKS.iter().chain(CXX_HOOKS).find(is_hook).is_none()
    };
    library::may_block(name) || (options.whole_program && is_unknown())
}

/// The block that stands for a cycle.
pub fn header_of(extracted: &Extracted<'_>, function: FunctionId, cycle: &Cycle) -> BlockId {
    match cycle {
        Cycle::Loop(id) => extracted.program.functions[function.0 as usize].loops[id.0 as usize].header,
        Cycle::Irreducible(blocks) => blocks.first().copied().unwrap_or(BlockId(0)),
    }
}
