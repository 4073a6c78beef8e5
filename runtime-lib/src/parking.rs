//! Queues of waiting threads, by object: who waits on a condition variable or at a barrier, in the order of
//! their arrival, so that which signal woke which waiter is known and not guessed.
//!
//! A waiter's node lives on its own stack. Buckets are hashed by object; a bucket's lock also orders the events
//! of its objects. A node may be gone as soon as its waiter is woken: who wakes takes what it needs first.

use crate::lock::Lock;
use crate::threads::Thread;
use core::cell::{Cell, UnsafeCell};
use core::ptr::null;

const BUCKETS: usize = 256;

/// Something that waits.
pub struct Node {
    object: usize,
    /// Whose it is.
    thread: *const Thread,
    next: Cell<*const Node>,
    queued: Cell<bool>,
    /// The clock of the wait's begin.
    pub begun: Cell<u64>,
    /// The clock of the event that took it from the queue.
    pub waker: Cell<u64>,
}

impl Node {
    /// Of a thread that waits on an object, not queued.
    pub fn new(object: usize, thread: *const Thread) -> Node {
        Node {
            object,
            thread,
            next: Cell::new(null()),
            queued: Cell::new(false),
            begun: Cell::new(0),
            waker: Cell::new(0),
        }
    }

    /// What it waits on.
    pub fn object(&self) -> usize {
        self.object
    }

    /// Who waits.
    pub fn thread(&self) -> Option<&Thread> {
        // SAFETY: descriptors are never unmapped; null in tests.
        unsafe { self.thread.as_ref() }
    }

    /// Whether it is in a queue; under its bucket's lock.
    pub fn is_queued(&self) -> bool {
        self.queued.get()
    }
}

struct Queue {
    first: *const Node,
    last: *const Node,
}

/// The queues of the objects with one hash.
#[repr(align(64))]
pub struct Bucket {
    lock: Lock,
    queue: UnsafeCell<Queue>,
}

// SAFETY: the queue is only touched under the lock.
unsafe impl Sync for Bucket {}

static TABLE: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];

/// The bucket of an object.
pub fn bucket(object: usize) -> &'static Bucket {
    &TABLE[((object >> 4) ^ (object >> 12)) % BUCKETS]
}

/// Nodes taken from a queue, first come first.
pub struct Taken(*const Node);

impl Bucket {
    /// One without waiters.
    pub const fn new() -> Bucket {
        Bucket { lock: Lock::new(), queue: UnsafeCell::new(Queue { first: null(), last: null() }) }
    }

    /// In a forked child: nobody waits.
    pub fn reset(&self) {
        self.lock.reset();
        // SAFETY: one thread.
        unsafe { *self.queue.get() = Queue { first: null(), last: null() } };
    }

    /// Runs `body` with the queues, alone.
    pub fn with<R>(&self, body: impl FnOnce(&mut Queues) -> R) -> R {
        self.lock.acquire();
        // SAFETY: under the lock.
        let result = body(&mut Queues(unsafe { &mut *self.queue.get() }));
        self.lock.release();
        result
    }
}

/// The queues of a bucket, under its lock. Nodes in them are live: their waiters wait, or dequeue them first.
pub struct Queues<'a>(&'a mut Queue);

