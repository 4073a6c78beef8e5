//! One thread runs alone, and needs a lock of the program: who was paused with it is let go, and nobody else runs but in the owner's waits.

use crate::protocol::{self, Shared, ALONE, ALONE_GATHERS, ALONE_GO_ON, FENCES};
use crate::sync::{AtomicU32, AtomicU8, Ordering};
use crate::{come_back, model, request, resume, Futex, Worker, World, HOLDING, SAFE};
use loom::sync::{Arc, Mutex};
use loom::thread;

struct Scene {
    world: World,
    owner: Worker,
    holder: Worker,
    /// Held under control: whether the owner runs alone.
    control: Mutex<bool>,
    /// The holder's, at first.
    lock: AtomicU32,
    sleepers: Futex,
}

impl Scene {
    fn new(mode: u8) -> Arc<Scene> {
        Arc::new(Scene {
            world: World::new(mode),
            owner: Worker { is_owner: true, ..Worker::new() },
            holder: Worker::at(HOLDING),
            control: Mutex::new(false),
            lock: AtomicU32::new(1),
            sleepers: Futex::new(),
        })
    }

    /// As the owner: alone from when this returns.
    fn begin(&self, bits: u8) {
        {
            let mut is_alone = self.control.lock().unwrap();
            *is_alone = true;
            request(&self.world, ALONE | ALONE_GATHERS | bits);
        }
        self.gather();
    }

    fn is_pending(&self, bit: u8) -> bool {
        self.world.pending().load(Ordering::Relaxed) & bit != 0
    }

    /// Those who may hold something have as much time to give it back as the checker lets go by.
    fn gather(&self) {
        while self.is_pending(ALONE_GATHERS) {
            if self.is_pending(ALONE_GO_ON) {
                let _control = self.control.lock().unwrap();
                self.world.take_back(ALONE_GO_ON);
            } else if protocol::released_at(&self.holder).is_some() {
                let _control = self.control.lock().unwrap();
                protocol::all_are_gathered(&self.world);
            } else {
                thread::yield_now();
            }
        }
    }

    /// As the owner: takes the lock that the holder has.
    fn take_lock(&self) {
        self.wait_for(|| {
            while self.lock.load(Ordering::Acquire) != 0 {
                self.sleepers.wait(&self.lock, 1);
            }
        });
    }

    fn wait_for(&self, wait: impl FnOnce()) {
        protocol::release(&self.owner, HOLDING);
        wait();
        come_back(&self.world, &self.owner, HOLDING);
        while self.is_pending(ALONE_GATHERS) {
            protocol::release(&self.owner, SAFE);
            self.gather();
            come_back(&self.world, &self.owner, SAFE);
        }
    }

    fn end(&self) {
        let mut is_alone = self.control.lock().unwrap();
        *is_alone = false;
        resume(&self.world, ALONE | ALONE_GO_ON | ALONE_GATHERS);
    }

    /// What the holder does: with the lock, and then without it.
    fn hold(&self) {
        let paused = Paused(self);
        if self.world.pending().load(Ordering::Relaxed) & FENCES != 0 {
            protocol::reacquire(&paused, &self.holder, HOLDING);
        } else {
            protocol::comes_back(&paused, &self.holder);
            protocol::pause(&paused, &self.holder, HOLDING);
        }
        self.world.read();
        self.lock.store(0, Ordering::Release);
        self.sleepers.wake();
        protocol::pause(&paused, &self.holder, SAFE);
        self.world.read();
        protocol::release(&self.holder, SAFE);
    }
}

/// The world of the holder, which looks at the owner instead of sleeping.
struct Paused<'a>(&'a Scene);

impl Shared for Paused<'_> {
    fn pending(&self) -> &AtomicU8 {
        self.0.world.pending()
    }
    fn generation(&self) -> &AtomicU32 {
        self.0.world.generation()
    }
    fn sleep(&self, _: u32) {
        let scene = self.0;
        {
            let is_alone = scene.control.lock().unwrap();
            if *is_alone && !scene.is_pending(ALONE_GATHERS) {
                // It waits for the lock, not for the others.
                let waits = || protocol::released_at(&scene.owner) == Some(HOLDING);
                protocol::let_holders_go(&scene.world, waits);
            }
        }
        thread::yield_now();
    }
    fn wake(&self) {
        self.0.world.wake();
    }
    fn barrier(&self) {
        self.0.world.barrier();
    }
}

#[test]
fn a_lock_that_is_held_at_a_pause_is_given_back_to_who_runs_alone() {
    for mode in [0, FENCES] {
        model(2, move || {
            let scene = Scene::new(mode);
            protocol::comes_back(&scene.world, &scene.owner);
            let thread = thread::spawn({
                let scene = scene.clone();
                move || scene.hold()
            });
            scene.begin(0);
            scene.world.write();
            scene.take_lock();
            scene.world.write();
            // A check of its own.
            protocol::pause(&scene.world, &scene.owner, SAFE);
            scene.world.write();
            scene.end();
            thread.join().unwrap();
            assert_eq!(scene.world.read(), 3);
        });
    }
}

#[test]
fn holders_that_are_let_go_at_first_are_seen_to_run() {
    for mode in [0, FENCES] {
        model(3, move || {
            let scene = Scene::new(mode);
            protocol::comes_back(&scene.world, &scene.owner);
            let thread = thread::spawn({
                let scene = scene.clone();
                move || scene.hold()
            });
            scene.begin(ALONE_GO_ON);
            scene.world.write();
            scene.end();
            thread.join().unwrap();
            assert_eq!(scene.world.read(), 1);
        });
    }
}

/// A wait that ends by itself, as one for some time does, while somebody sees it and lets holders go.
#[test]
fn who_was_let_go_in_a_wait_that_ends_by_itself_is_seen_to_run() {
    for mode in [0, FENCES] {
        model(3, move || {
            let scene = Scene::new(mode);
            protocol::comes_back(&scene.world, &scene.owner);
            let thread = thread::spawn({
                let scene = scene.clone();
                move || scene.hold()
            });
            scene.begin(0);
            scene.world.write();
            scene.wait_for(|| ());
            scene.world.write();
            scene.end();
            thread.join().unwrap();
            assert_eq!(scene.world.read(), 2);
        });
    }
}
