//! Makes the [`Program`] of a module: which instructions synchronize, call, or mark, in which block.
//!
//! What a call may come to (the first that fits):
//! - a function of the hook table that the module does not define, or its hook: it synchronizes. `pthread_once` may
//!   also run its routine;
//! - a function of the program: that function. In the open world (a unit compiled alone) the linker may take another
//!   unit's copy of an inline function, which does the same but may have its markers elsewhere: not certain. A body
//!   that may be replaced by one that does something else (`weak`) is unknown, too;
//! - a library function that never synchronizes by core's table: nothing;
//! - another function that is not defined here: in the open world, unknown code; in a whole program, a library that
//!   may run the functions given to it, or, if none is seen, any whose address is taken;
//! - through a pointer: every function whose address is taken and that has the type of the call, as C demands; in the
//!   open world unknown code, too. A function that is only ever given to `pthread_create` is not called through other
//!   pointers;
//! - by `llvm.coro.resume` or `llvm.coro.destroy`: every coroutine of the module, somewhere in its middle, and in the
//!   open world unknown code.
//!
//! In a module that is lowered already, the tests around markers are taken to lead to them, and those at a function's
//! entry to its recorded version: epochs are there when they do. What never runs then has no steps.
//!
//! Blocks that cannot be reached, also those behind a call that never returns, have no steps and no successors.
//!
//! Limits: signal handlers, exit handlers and destructors of thread-local objects are called by nobody here.

use super::graph::components;
use super::place::Hints;
use super::program::{
    Action, Block, BlockId, Flow, FunctionId, Irreducible, Leave, Loop, LoopId, Program, Step,
};
use crate::analysis::calls::{Body, Calls, EPOCH_MARKERS};
use crate::analysis::threads::is_std_thread_run;
use crate::ir::flow::{End, FlowFacts, Place};
use crate::ir::{CallFacts, Form, Function, FunctionFacts, Inst, Module, Target, Version};
use crate::parameters::EpochOptions;
use crate::report::limits::Limit;
use covsched_core::hooks::{Effect, Op, CXX_HOOKS, HOOKS, MARKERS};
use covsched_core::{library, SiteId};
use std::collections::HashMap;
use std::rc::Rc;

/// What changing a function needs and deciding does not.
pub struct Details<'m> {
    /// What the function is.
    pub facts: FunctionFacts<'m>,
    /// Where a call can be put in each block, if anywhere.
    pub starts: Vec<Option<Inst<'m>>>,
    /// Where each loop starts in the source.
    pub places: Vec<Option<Place<'m>>>,
    /// What placing must know.
    pub hints: Hints,
    /// Its calls, in order.
    pub calls: Vec<CallFacts<'m>>,
}

/// A module's program and what belongs to each of its functions.
pub struct Extracted<'m> {
    /// The program.
    pub program: Program<'m>,
    /// As many as the program has functions.
    pub details: Vec<Details<'m>>,
    /// The names of functions that the linker finds elsewhere.
    pub undefined: HashMap<Function<'m>, String>,
}

impl<'m> Program<'m> {
    /// The program of a module.
    pub fn of(module: Module<'m>, options: EpochOptions) -> Self {
        Extracted::of(module, options).program
    }
}

impl<'m> Extracted<'m> {
    /// Looks at the whole module.
    pub fn of(module: Module<'m>, options: EpochOptions) -> Self {
        let calls = Calls::of(module);
        let mut actions = Actions::new(&calls, options.whole_program);
        let undefined = calls.bodies().iter().filter(|body| body.facts.is_declared());
        let mut extracted = Extracted {
            program: Program::default(),
            details: Vec::new(),
            undefined: undefined.map(|body| (body.facts.function, body.facts.name.clone())).collect(),
        };
        for body in calls.bodies().iter().filter(|body| body.facts.has_body()) {
            let facts = body.facts.function.flow();
            let (flow, kept, parts) = flow_of(body, &facts, &mut actions);
            extracted.program.functions.push(flow);
            extracted.details.push(Details {
                facts: body.facts.clone(),
                starts: facts.blocks.iter().map(|block| block.start).collect(),
                places: kept.iter().map(|&number| facts.loops[number].place).collect(),
                hints: Hints {
                    unmarkable: unmarkable(&body.facts),
                    waits_for_memory: kept
                        .iter()
                        .map(|&number| facts.loops[number].waits_for_memory)
                        .collect(),
                    irreducible_waits: parts
                        .iter()
                        .map(|&number| facts.irreducible[number].waits_for_memory)
                        .collect(),
                    returns_twice: actions.may_jump_back(body),
                },
                calls: body.calls.clone(),
            });
        }
        extracted
    }
}

