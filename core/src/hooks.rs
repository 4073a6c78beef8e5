//! The hook table: every call that synchronizes, and the hook that takes its place. Written once.
//!
//! The plugin declares the hooks from [`HOOKS`], [`CXX_HOOKS`] and [`MARKERS`]; the runtime defines them by
//! expanding the same rows with [`for_each_hook`], [`for_each_cxx_hook`] and [`for_each_marker`]; schedules
//! name operations by [`Op`]. A row that one side forgets does not compile.
//!
//! A row of the first table reads `name(parameters) -> result : class effect;`. Its hook is the C symbol
//! `covsched_<name>`, takes the parameters of the original and then the site (a 64-bit integer), and
//! returns what the original returns. `sem_open` is variadic in C: its hook always takes the two optional
//! arguments, 0 where the program gave none.
//!
//! A row of the second table is a function of libstdc++ that synchronizes out of line. Its hook takes the
//! parameters of the original, then the address of the original (so that the runtime need not link
//! libstdc++), then the site; it is recorded as the pthread call it stands for.
//!
//! Parameter words: `ptr` any pointer, `int` C int (also clockid_t), `uint` C unsigned, `ulong` C unsigned
//! long (also pthread_t), `site` a site id; results also `void` and `never`.

/// What kind of object an operation works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectClass {
    /// `pthread_mutex_t`, `mtx_t`, `std::mutex` and its kin.
    Mutex,
    /// `pthread_cond_t`, `cnd_t`, `std::condition_variable`.
    Cond,
    /// `pthread_barrier_t`.
    Barrier,
    /// `pthread_rwlock_t`, `std::shared_mutex`.
    Rwlock,
    /// `pthread_spinlock_t`.
    Spin,
    /// `sem_t`.
    Semaphore,
    /// `pthread_once_t`, `once_flag`, `std::once_flag`.
    Once,
    /// A thread: the operation has a target or child thread, no object.
    Thread,
    /// The process or the control flow of one thread: neither object nor target.
    Flow,
}

impl ObjectClass {
    /// The prefix of canonical object names (`m0`, `c3`); `None` where operations have no object.
    pub const fn prefix(self) -> Option<&'static str> {
        match self {
            ObjectClass::Mutex => Some("m"),
            ObjectClass::Cond => Some("c"),
            ObjectClass::Barrier => Some("b"),
            ObjectClass::Rwlock => Some("rw"),
            ObjectClass::Spin => Some("sp"),
            ObjectClass::Semaphore => Some("sem"),
            ObjectClass::Once => Some("o"),
            ObjectClass::Thread | ObjectClass::Flow => None,
        }
    }
}

/// What an operation does to its object. Together with the class this is all that the legality checker
/// and the happens-before relation need to know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Effect {
    /// The object begins to exist (again).
    Init,
    /// The object ceases to exist.
    Destroy,
    /// Blocks until held exclusively (mutex, spin lock, rwlock) or a unit is taken (semaphore).
    Acquire,
    /// As `Acquire`, but fails with EBUSY or EAGAIN instead of blocking.
    TryAcquire,
    /// As `Acquire`, but fails with ETIMEDOUT at a deadline.
    TimedAcquire,
    /// Blocks until held shared (rwlock).
    AcquireShared,
    /// As `AcquireShared`, without blocking.
    TryAcquireShared,
    /// As `AcquireShared`, with a deadline.
    TimedAcquireShared,
    /// Unlock, or `sem_post`.
    Release,
    /// Condition wait: begin releases the mutex, end holds it again.
    Wait,
    /// Condition wait with a deadline.
    TimedWait,
    /// Wakes one waiter, if there is one.
    Signal,
    /// Wakes all waiters.
    Broadcast,
    /// Barrier: begin arrives, end leaves.
    Arrive,
    /// The first caller runs the routine (begin, end); all others wait for its end (both).
    RunOnce,
    /// Makes a thread.
    Create,
    /// Waits for a thread's end.
    Join,
    /// As `Join`, without blocking or with a deadline.
    TryJoin,
    /// Gives up the right to join.
    Detach,
    /// Sends a thread a signal or a cancellation request.
    Notify,
    /// Ends the calling thread.
    EndThread,
    /// Ends the process.
    EndProcess,
    /// Looks at the object without changing it.
    Read,
    /// A thread function or main begins.
    Enter,
    /// A thread function or main returns, or the thread is cancelled.
    Leave,
    /// A call that may synchronize inside.
    Call,
    /// An epoch ends or begins: in a recording, never in a schedule's events.
    Mark,
}

