//! From a plan to a module: declares the clones, fills them, and lets main and thread creations begin with them.

use super::body::BodyBuilder;
use super::data::{specialize_data, Facts};
use super::graph::{Act, Callee, FunctionId};
use super::ignored::Ignored;
use super::items::{keep, Does, KeptFrames};
use super::layers::{self, Role, Uncaught};
use super::plan::{plan, DoesNotFit, Plan};
use super::source::{Limit, Source};
use super::stats::Stats;
use super::words::Words;
use super::{fits, Options, SpecializeError};
use crate::instrument::instrument;
use crate::ir::clone::{self, Body, Escape, Guards, Identity, Made, Node, Start};
use crate::ir::{Function, Global, Module};
use crate::parameters::InstrumentOptions;
use covsched_core::hooks::{Effect, Op, CXX_HOOKS, HOOKS};
use covsched_core::schedule::frames::{FrameId, Frames};
use covsched_core::schedule::{Event, Schedule};
use covsched_core::site::SECTION;
use covsched_core::stamp::{self, schedule_hash, Stamp};
use covsched_core::{SiteId, ThreadId};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

/// Where objects point to in their vtable: behind the offset to the top and the type, in bytes.
const VTABLE_HEAD: u64 = 16;

/// The module flag of a specialized module.
pub const FLAG: &str = "covsched-specialized";

/// What was done.
#[derive(Clone, PartialEq, Debug)]
pub struct Specialized {
    /// Figures.
    pub stats: Stats,
    /// What is known of values.
    pub facts: Facts,
}

/// Specializes a program to a schedule that was verified. On an error the module's code is as it was, unless facts
/// contradict each other: then it is no program to be used.
pub fn specialize(
    module: Module<'_>,
    schedule: &Schedule,
    options: &Options,
) -> Result<Specialized, SpecializeError> {
    let begin = Instant::now();
    let mut stamp = Stamp {
        program: schedule.program_id,
        schedule: schedule_hash(schedule),
        order: options.order,
        control_only: options.control_only,
        unguarded: options.analysis_only,
        ignored: 0,
    };
    let tables = match fits::Tables::read(&module.section_data(SECTION))? {
        Some(tables) => tables,
        None => {
            // Plain bitcode: it gets the sites that the compiler would have given it.
            instrument(module, InstrumentOptions { no_bitcode: true, verbose: false });
            fits::Tables::read(&module.section_data(SECTION))?.ok_or(SpecializeError::NoSites)?
        }
    };
    if module.has_flag(FLAG) {
        // Once is enough: pipelines run passes again.
        let made = |section| module.section_data(section).concat();
        let left_out = Ignored::choose(&options.ignore_sites, &tables, schedule)?.synchronizations;
        stamp.ignored = left_out.len() as u32;
        let is_same = Stamp::read(&made(stamp::SECTION)) == Ok(stamp)
            && stamp::read_ignored(&made(stamp::IGNORED_SECTION), &stamp) == Ok(left_out);
        return if is_same {
            Ok(Specialized { stats: Stats::new(options.order), facts: Facts::default() })
        } else {
            Err(SpecializeError::Specialized)
        };
    }
    fits::check(schedule, &tables, options.program)?;
    // Of a module that was lowered, what a recording runs.
    module.join_versions();
    let defined: HashSet<String> =
        module.functions().into_iter().filter(|facts| facts.has_body()).map(|facts| facts.name).collect();
    if let Some(name) = options.data.summaries.all_names().find(|&name| !defined.contains(name)) {
        return Err(SpecializeError::NoFunction(name.to_owned()));
    }
    let left_out = Ignored::choose(&options.ignore_sites, &tables, schedule)?;
    let ignored = &left_out.sites;
    stamp.ignored = left_out.synchronizations.len() as u32;

    let frames = Frames::of(schedule);
    let entries = schedule.threads.iter().filter_map(|thread| thread.entry);
    let items = frames.frames.iter().filter_map(|frame| Some(frame.items.first()?.site));
    let mut source = Source::of(module, entries.chain(items), ignored);
    let kept = loop {
        let kept = keep(schedule, &frames, &source.program, &|site| source.function_of(site), &|site| {
            ignored.contains(&site)
        });
        if kept.misnamed.is_empty() {
            break kept;
        }
        source.program.leave_calls(&kept.misnamed);
    };
    let words = Words { schedule, kept: &kept, sites: &tables.sites };
    let plan = plan(schedule, &source.program, &kept).map_err(|misfit| refusal(&misfit, &source, &words))?;
    let not_covered = module.not_covered().ok_or(SpecializeError::SymbolTaken("covsched_not_covered"))?;

    let mut stats = Stats::new(options.order);
    let guards = if options.analysis_only { Guards::Assume } else { Guards::Trap };
    let mut driver = Driver {
        module,
        source: &source,
        kept: &kept,
        plan: &plan,
        words: &words,
        guards,
        not_covered,
        frames: Vec::new(),
        free: HashMap::new(),
        originals: HashMap::new(),
    };
    driver.declare();
    driver.fill(&mut stats);
    if let Some(root) = kept.roots.first().copied().flatten() {
        source.function(kept.frames[root].function).forward_to(driver.frames[root]);
    }
    count(&words, &source, &plan, ignored, &mut stats);
    drop_unused(source);
    leave_out(module, &left_out.synchronizations);
    module.add_section_data("covsched.stamp", stamp::SECTION, &stamp.to_bytes(), true);
    module.set_flag(FLAG);
    stats.seconds.control = begin.elapsed().as_secs_f64();
    let mut facts = Facts::default();
    if !options.control_only {
        // Nobody orders what is left out.
        let mut followed = schedule.clone();
        followed.leave_out(&left_out.synchronizations);
        facts = specialize_data(module, &followed, &kept, options, &mut stats)?;
    }
    Ok(Specialized { stats, facts })
}