/// What calls do.
struct Actions<'c, 'm> {
    calls: &'c Calls<'m>,
    whole_program: bool,
    ids: HashMap<Function<'m>, FunctionId>,
    ops: HashMap<&'static str, Op>,
    /// Functions that a pointer may reach; those without a body only if they may synchronize.
    taken: Vec<(Function<'m>, Option<FunctionId>)>,
    /// Library functions whose address is taken and that never synchronize.
    taken_harmless: Vec<Function<'m>>,
    by_shape: HashMap<usize, Action>,
    /// All coroutines.
    coroutines: Rc<[FunctionId]>,
}

impl<'c, 'm> Actions<'c, 'm> {
    fn new(calls: &'c Calls<'m>, whole_program: bool) -> Self {
        let ids: HashMap<Function<'m>, FunctionId> = calls
            .bodies()
            .iter()
            .filter(|body| body.facts.has_body())
            .zip(0..)
            .map(|(body, number)| (body.facts.function, FunctionId(number)))
            .collect();
        let ops = HOOKS
            .iter()
            .chain(CXX_HOOKS)
            .flat_map(|hook| [(hook.replaces, hook.op), (hook.symbol, hook.op)])
            .collect();
        let coroutines = calls.bodies().iter().filter(|body| body.facts.is_coroutine());
        let mut actions = Actions {
            coroutines: coroutines.filter_map(|body| ids.get(&body.facts.function).copied()).collect(),
            calls,
            whole_program,
            ids,
            ops,
            taken: Vec::new(),
            taken_harmless: Vec::new(),
            by_shape: HashMap::new(),
        };
        for body in calls.bodies() {
            actions.note_address(&body.facts);
        }
        actions
    }

    fn note_address(&mut self, facts: &FunctionFacts<'m>) {
        let is_own = facts.is_intrinsic() || (facts.is_declared() && is_marker(&facts.name));
        if is_own || is_std_thread_run(&facts.name) || !facts.function.address_is_taken() {
            return;
        }
        let id = self.ids.get(&facts.function).copied();
        if id.is_none() && library::never_synchronizes(&facts.name) {
            self.taken_harmless.push(facts.function);
        } else {
            self.taken.push((facts.function, id));
        }
    }

    /// What a call does, in order; nothing if it is harmless.
    fn of(&mut self, call: &CallFacts<'m>) -> Vec<Action> {
        if call.form == Form::Return || call.target == Target::Asm {
            return Vec::new();
        }
        let Some(function) = call.callee else { return self.through_pointer(call).into_iter().collect() };
        let Some(body) = self.calls.body(function) else { return Vec::new() };
        let facts = &body.facts;
        if facts.is_declared() {
            if EPOCH_MARKERS.contains(&facts.name.as_str()) {
                return vec![Action::Marker(SiteId(call.inst.constant_argument(0).unwrap_or_default()))];
            }
            if let Some(&op) = self.ops.get(facts.name.as_str()) {
                let routine = if op.effect() == Effect::RunOnce { self.routine(call) } else { None };
                return [Action::Synchronizes(op)].into_iter().chain(routine).collect();
            }
            if is_marker(&facts.name) || library::never_synchronizes(&facts.name) {
                return Vec::new();
            }
        }
        if call.cannot_synchronize || facts.is_intrinsic() {
            return Vec::new();
        }
        match self.ids.get(&function) {
            Some(&id) => vec![self.of_defined(facts, id)],
            None => self.of_library(call).into_iter().collect(),
        }
    }