/// Calls `$callback!` with every row of the hook table for C functions.
#[macro_export]
macro_rules! for_each_hook {
    ($callback:ident) => {
        $callback! {
            // Threads.
            pthread_create(thread: ptr, attr: ptr, start: ptr, arg: ptr) -> int : Thread Create;
            pthread_join(thread: ulong, value: ptr) -> int : Thread Join;
            pthread_tryjoin_np(thread: ulong, value: ptr) -> int : Thread TryJoin;
            pthread_timedjoin_np(thread: ulong, value: ptr, deadline: ptr) -> int : Thread TryJoin;
            pthread_clockjoin_np(thread: ulong, value: ptr, clock: int, deadline: ptr) -> int : Thread TryJoin;
            pthread_detach(thread: ulong) -> int : Thread Detach;
            pthread_kill(thread: ulong, signal: int) -> int : Thread Notify;
            pthread_cancel(thread: ulong) -> int : Thread Notify;
            pthread_exit(value: ptr) -> never : Flow EndThread;

            // Mutexes.
            pthread_mutex_init(mutex: ptr, attr: ptr) -> int : Mutex Init;
            pthread_mutex_destroy(mutex: ptr) -> int : Mutex Destroy;
            pthread_mutex_lock(mutex: ptr) -> int : Mutex Acquire;
            pthread_mutex_trylock(mutex: ptr) -> int : Mutex TryAcquire;
            pthread_mutex_timedlock(mutex: ptr, deadline: ptr) -> int : Mutex TimedAcquire;
            pthread_mutex_clocklock(mutex: ptr, clock: int, deadline: ptr) -> int : Mutex TimedAcquire;
            pthread_mutex_unlock(mutex: ptr) -> int : Mutex Release;

            // Condition variables.
            pthread_cond_init(cond: ptr, attr: ptr) -> int : Cond Init;
            pthread_cond_destroy(cond: ptr) -> int : Cond Destroy;
            pthread_cond_wait(cond: ptr, mutex: ptr) -> int : Cond Wait;
            pthread_cond_timedwait(cond: ptr, mutex: ptr, deadline: ptr) -> int : Cond TimedWait;
            pthread_cond_clockwait(cond: ptr, mutex: ptr, clock: int, deadline: ptr) -> int : Cond TimedWait;
            pthread_cond_signal(cond: ptr) -> int : Cond Signal;
            pthread_cond_broadcast(cond: ptr) -> int : Cond Broadcast;

            // Barriers.
            pthread_barrier_init(barrier: ptr, attr: ptr, count: uint) -> int : Barrier Init;
            pthread_barrier_destroy(barrier: ptr) -> int : Barrier Destroy;
            pthread_barrier_wait(barrier: ptr) -> int : Barrier Arrive;

            // Readers and writers.
            pthread_rwlock_init(rwlock: ptr, attr: ptr) -> int : Rwlock Init;
            pthread_rwlock_destroy(rwlock: ptr) -> int : Rwlock Destroy;
            pthread_rwlock_rdlock(rwlock: ptr) -> int : Rwlock AcquireShared;
            pthread_rwlock_tryrdlock(rwlock: ptr) -> int : Rwlock TryAcquireShared;
            pthread_rwlock_timedrdlock(rwlock: ptr, deadline: ptr) -> int : Rwlock TimedAcquireShared;
            pthread_rwlock_clockrdlock(rwlock: ptr, clock: int, deadline: ptr) -> int : Rwlock TimedAcquireShared;
            pthread_rwlock_wrlock(rwlock: ptr) -> int : Rwlock Acquire;
            pthread_rwlock_trywrlock(rwlock: ptr) -> int : Rwlock TryAcquire;
            pthread_rwlock_timedwrlock(rwlock: ptr, deadline: ptr) -> int : Rwlock TimedAcquire;
            pthread_rwlock_clockwrlock(rwlock: ptr, clock: int, deadline: ptr) -> int : Rwlock TimedAcquire;
            pthread_rwlock_unlock(rwlock: ptr) -> int : Rwlock Release;

            // Spin locks.
            pthread_spin_init(spin: ptr, shared: int) -> int : Spin Init;
            pthread_spin_destroy(spin: ptr) -> int : Spin Destroy;
            pthread_spin_lock(spin: ptr) -> int : Spin Acquire;
            pthread_spin_trylock(spin: ptr) -> int : Spin TryAcquire;
            pthread_spin_unlock(spin: ptr) -> int : Spin Release;

            // Semaphores. These return -1 and set errno; a schedule's result is that errno.
            sem_init(sem: ptr, shared: int, value: uint) -> int : Semaphore Init;
            sem_destroy(sem: ptr) -> int : Semaphore Destroy;
            sem_open(name: ptr, flags: int, mode: uint, value: uint) -> ptr : Semaphore Init;
            sem_close(sem: ptr) -> int : Semaphore Destroy;
            sem_wait(sem: ptr) -> int : Semaphore Acquire;
            sem_trywait(sem: ptr) -> int : Semaphore TryAcquire;
            sem_timedwait(sem: ptr, deadline: ptr) -> int : Semaphore TimedAcquire;
            sem_clockwait(sem: ptr, clock: int, deadline: ptr) -> int : Semaphore TimedAcquire;
            sem_post(sem: ptr) -> int : Semaphore Release;
            sem_getvalue(sem: ptr, value: ptr) -> int : Semaphore Read;

            // Once.
            pthread_once(once: ptr, routine: ptr) -> int : Once RunOnce;

            // C11. These return thrd_success and the like; a schedule's result is the errno that the
            // pthread call would have returned (0, EBUSY, ETIMEDOUT, ENOMEM, and EINVAL for thrd_error).
            thrd_create(thread: ptr, start: ptr, arg: ptr) -> int : Thread Create;
            thrd_join(thread: ulong, value: ptr) -> int : Thread Join;
            thrd_detach(thread: ulong) -> int : Thread Detach;
            thrd_exit(value: int) -> never : Flow EndThread;
            mtx_init(mutex: ptr, kind: int) -> int : Mutex Init;
            mtx_destroy(mutex: ptr) -> void : Mutex Destroy;
            mtx_lock(mutex: ptr) -> int : Mutex Acquire;
            mtx_trylock(mutex: ptr) -> int : Mutex TryAcquire;
            mtx_timedlock(mutex: ptr, deadline: ptr) -> int : Mutex TimedAcquire;
            mtx_unlock(mutex: ptr) -> int : Mutex Release;
            cnd_init(cond: ptr) -> int : Cond Init;
            cnd_destroy(cond: ptr) -> void : Cond Destroy;
            cnd_wait(cond: ptr, mutex: ptr) -> int : Cond Wait;
            cnd_timedwait(cond: ptr, mutex: ptr, deadline: ptr) -> int : Cond TimedWait;
            cnd_signal(cond: ptr) -> int : Cond Signal;
            cnd_broadcast(cond: ptr) -> int : Cond Broadcast;
            call_once(once: ptr, routine: ptr) -> void : Once RunOnce;

            // The end of the process, from any thread.
            exit(status: int) -> never : Flow EndProcess;
            _exit(status: int) -> never : Flow EndProcess;
            _Exit(status: int) -> never : Flow EndProcess;
            quick_exit(status: int) -> never : Flow EndProcess;
        }
    };
}