impl Queues<'_> {
    /// Adds a node at the end.
    ///
    /// # Safety
    /// The node stays where it is until it is no longer queued.
    pub unsafe fn push(&mut self, node: &Node) {
        node.next.set(null());
        node.queued.set(true);
        if self.0.first.is_null() {
            self.0.first = node;
        } else {
            // SAFETY: queued, so live.
            unsafe { (*self.0.last).next.set(node) };
        }
        self.0.last = node;
    }

    /// Takes up to `most` nodes of an object.
    pub fn take(&mut self, object: usize, most: usize) -> Taken {
        self.take_begun_before(object, most, u64::MAX)
    }

    /// Takes up to `most` nodes of an object that began to wait before a clock.
    pub fn take_begun_before(&mut self, object: usize, most: usize, clock: u64) -> Taken {
        let (mut taken_first, mut taken_last): (*const Node, *const Node) = (null(), null());
        let mut count = 0;
        let mut before: *const Node = null();
        let mut at = self.0.first;
        while !at.is_null() && count < most {
            // SAFETY: queued, so live.
            let node = unsafe { &*at };
            let next = node.next.get();
            if node.object == object && node.begun.get() < clock {
                self.unlink(before, node);
                if taken_first.is_null() {
                    taken_first = node;
                } else {
                    // SAFETY: taken and not woken yet, so live.
                    unsafe { (*taken_last).next.set(node) };
                }
                taken_last = node;
                count += 1;
            } else {
                before = at;
            }
            at = next;
        }
        Taken(taken_first)
    }

    /// How many nodes of an object are queued, up to `most`.
    pub fn count(&self, object: usize, most: usize) -> usize {
        let (mut at, mut count) = (self.0.first, 0);
        while !at.is_null() && count < most {
            // SAFETY: queued, so live.
            let node = unsafe { &*at };
            count += usize::from(node.object == object);
            at = node.next.get();
        }
        count
    }

    /// Takes this node out; false if somebody else has taken it.
    pub fn remove(&mut self, node: &Node) -> bool {
        if !node.queued.get() {
            return false;
        }
        let mut before: *const Node = null();
        let mut at = self.0.first;
        while !core::ptr::eq(at, node) {
            before = at;
            // SAFETY: the node is queued, so the walk meets only live nodes, and ends.
            at = unsafe { (*at).next.get() };
        }
        self.unlink(before, node);
        true
    }

    fn unlink(&mut self, before: *const Node, node: &Node) {
        let next = node.next.get();
        if before.is_null() {
            self.0.first = next;
        } else {
            // SAFETY: queued, so live.
            unsafe { (*before).next.set(next) };
        }
        if next.is_null() {
            self.0.last = before;
        }
        node.next.set(null());
        node.queued.set(false);
    }
}

impl Taken {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    /// Each node in turn. `visit` may wake it, after which it is not touched.
    pub fn for_each(&self, mut visit: impl FnMut(&Node)) {
        let mut at = self.0;
        while !at.is_null() {
            // SAFETY: taken and not woken yet, so live.
            let node = unsafe { &*at };
            at = node.next.get();
            visit(node);
        }
    }
}

/// In a forked child: nobody waits.
pub fn reset() {
    TABLE.iter().for_each(Bucket::reset);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(taken: &Taken) -> Vec<*const Node> {
        let mut nodes = Vec::new();
        taken.for_each(|node| nodes.push(node as *const Node));
        nodes
    }

    #[test]
    fn first_come_first_and_objects_apart() {
        // Own bucket: the tests of other modules may use the table.
        let mut queue = Queue { first: null(), last: null() };
        let mut queues = Queues(&mut queue);
        let nodes: Vec<Node> = [1, 2, 1, 1, 2].iter().map(|&object| Node::new(object, null())).collect();
        // SAFETY: the vector does not move.
        nodes.iter().for_each(|node| unsafe { queues.push(node) });
        assert_eq!(queues.count(1, 9), 3);
        assert_eq!(addresses(&queues.take(1, 1)), [&nodes[0] as *const Node]);
        assert!(queues.remove(&nodes[2]));
        assert!(!queues.remove(&nodes[2]));
        assert_eq!(addresses(&queues.take(2, usize::MAX)), [&nodes[1] as *const _, &nodes[4] as *const _]);
        assert_eq!(addresses(&queues.take(1, usize::MAX)), [&nodes[3] as *const Node]);
        assert!(queues.take(1, usize::MAX).is_empty());
        // SAFETY: as above.
        unsafe { queues.push(&nodes[0]) };
        assert_eq!(queues.count(1, 9), 1);
    }
}