/// Tells the hooks of ignored sites, and the program that has them what those are.
fn leave_out(module: Module<'_>, sites: &BTreeSet<SiteId>) {
    if sites.is_empty() {
        return;
    }
    let is_hook = |name: &str| HOOKS.iter().chain(CXX_HOOKS).any(|hook| hook.symbol == name);
    let functions = module.functions();
    let hooks = functions.iter().filter(|facts| is_hook(&facts.name));
    let hooks: HashSet<Function<'_>> = hooks.map(|facts| facts.function).collect();
    for facts in functions.iter().filter(|facts| facts.has_body()) {
        for call in facts.function.calls() {
            if !call.callee.is_some_and(|callee| hooks.contains(&callee)) {
                continue;
            }
            let Some(last) = call.inst.argument_count().checked_sub(1) else { continue };
            if call.inst.constant_argument(last).is_some_and(|site| sites.contains(&SiteId(site))) {
                call.inst.set_constant_argument(last, SiteId::IGNORED.0);
            }
        }
    }
    module.add_section_data("covsched.ignored", stamp::IGNORED_SECTION, &stamp::ignored_bytes(sites), true);
}

fn refusal(misfit: &DoesNotFit, source: &Source<'_>, words: &Words<'_>) -> SpecializeError {
    let function = source.program.function(misfit.function).name.clone();
    let name = crate::demangle(&function);
    let expected = match misfit.seq {
        Some(seq) => format!("{seq}: {} {}", misfit.thread, words.event(seq)),
        None => format!("the end of {name} in {}", misfit.thread),
    };
    let instead: Vec<String> = misfit.instead.iter().take(3).map(|&site| words.site(site)).collect();
    let instead = match instead.as_slice() {
        [] => format!("{name} comes to no synchronization there"),
        some => format!("{name} comes to {}", some.join(" or ")),
    };
    SpecializeError::DoesNotFit { what: format!("expected {expected}, but {instead}"), function }
}

struct Driver<'a, 'm> {
    module: Module<'m>,
    source: &'a Source<'m>,
    kept: &'a KeptFrames,
    plan: &'a Plan,
    words: &'a Words<'a>,
    guards: Guards,
    not_covered: Function<'m>,
    /// By kept frame.
    frames: Vec<Function<'m>>,
    free: HashMap<FunctionId, Function<'m>>,
    /// The vtables with a thread's function, by that.
    originals: HashMap<Function<'m>, Option<Global<'m>>>,
}