    /// Whether `longjmp` may lead into the function. `pthread_cleanup_push` in C is a `setjmp` that only the end of the
    /// thread comes back to.
    fn may_jump_back(&self, body: &Body<'m>) -> bool {
        let name = |call: &CallFacts<'m>| {
            let callee = call.callee.and_then(|callee| self.calls.body(callee));
            callee.map_or("", |callee| callee.facts.name.as_str())
        };
        let cleans_up = body.calls.iter().any(|call| name(call) == "__pthread_register_cancel");
        let mut twice = body.calls.iter().filter(|call| call.returns_twice);
        twice.any(|call| !cleans_up || name(call) != "__sigsetjmp")
    }

    fn of_defined(&self, facts: &FunctionFacts<'m>, id: FunctionId) -> Action {
        let functions = [id].into();
        if facts.is_declared() {
            // Here to be inlined: the library has the same function, without markers.
            return Action::Calls { functions, unknown: false, certain: false };
        }
        Action::Calls {
            functions,
            unknown: facts.is_interposable() && !self.whole_program,
            certain: facts.is_exact() || self.whole_program,
        }
    }

    /// A call of something outside of the program that is not known to be harmless.
    fn of_library(&self, call: &CallFacts<'m>) -> Option<Action> {
        let mut functions = self.given(call, 0..call.inst.argument_count());
        if functions.is_empty() && self.whole_program {
            functions = self.taken.iter().filter_map(|&(_, id)| id).collect();
        }
        let unknown = !self.whole_program;
        (unknown || !functions.is_empty()).then(|| Action::Calls {
            functions: functions.into(),
            unknown,
            certain: false,
        })
    }

    /// What `pthread_once` may run.
    fn routine(&mut self, call: &CallFacts<'m>) -> Option<Action> {
        let mut functions = self.given(call, 1..2);
        let is_seen = !functions.is_empty();
        if !is_seen {
            functions = self.taken.iter().filter_map(|&(_, id)| id).collect();
        }
        let unknown = !is_seen && !self.whole_program;
        (unknown || !functions.is_empty()).then(|| Action::Calls {
            functions: functions.into(),
            unknown,
            certain: false,
        })
    }

    /// The program's functions among a call's arguments.
    fn given(&self, call: &CallFacts<'m>, arguments: std::ops::Range<usize>) -> Vec<FunctionId> {
        let mut functions: Vec<FunctionId> = arguments
            .flat_map(|argument| call.inst.functions_behind(argument))
            .filter_map(|function| self.ids.get(&function).copied())
            .collect();
        functions.sort_unstable();
        functions.dedup();
        functions
    }

    /// Going on with a coroutine, which may be anywhere in it: not certain to pass what it passes from its start.
    fn of_resume(&self) -> Option<Action> {
        let (functions, unknown) = (self.coroutines.clone(), !self.whole_program);
        (unknown || !functions.is_empty()).then_some(Action::Calls { functions, unknown, certain: false })
    }

    fn through_pointer(&mut self, call: &CallFacts<'m>) -> Option<Action> {
        if call.cannot_synchronize {
            return None;
        }
        let (taken, harmless, whole_program) = (&self.taken, &self.taken_harmless, self.whole_program);
        let action = self.by_shape.entry(call.inst.call_shape()).or_insert_with(|| {
            let reached: Vec<Option<FunctionId>> = taken
                .iter()
                .filter(|&&(function, _)| call.inst.may_reach(function))
                .map(|&(_, id)| id)
                .collect();
            Action::Calls {
                unknown: !whole_program || reached.contains(&None),
                certain: !harmless.iter().any(|&function| call.inst.may_reach(function)),
                functions: reached.into_iter().flatten().collect(),
            }
        });
        let is_nothing =
            matches!(action, Action::Calls { functions, unknown: false, .. } if functions.is_empty());
        (!is_nothing).then(|| action.clone())
    }
}

fn is_marker(name: &str) -> bool {
    MARKERS.iter().any(|marker| marker.symbol == name)
}

fn ids(numbers: &[u32]) -> Vec<BlockId> {
    numbers.iter().copied().map(BlockId).collect()
}

/// Why no marker can be put into a function.
fn unmarkable(facts: &FunctionFacts<'_>) -> Option<Limit> {
    match () {
        () if facts.is_naked() => Some(Limit::EpochNaked),
        () if facts.has_funclets() => Some(Limit::EpochFunclets),
        () if facts.is_coroutine() => Some(Limit::EpochCoroutine),
        () => None,
    }
}