/// Calls `$callback!` with every row of the table for libstdc++'s out-of-line functions:
/// `"linkage name" hook(parameters) -> result = operation;`. `this` is the C++ object.
#[macro_export]
macro_rules! for_each_cxx_hook {
    ($callback:ident) => {
        $callback! {
            "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"
                std_thread_start(this: ptr, state: ptr, depend: ptr) -> void = pthread_create;
            "_ZNSt6thread4joinEv" std_thread_join(this: ptr) -> void = pthread_join;
            "_ZNSt6thread6detachEv" std_thread_detach(this: ptr) -> void = pthread_detach;
            "_ZNSt18condition_variableC1Ev" std_cond_construct(this: ptr) -> void = pthread_cond_init;
            "_ZNSt18condition_variableD1Ev" std_cond_destruct(this: ptr) -> void = pthread_cond_destroy;
            "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
                std_cond_wait(this: ptr, lock: ptr) -> void = pthread_cond_wait;
            "_ZNSt18condition_variable10notify_oneEv" std_cond_notify_one(this: ptr) -> void = pthread_cond_signal;
            "_ZNSt18condition_variable10notify_allEv" std_cond_notify_all(this: ptr) -> void = pthread_cond_broadcast;
        }
    };
}

/// Calls `$callback!` with every hook that the pass adds rather than puts in a call's place.
///
/// - `register`: from one constructor a linked object; the argument is a [`crate::site::Registration`].
/// - `main_enter`, `thread_enter`: at the start of main and of every function that may be a thread's. The
///   result is 1 if this call is the thread's outermost (the one that the thread was made for), else 0.
/// - `thread_exit`: before each return of such a function; `outermost` is what enter gave.
/// - `derived_enter`: before a call that may synchronize inside; gives the call-stack depth before it.
/// - `derived_leave`: after it, and wherever an exception or a longjmp lands; sets the depth back.
/// - `derived_depth`: the depth on entry, in functions that need it for landing pads.
/// - `epoch_marker`: in the header of a loop, or at a recursive call: an epoch may end here (Bergan 3.2.2).
/// - `epoch_spin`: likewise, in a loop that synchronizes with nobody but may wait for another thread by reading memory:
///   the runtime takes it for a marker when the thread has come to one very often in its epoch.
/// - `epoch_leave`: before a library call that may block: the thread leaves its epoch, so that others do not wait for
///   it. The result is 1 if it did, else 0.
/// - `epoch_enter`: after that call; `left` is what leave gave. Not called where the call is unwound: the thread is back
///   when its derived calls are fewer than at the leave, and until then for the length of each hook and marker.
/// - `not_covered`: in a program that was specialized for a schedule, where the schedule is left: ends the process.
///   `expected` is the synchronization that the schedule has next (0 where a value is), `text` says so (`OP at FILE:LINE (FUNCTION)`, a C
///   string; or `the value 2 at FILE:LINE (FUNCTION)`), `thread` is the thread's number in the schedule, -1 in code
///   that threads share.
/// - `claim_failed`: in a program that checks what its specialization concluded: a value, `seen`, is not the one that it
///   was `claimed` to be. `text` says which value, a C string. Ends the process: it is a bug of covsched.
#[macro_export]
macro_rules! for_each_marker {
    ($callback:ident) => {
        $callback! {
            register(registration: ptr) -> void;
            main_enter(site: site) -> int;
            thread_enter(site: site) -> int;
            thread_exit(outermost: int, site: site) -> void;
            derived_enter(site: site) -> int;
            derived_leave(depth: int) -> void;
            derived_depth() -> int;
            epoch_marker(site: site) -> void;
            epoch_spin(site: site) -> void;
            epoch_leave() -> int;
            epoch_enter(left: int) -> void;
            not_covered(expected: site, text: ptr, thread: int) -> never;
            claim_failed(seen: ulong, claimed: ulong, text: ptr) -> never;
        }
    };
}