impl<'m> Driver<'_, 'm> {
    /// First of all: clones call each other.
    fn declare(&mut self) {
        for (frame, clone) in self.kept.frames.iter().zip(&self.plan.frames) {
            let name = &self.source.program.function(frame.function).name;
            let name = format!("{name}.{}.{}", frame.thread, frame.number);
            let identity = Identity::Frame { thread: frame.thread.0, frame: frame.number };
            let template = &self.source.templates[frame.function.index()];
            self.frames.push(template.declare_clone(&name, identity, clone.takes_flag));
        }
        for &function in self.plan.free.keys() {
            let name = format!("{}.free", self.source.program.function(function).name);
            let template = &self.source.templates[function.index()];
            self.free.insert(function, template.declare_clone(&name, Identity::Free, false));
        }
    }

    fn fill(&mut self, stats: &mut Stats) {
        for place in 0..self.kept.frames.len() {
            let (clone, function) = (&self.plan.frames[place], self.kept.frames[place].function);
            let words = self.words;
            let builder =
                BodyBuilder::new(&clone.product, move |layer| words.expected(place, layer as usize));
            let body = self.body(function, Some(place), builder, clone.takes_flag);
            add(stats, self.source.templates[function.index()].make_clone(self.frames[place], &body));
        }
        for (&function, product) in &self.plan.free {
            let (words, name) = (self.words, &self.source.program.function(function).name);
            let trap = move |_| words.nothing(name, &[]);
            let body = self.body(function, None, BodyBuilder::new(product, trap), false);
            add(stats, self.source.templates[function.index()].make_clone(self.free[&function], &body));
        }
    }

    fn body(
        &mut self,
        function: FunctionId,
        place: Option<usize>,
        mut builder: BodyBuilder<'_, 'm>,
        takes_flag: bool,
    ) -> Body<'m> {
        let nodes = builder.product().nodes.iter();
        let nodes = nodes.map(|node| self.node(function, place, node, &mut builder)).collect();
        builder.finish(nodes, takes_flag, self.guards, self.not_covered)
    }

    /// A node of a frame's clone, or of one without synchronization.
    fn node(
        &mut self,
        function: FunctionId,
        place: Option<usize>,
        node: &layers::Node,
        builder: &mut BodyBuilder<'_, 'm>,
    ) -> Node<'m> {
        let act = self.source.program.function(function).graph.piece(node.piece).act;
        let lands = self.source.templates[function.index()].pieces[node.piece.index()].lands;
        let must_stay = node.must_stay && lands;
        let mut made = Node {
            piece: clone::PieceId(node.piece.0),
            next: node.next.iter().map(|&target| builder.target(target)).collect(),
            callee: clone::Callee::Same,
            only_if: None,
            not_done: None,
            own_flag: node.passes_on,
            start: None,
            escape: self.escape(node, builder),
            lands: builder.lands(must_stay),
            item: None,
        };
        if place.is_none() {
            self.name_traps(function, node, builder, &mut made);
        }
        match (node.role, act) {
            (Role::Free, Act::Calls { callee: Callee::Function(callee), .. }) => {
                if let Some(&free) = self.free.get(&callee) {
                    made.callee = clone::Callee::Function(free);
                }
            }
            (Role::Item, _) => {
                let item = place.map(|place| self.kept.frames[place].items[node.layer as usize].does);
                made.item = item.map(|_| node.layer);
                match item {
                    Some(Does::Calls(callee)) => self.call(callee, node, builder, &mut made),
                    Some(Does::Creates(child)) => {
                        made.start = self.start(function, node, child, builder);
                    }
                    Some(Does::Synchronizes) | None => {}
                }
            }
            _ => {}
        }
        made
    }

    /// In a clone without synchronization traps say which one would come.
    fn name_traps(
        &self,
        function: FunctionId,
        node: &layers::Node,
        builder: &mut BodyBuilder<'_, 'm>,
        made: &mut Node<'m>,
    ) {
        let function = self.source.program.function(function);
        let next = &function.graph.piece(node.piece).next;
        for ((to, made), &piece) in node.next.iter().zip(&mut made.next).zip(next) {
            if matches!(to, layers::Target::Trap(_)) {
                let instead = function.graph.first_after(false, &[piece]);
                *made =
                    clone::Target::Trap(builder.trap_saying(self.words.nothing(&function.name, &instead)));
            }
        }
    }

    /// Exceptions that leave the function while the schedule expects more of it.
    fn escape(&self, node: &layers::Node, builder: &mut BodyBuilder<'_, 'm>) -> Option<Escape> {
        let done = node.layer + u32::from(node.role == Role::Item);
        let (layer, only_if_done) = match node.uncaught {
            Uncaught::No => return None,
            Uncaught::All => (done, None),
            Uncaught::IfDone => (done, Some(true)),
            Uncaught::IfNotDone => (node.layer, Some(false)),
        };
        Some(Escape { trap: builder.trap(layer), only_if_done })
    }

    fn call(
        &self,
        callee: FrameId,
        node: &layers::Node,
        builder: &mut BodyBuilder<'_, 'm>,
        made: &mut Node<'m>,
    ) {
        let Some(callee) = self.kept.places[callee.0 as usize] else { return };
        let clone = self.frames[callee];
        if let Some(otherwise) = node.otherwise {
            let original = self.source.function(self.kept.frames[callee].function);
            made.only_if = Some((original, builder.target(otherwise)));
        }
        if !self.plan.frames[callee].takes_flag {
            made.callee = clone::Callee::Function(clone);
            return;
        }
        made.callee = clone::Callee::WithFlag(clone);
        made.not_done = node.not_done.first().map(|&target| builder.target(target));
        if let (Some(&done), Some(&not_done)) = (node.next.get(1), node.not_done.get(1)) {
            // Where its exceptions land.
            made.next[1] = builder.landing(done, not_done, node.passes_on);
        }
    }

    /// How a call that creates a thread is told its clone.
    fn start(
        &mut self,
        function: FunctionId,
        node: &layers::Node,
        child: ThreadId,
        builder: &mut BodyBuilder<'_, 'm>,
    ) -> Option<Start<'m>> {
        let root = self.kept.roots[child.0 as usize]?;
        let original = self.source.function(self.kept.frames[root].function);
        let piece = &self.source.templates[function.index()].pieces[node.piece.index()];
        let hook = self.source.sites.hook(piece.call.as_ref()?)?;
        let otherwise = builder.trap(node.layer);
        let argument = |index| Start::Argument { index, original, function: self.frames[root], otherwise };
        match hook.op {
            _ if hook.takes_original() => self.vtable(child, root).map(|(original, vtable)| Start::Object {
                index: 1,
                original,
                vtable,
                offset: VTABLE_HEAD,
                otherwise,
            }),
            Op::pthread_create => Some(argument(2)),
            Op::thrd_create => Some(argument(1)),
            _ => None,
        }
    }
}