/// A function's flow, which of LLVM's loops are still loops in it, and of which of its cycles the others are.
fn flow_of<'m>(
    body: &Body<'m>,
    facts: &FlowFacts<'m>,
    actions: &mut Actions<'_, 'm>,
) -> (Flow<'m>, Vec<usize>, Vec<usize>) {
    let calls: HashMap<Inst<'m>, &CallFacts<'m>> = body.calls.iter().map(|call| (call.inst, call)).collect();
    let mut blocks: Vec<Block<'m>> = Vec::with_capacity(facts.blocks.len());
    for block in &facts.blocks {
        let (steps, stops) = steps_of(&block.calls, &calls, actions);
        let leaves = match block.end {
            End::Returns => Some(Leave::Returns),
            End::Unwinds => Some(Leave::Unwinds),
            End::GoesOn => None,
        };
        let mut next = ids(&block.next);
        // A switch may name a block several times.
        let mut seen = std::collections::HashSet::new();
        next.retain(|&block| seen.insert(block));
        if stops {
            next.clear();
        }
        blocks.push(Block { steps, next, leaves: leaves.filter(|_| !stops) });
    }
    join_guards(facts, &mut blocks);
    let never_runs = body.facts.version() == Some(Version::Plain);
    let reached = if never_runs { vec![false; blocks.len()] } else { reachable(&blocks) };
    for (block, _) in blocks.iter_mut().zip(&reached).filter(|(_, &reached)| !reached) {
        *block = Block::default();
    }
    let (loops, kept) = loops_of(facts, &blocks);
    let (mut irreducible, mut parts) = (Vec::new(), Vec::new());
    for (number, part) in facts.irreducible.iter().enumerate() {
        for blocks in cycles_in(&part.blocks, &blocks) {
            irreducible.push(Irreducible { blocks, may_go_on: part.may_go_on });
            parts.push(number);
        }
    }
    let flow = Flow {
        function: Some(body.facts.function),
        name: body.facts.name.clone(),
        blocks,
        loops,
        irreducible,
    };
    (flow, kept, parts)
}

/// A block's steps, and whether control stops at the last of them.
fn steps_of<'m>(
    insts: &[Inst<'m>],
    calls: &HashMap<Inst<'m>, &CallFacts<'m>>,
    actions: &mut Actions<'_, 'm>,
) -> (Vec<Step<'m>>, bool) {
    let mut steps: Vec<Step<'m>> = Vec::new();
    for &inst in insts {
        let Some(call) = calls.get(&inst) else {
            if let (Some(form), Some(action)) = (inst.resumes_coroutine(), actions.of_resume()) {
                steps.push(Step { inst: Some(inst), action, is_invoke: form == Form::Invoke });
            }
            continue;
        };
        let is_invoke = call.form == Form::Invoke;
        let mut ends = call.never_returns;
        for action in actions.of(call) {
            if let Action::Synchronizes(op) = action {
                ends |= matches!(op.effect(), Effect::EndThread | Effect::EndProcess);
            }
            steps.push(Step { inst: Some(call.inst), action, is_invoke: false });
        }
        // Of several steps of one invoke, the last ends the block.
        if let Some(last) = steps.last_mut().filter(|step| step.inst == Some(call.inst)) {
            last.is_invoke = is_invoke;
        }
        // An invoke that never returns may still unwind; its normal successor is left to stand.
        if ends && !is_invoke {
            return (steps, true);
        }
    }
    (steps, false)
}

/// A guarded marker stands in a block of its own; its step goes back to where it was.
fn join_guards(facts: &FlowFacts<'_>, blocks: &mut [Block<'_>]) {
    if !facts.blocks.iter().any(|block| block.is_guard) {
        return;
    }
    let mut ways_in = vec![0; blocks.len()];
    blocks.iter().flat_map(|block| &block.next).for_each(|next| ways_in[next.0 as usize] += 1);
    for (number, block) in facts.blocks.iter().enumerate().filter(|(_, block)| block.is_guard) {
        let Some(&guarded) = block.next.first() else { continue };
        let ends_in_invoke = blocks[guarded as usize].steps.last().is_some_and(|step| step.is_invoke);
        if ways_in[guarded as usize] == 1 && !ends_in_invoke && guarded as usize != number {
            let steps = std::mem::take(&mut blocks[guarded as usize].steps);
            blocks[number].steps.extend(steps);
        }
    }
}