/// A parameter's or result's type, in the words of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// Any pointer.
    Ptr,
    /// C int: 32 bits, sign-extended where the target's ABI extends.
    Int,
    /// C unsigned: 32 bits, zero-extended where the target's ABI extends.
    Uint,
    /// C unsigned long.
    Ulong,
    /// A site id: 64 bits.
    Site,
    /// No result.
    Void,
    /// Does not return.
    Never,
}

/// A C function that synchronizes, and its hook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hook {
    /// The linkage name of the function that the hook replaces.
    pub replaces: &'static str,
    /// The hook's linkage name.
    pub symbol: &'static str,
    /// The parameters of the original (see the module's head for what the hook takes after them).
    pub params: &'static [Word],
    /// The result.
    pub result: Word,
    /// What a schedule calls it.
    pub op: Op,
}

/// A hook that the pass adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marker {
    /// The hook's linkage name.
    pub symbol: &'static str,
    /// All its parameters.
    pub params: &'static [Word],
    /// The result.
    pub result: Word,
}

/// The word behind a table's lower-case name.
#[doc(hidden)]
#[macro_export]
macro_rules! hook_word {
    (ptr) => {
        $crate::hooks::Word::Ptr
    };
    (int) => {
        $crate::hooks::Word::Int
    };
    (uint) => {
        $crate::hooks::Word::Uint
    };
    (ulong) => {
        $crate::hooks::Word::Ulong
    };
    (site) => {
        $crate::hooks::Word::Site
    };
    (void) => {
        $crate::hooks::Word::Void
    };
    (never) => {
        $crate::hooks::Word::Never
    };
}