impl<'m> Driver<'_, 'm> {
    /// The vtable of a thread's state object, and the clone of it that has the thread's clone.
    fn vtable(&mut self, child: ThreadId, root: usize) -> Option<(Global<'m>, Global<'m>)> {
        let run = self.source.function(self.kept.frames[root].function);
        let original = *self.originals.entry(run).or_insert_with(|| self.module.vtable_with(run));
        let original = original?;
        let name = format!("{}.{child}", original.name());
        let clone = self.module.clone_vtable(original, &name, run, self.frames[root])?;
        Some((original, clone))
    }
}

fn add(stats: &mut Stats, made: Made) {
    stats.functions_cloned += 1;
    stats.blocks += made.nodes;
    stats.assumes += made.assumes;
    stats.guards += made.guards;
}

fn count(words: &Words<'_>, source: &Source<'_>, plan: &Plan, ignored: &HashSet<SiteId>, stats: &mut Stats) {
    let (schedule, kept) = (words.schedule, words.kept);
    let functions = source.program.functions();
    let mut in_clone: Vec<Vec<bool>> = vec![Vec::new(); functions.len()];
    let products =
        kept.frames.iter().zip(&plan.frames).map(|(frame, clone)| (frame.function, &clone.product));
    for (function, product) in
        products.chain(plan.free.iter().map(|(&function, product)| (function, product)))
    {
        let pieces = &mut in_clone[function.index()];
        pieces.resize(functions[function.index()].graph.pieces().len(), false);
        product.nodes.iter().for_each(|node| pieces[node.piece.index()] = true);
    }
    stats.blocks_removed = in_clone.iter().flatten().filter(|&&is_kept| !is_kept).count();
    stats.threads = kept.roots.iter().flatten().count();
    stats.segments = kept.frames.iter().map(|frame| frame.items.len() + 1).sum();
    stats.free_clones = plan.free.len();
    stats.uncertain_calls = plan.frames.iter().filter(|clone| clone.takes_flag).count();
    stats.synchronizations = kept.events;
    let counts = |event: &&Event| !matches!(event.op.effect(), Effect::Call | Effect::Enter);
    let events = schedule.events.iter().filter(counts);
    stats.ignored = events.clone().filter(|event| ignored.contains(&event.site)).count();
    stats.outside = events.count().saturating_sub(stats.ignored + kept.events);
    stats.calls_left = kept.left.values().sum();
    let left = kept.left.iter().map(|(&site, times)| {
        format!(
            "the call of {} runs as it is ({times} times in the schedule): what synchronized in it is not what it \
             calls by name, so the schedule does not say how it was called",
            words.site(site)
        )
    });
    stats.limits = source
        .limits
        .iter()
        .map(|Limit { function, location, reason }| {
            let name = source.sites.functions.get(function).map_or("", |facts| facts.name.as_str());
            let place = match location.file.as_str() {
                "" => String::new(),
                file => format!(" at {file}:{}", location.line),
            };
            format!("{}{place} runs as it is: {reason}", crate::demangle(name))
        })
        .chain(left)
        .collect();
}

/// Drops the originals that nothing uses any more and nobody else can.
fn drop_unused(source: Source<'_>) {
    let mut left: Vec<Function<'_>> = source.templates.iter().map(|template| template.function).collect();
    // Templates hold calls of the originals.
    drop(source);
    loop {
        let before = left.len();
        left.retain(|function| !function.drop_if_unused());
        if left.len() == before {
            return;
        }
    }
}