fn reachable(blocks: &[Block<'_>]) -> Vec<bool> {
    let mut reached = vec![false; blocks.len()];
    let mut work = vec![BlockId(0)];
    while let Some(BlockId(number)) = work.pop() {
        if !std::mem::replace(&mut reached[number as usize], true) {
            work.extend(&blocks[number as usize].next);
        }
    }
    reached
}

/// The loops that are left when control stops where it stops.
fn loops_of(facts: &FlowFacts<'_>, blocks: &[Block<'_>]) -> (Vec<Loop>, Vec<usize>) {
    let goes_back = |latch: u32, header: u32| blocks[latch as usize].next.contains(&BlockId(header));
    let mut loops: Vec<Loop> = Vec::new();
    let mut kept = Vec::new();
    let mut numbers: Vec<Option<LoopId>> = Vec::with_capacity(facts.loops.len());
    // Loops whose own header is gone hand what is inside of them to the loop around them.
    let mut inside: Vec<Vec<LoopId>> = Vec::with_capacity(facts.loops.len());
    for (number, natural) in facts.loops.iter().enumerate() {
        let inner: Vec<LoopId> = natural
            .inner
            .iter()
            .flat_map(|&inner| match numbers[inner as usize] {
                Some(id) => vec![id],
                None => inside[inner as usize].clone(),
            })
            .collect();
        let latches: Vec<BlockId> =
            ids(&natural.latches).into_iter().filter(|latch| goes_back(latch.0, natural.header)).collect();
        if latches.is_empty() {
            numbers.push(None);
            inside.push(inner);
            continue;
        }
        let id = LoopId(loops.len() as u32);
        for inner in inner {
            loops[inner.0 as usize].parent = Some(id);
        }
        loops.push(Loop {
            header: BlockId(natural.header),
            blocks: ids(&natural.blocks),
            latches,
            parent: None,
            may_go_on: natural.may_go_on,
        });
        kept.push(number);
        numbers.push(Some(id));
        inside.push(Vec::new());
    }
    (loops, kept)
}

