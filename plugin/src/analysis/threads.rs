//! Which functions may be a thread's: they get an entry and exits.
//!
//! - what is passed to `pthread_create` or `thrd_create`, whatever its type;
//! - `std::thread::_State_impl<...>::_M_run`, which libstdc++'s own thread function calls;
//! - every function with a thread function's type whose address is data: it may reach a `pthread_create` through a
//!   structure, a pool, another file;
//! - every external function of pthread's own type, ptr (ptr), that calls anything: another file may pass it. (A
//!   function that calls nothing is more likely a getter; as a thread's it has an entry without a site.)
//!
//! Too many is harmless: the runtime counts an entry only where a thread begins. The copy of an inline function in
//! a file that does not take its address has no entry; if the linker keeps that copy, the entry has no site.

use crate::analysis::calls::{Body, Calls, Meaning};
use crate::ir::{Form, Function, FunctionFacts, Target};
use covsched_core::hooks::{Effect, Op, CXX_HOOKS, HOOKS};
use std::collections::HashSet;

/// What a function is to a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The program's `main`.
    Main,
    /// A thread may start here.
    Thread,
    /// Neither.
    None,
}

/// The functions that this module passes to a thread-creating call.
pub fn passed_to_create<'m>(calls: &Calls<'m>) -> HashSet<Function<'m>> {
    let mut found = HashSet::new();
    for body in calls.bodies() {
        for call in &body.calls {
            if let Meaning::True(hook) = calls.meaning(call) {
                if let Some(argument) = start_argument(hook.op).filter(|_| !hook.takes_original()) {
                    found.extend(call.inst.functions_behind(argument));
                }
            }
        }
    }
    found
}

/// Which argument of a thread-creating call is the thread's function.
fn start_argument(op: Op) -> Option<usize> {
    match op {
        Op::pthread_create => Some(2),
        Op::thrd_create => Some(1),
        _ => {
            debug_assert!(op.effect() != Effect::Create);
            None
        }
    }
}

/// Whether a function or hook with this name starts a thread in the function that it gets as this argument.
pub fn starts_thread(linkage_name: &str, argument: usize) -> bool {
    let mut hooks = HOOKS.iter().filter(|hook| hook.op.effect() == Effect::Create);
    hooks.any(|hook| {
        (hook.replaces == linkage_name || hook.symbol == linkage_name)
            && start_argument(hook.op) == Some(argument)
    })
}

/// Whether a function of this name starts a thread: the argument that is the thread's function, and that function's
/// type as loom's tables have it. `Some(None)`: of libstdc++, which calls [`is_std_thread_run`].
pub fn start_argument_of(linkage_name: &str) -> Option<Option<(usize, &'static str)>> {
    let mut hooks = HOOKS.iter().chain(CXX_HOOKS).filter(|hook| hook.op.effect() == Effect::Create);
    let hook = hooks.find(|hook| hook.replaces == linkage_name)?;
    let shape = if hook.op == Op::thrd_create { "i32(ptr,)" } else { "ptr(ptr,)" };
    Some(start_argument(hook.op).filter(|_| !hook.takes_original()).map(|argument| (argument, shape)))
}

/// Whether a function of this name, or the hook for it, creates threads or waits for their end.
pub fn creates_or_joins(linkage_name: &str) -> bool {
    let mut hooks = HOOKS
        .iter()
        .chain(CXX_HOOKS)
        .filter(|hook| matches!(hook.op.effect(), Effect::Create | Effect::Join | Effect::TryJoin));
    hooks.any(|hook| hook.replaces == linkage_name || hook.symbol == linkage_name)
}

/// What a defined function is to a thread.
pub fn role<'m>(body: &Body<'m>, passed: &HashSet<Function<'m>>) -> Role {
    let facts = &body.facts;
    if facts.name == "main" && !facts.internal {
        return Role::Main;
    }
    let is_thread = passed.contains(&facts.function)
        || is_std_thread_run(&facts.name)
        || is_shared_thread_function(facts, body)
        || (facts.is_thread_like() && facts.function.address_escapes());
    if is_thread {
        Role::Thread
    } else {
        Role::None
    }
}

/// What libstdc++'s own thread function calls.
pub fn is_std_thread_run(name: &str) -> bool {
    covsched_core::loom::table::is_std_thread_run(name)
}

fn is_shared_thread_function(facts: &FunctionFacts<'_>, body: &Body<'_>) -> bool {
    // A C++ thread function takes a void pointer; most other functions of this type are members that take `this`.
    let fits_by_name = !facts.name.starts_with("_Z") || facts.name.ends_with("Pv");
    let calls_something =
        body.calls.iter().any(|call| call.form != Form::Return && call.target != Target::Asm);
    facts.is_ptr_of_ptr() && !facts.internal && !facts.is_declared() && fits_by_name && calls_something
}