macro_rules! define_ops {
    ($($name:ident ( $($param:ident : $word:ident),* ) -> $result:ident : $class:ident $effect:ident;)*) => {
        /// An operation, named as C names the call.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(non_camel_case_types, missing_docs)]
        #[repr(u8)]
        pub enum Op {
            /// A thread function or main begins.
            entry,
            /// A thread function or main returns, or its thread is cancelled.
            leave,
            /// A call to a function that may synchronize.
            derived,
            /// A thread stops at an epoch marker, and its epoch is over. In a recording only: see
            /// [`crate::rawlog::Record::extra`].
            epoch_marker,
            /// All threads begin an epoch. In a recording only, and only with `epochs=barrier`.
            epoch_start,
            $($name,)*
        }

        impl Op {
            /// Every operation; an operation's index is its number in a recording.
            pub const ALL: &'static [Op] = &[
                Op::entry, Op::leave, Op::derived, Op::epoch_marker, Op::epoch_start, $(Op::$name,)*
            ];

            /// The C name of the call; `entry` and `return` for the two ends of a thread function; `call`
            /// for a derived synchronization, whose site knows the callee.
            pub const fn name(self) -> &'static str {
                match self {
                    Op::entry => "entry",
                    Op::leave => "return",
                    Op::derived => "call",
                    Op::epoch_marker => "epoch_marker",
                    Op::epoch_start => "epoch_start",
                    $(Op::$name => stringify!($name),)*
                }
            }

            /// What it works on.
            pub const fn class(self) -> ObjectClass {
                match self {
                    Op::entry | Op::leave | Op::derived | Op::epoch_marker | Op::epoch_start => ObjectClass::Flow,
                    $(Op::$name => ObjectClass::$class,)*
                }
            }

            /// What it does.
            pub const fn effect(self) -> Effect {
                match self {
                    Op::entry => Effect::Enter,
                    Op::leave => Effect::Leave,
                    Op::derived => Effect::Call,
                    Op::epoch_marker | Op::epoch_start => Effect::Mark,
                    $(Op::$name => Effect::$effect,)*
                }
            }
        }

        /// The hooks of C functions.
        pub const HOOKS: &[Hook] = &[$(Hook {
            replaces: stringify!($name),
            symbol: concat!("covsched_", stringify!($name)),
            params: &[$(hook_word!($word)),*],
            result: hook_word!($result),
            op: Op::$name,
        },)*];
    };
}
for_each_hook!(define_ops);