/// The cycles that are left of one that LLVM found.
fn cycles_in(part: &[u32], blocks: &[Block<'_>]) -> Vec<Vec<BlockId>> {
    components(part.len(), |node| {
        let next = &blocks[part[node] as usize].next;
        part.iter()
            .enumerate()
            .filter(|(_, &other)| next.contains(&BlockId(other)))
            .map(|(at, _)| at)
            .collect()
    })
    .into_iter()
    .filter(|component| component.is_cycle)
    .map(|component| component.nodes.into_iter().map(|node| BlockId(part[node])).collect())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::complaints;

    const DECLARED: &str = "declare i32 @pthread_mutex_lock(ptr)\ndeclare i32 @covsched_pthread_mutex_unlock(ptr, i64)
        declare i32 @pthread_once(ptr, ptr)\ndeclare void @exit(i32)\ndeclare void @unknown()\ndeclare i32 @puts(ptr)
        declare void @covsched_epoch_marker(i64)\ndeclare i32 @personality(...)\n";

    /// What each function does, a line a block that does something: `f0: lock marker:7 -> 1,2 returns`.
    fn text(ir: &str, whole_program: bool) -> String {
        let mut text = String::new();
        let said = complaints(&format!("{DECLARED}{ir}"), |module| {
            let options = EpochOptions { whole_program, ..EpochOptions::default() };
            for flow in Program::of(module, options).functions {
                for (number, block) in flow.blocks.iter().enumerate() {
                    let mut line = format!("{}{number}:", flow.name);
                    for step in &block.steps {
                        line += &match &step.action {
                            Action::Synchronizes(op) => format!(" {}", op.name()),
                            Action::Marker(site) => format!(" marker:{}", site.0),
                            Action::Calls { functions, unknown, certain } => {
                                let numbers: Vec<String> =
                                    functions.iter().map(|id| id.0.to_string()).collect();
                                let unknown = if *unknown { "?" } else { "" };
                                let certain = if *certain { "" } else { "~" };
                                format!(" call({}{unknown}{certain})", numbers.join(","))
                            }
                        };
                        line += if step.is_invoke { "!" } else { "" };
                    }
                    let next: Vec<String> = block.next.iter().map(|id| id.0.to_string()).collect();
                    line += &format!(" -> {}", next.join(","));
                    line += &block.leaves.map_or(String::new(), |leave| format!(" {leave:?}"));
                    text += &(line + "\n");
                }
                for natural in &flow.loops {
                    text += &format!("loop {:?}\n", natural.blocks.iter().map(|id| id.0).collect::<Vec<_>>());
                }
                for part in &flow.irreducible {
                    text += &format!("cycle {:?}\n", part.blocks.iter().map(|id| id.0).collect::<Vec<_>>());
                }
            }
        });
        assert_eq!(said, [""; 0]);
        text
    }

    #[test]
    fn calls_and_hooks_mean_the_same_and_a_call_that_never_returns_ends_its_block() {
        let ir = "define void @f(ptr %m) {
            %a = call i32 @pthread_mutex_lock(ptr %m)
            call i32 @puts(ptr %m)
            call void @covsched_epoch_marker(i64 7)
            %b = call i32 @covsched_pthread_mutex_unlock(ptr %m, i64 1)
            br label %end
          end:
            call void @exit(i32 0)
            br label %end
          }";
        assert_eq!(
            text(ir, false),
            "f0: pthread_mutex_lock marker:7 pthread_mutex_unlock -> 1\nf1: exit -> \n"
        );
    }

    #[test]
    fn pointers_reach_what_fits() {
        let ir = "@table = global [2 x ptr] [ptr @a, ptr @b]
          define void @a(i32 %x) { ret void }
          define void @b(ptr %x) { ret void }
          define void @f(ptr %p) {
            call void %p(i32 1)
            call void @unknown()
            ret void
          }";
        assert!(text(ir, false).contains("f0: call(0?) call(?~) ->  Returns"), "{}", text(ir, false));
        assert!(text(ir, true).contains("f0: call(0) call(0,1~) ->  Returns"), "{}", text(ir, true));
    }

    #[test]
    fn a_copy_that_may_be_another_is_not_certain() {
        let ir = "define linkonce_odr void @inline() { ret void }
          define weak void @weak() { ret void }
          define void @f() {
            call void @inline()
            call void @weak()
            call void @f()
            ret void
          }";
        assert!(text(ir, false).contains("f0: call(0~) call(1?~) call(2) ->"), "{}", text(ir, false));
        assert!(text(ir, true).contains("f0: call(0) call(1) call(2) ->"), "{}", text(ir, true));
    }

    #[test]
    fn once_may_run_its_routine_and_an_invoke_ends_its_block() {
        let ir = "define void @routine() { ret void }
          define void @f(ptr %o) personality ptr @personality {
            %r = invoke i32 @pthread_once(ptr %o, ptr @routine) to label %on unwind label %lands
          on:
            ret void
          lands:
            %l = landingpad { ptr, i32 } cleanup
            resume { ptr, i32 } %l
          }";
        let expected = "f0: pthread_once call(0~)! -> 1,2\nf1: ->  Returns\nf2: ->  Unwinds\n";
        assert!(text(ir, false).ends_with(expected), "{}", text(ir, false));
    }

    #[test]
    fn loops_stand_after_those_inside_and_a_cycle_with_two_entries_is_none() {
        let ir = "define void @f(i1 %c) {
            br label %outer
          outer:
            br label %inner
          inner:
            br i1 %c, label %inner, label %latch
          latch:
            br i1 %c, label %outer, label %two
          two:
            br i1 %c, label %left, label %right
          left:
            br label %right
          right:
            br i1 %c, label %left, label %end
          end:
            ret void
          }";
        let text = text(ir, false);
        assert!(text.contains("loop [2]\nloop [1, 2, 3]\n"), "{text}");
        assert!(text.contains("cycle [5, 6]") || text.contains("cycle [6, 5]"), "{text}");
    }
}