macro_rules! define_cxx_hooks {
    ($($linkage:literal $name:ident ( $($param:ident : $word:ident),* ) -> $result:ident = $op:ident;)*) => {
        /// The hooks of libstdc++'s functions.
        pub const CXX_HOOKS: &[Hook] = &[$(Hook {
            replaces: $linkage,
            symbol: concat!("covsched_", stringify!($name)),
            params: &[$(hook_word!($word)),*],
            result: hook_word!($result),
            op: Op::$op,
        },)*];
    };
}
for_each_cxx_hook!(define_cxx_hooks);

macro_rules! define_markers {
    ($($name:ident ( $($param:ident : $word:ident),* ) -> $result:ident;)*) => {
        /// The hooks that the pass adds.
        pub const MARKERS: &[Marker] = &[$(Marker {
            symbol: concat!("covsched_", stringify!($name)),
            params: &[$(hook_word!($word)),*],
            result: hook_word!($result),
        },)*];
    };
}
for_each_marker!(define_markers);

impl Op {
    /// The operation with this number in a recording.
    pub fn from_index(index: u8) -> Option<Op> {
        Op::ALL.get(usize::from(index)).copied()
    }

    /// The operation with this name in a schedule.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Whether a schedule has a begin and an end event for it. [`Effect::RunOnce`] has both for the caller
    /// that runs the routine and one event for the others.
    pub const fn has_two_moments(self) -> bool {
        matches!(self.effect(), Effect::Wait | Effect::TimedWait | Effect::Arrive)
    }
}

impl Hook {
    /// The hook for a call of this function, if it synchronizes.
    pub fn replacing(linkage_name: &str) -> Option<&'static Hook> {
        HOOKS.iter().chain(CXX_HOOKS).find(|hook| hook.replaces == linkage_name)
    }

    /// Whether the hook also takes the address of the original, before the site.
    pub fn takes_original(&self) -> bool {
        self.replaces != self.op.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_number_and_by_name() {
        for (index, &op) in Op::ALL.iter().enumerate() {
            assert_eq!(op as usize, index);
            assert_eq!(Op::from_index(index as u8), Some(op));
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
        assert_eq!(Op::from_index(Op::ALL.len() as u8), None);
        assert_eq!(Op::from_name("pthread_mutex"), None);
    }

    #[test]
    fn every_call_of_wus_list_has_a_hook() {
        let calls = "barrier_wait cond_broadcast cond_signal cond_timedwait cond_wait create exit join kill \
                     mutex_lock mutex_timedlock mutex_trylock mutex_unlock rwlock_rdlock rwlock_timedrdlock \
                     rwlock_timedwrlock rwlock_tryrdlock rwlock_trywrlock rwlock_unlock rwlock_wrlock \
                     spin_lock spin_trylock spin_unlock";
        for call in calls.split_whitespace() {
            let mut name = [0u8; 64];
            let text = ["pthread_", call];
            let mut at = 0;
            for part in text {
                name[at..at + part.len()].copy_from_slice(part.as_bytes());
                at += part.len();
            }
            let name = core::str::from_utf8(&name[..at]).unwrap();
            assert!(Hook::replacing(name).is_some(), "{name}");
        }
    }

    #[test]
    fn cxx_hooks_take_the_original_and_c_hooks_do_not() {
        assert!(CXX_HOOKS.iter().all(Hook::takes_original));
        assert!(!HOOKS.iter().any(Hook::takes_original));
    }
}
