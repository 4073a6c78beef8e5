//! What an updater finds out about a thread that blocks, by a look at its stack, and for how long that holds.

use crate::protocol::{self, Finding, Shared, FENCES, GO_ON, UPDATE};
use crate::sync::Ordering;
use crate::{come_back, model, request, resume, Worker, World, BY_CALLER, HOLDING, SAFE};
use loom::sync::Arc;
use loom::thread;

/// Waits until the thread is out of the way, changes what it must not see change, and lets it go on.
fn finish_update(world: &World, worker: &Worker) {
    while !worker.is_away_or_found() {
        thread::yield_now();
    }
    world.write();
    resume(world, UPDATE);
}

/// A thread blocks in a helper that a region calls too: outside of it, then inside, then outside again.
fn in_a_shared_helper(world: &World, worker: &Worker) {
    come_back(world, worker, BY_CALLER);
    let before = world.read();
    worker.is_called_from_region.store(1, Ordering::Relaxed);
    protocol::release(worker, BY_CALLER);
    come_back(world, worker, BY_CALLER);
    assert_eq!(world.read(), before, "the update came in the middle of the region");
    worker.is_called_from_region.store(0, Ordering::Relaxed);
    protocol::release(worker, BY_CALLER);
}

#[test]
fn a_look_at_the_stack_holds_until_the_thread_goes_on() {
    for mode in [0, FENCES] {
        model(3, move || {
            let (world, worker) = (Arc::new(World::new(mode)), Arc::new(Worker::at(BY_CALLER)));
            let thread = thread::spawn({
                let (world, worker) = (world.clone(), worker.clone());
                move || in_a_shared_helper(&world, &worker)
            });
            request(&world, UPDATE);
            finish_update(&world, &worker);
            thread.join().unwrap();
            assert_eq!(world.read(), 1);
        });
    }
}

#[test]
fn what_was_found_out_in_one_round_is_forgotten_in_the_next() {
    for mode in [0, FENCES] {
        model(1, move || {
            let (world, worker) = (Arc::new(World::new(mode)), Arc::new(Worker::at(BY_CALLER)));
            let thread = thread::spawn({
                let (world, worker) = (world.clone(), worker.clone());
                move || in_a_shared_helper(&world, &worker)
            });
            // A round that somebody else spoils.
            request(&world, UPDATE);
            let _ = worker.is_away_or_found();
            resume(&world, UPDATE);
            worker.found.store(protocol::NOTHING_FOUND, Ordering::Release);
            request(&world, UPDATE);
            finish_update(&world, &worker);
            thread.join().unwrap();
        });
    }
}

#[test]
fn who_was_found_outside_and_let_go_is_looked_at_again() {
    model(2, || {
        let (world, worker) = (Arc::new(World::new(0)), Arc::new(Worker::at(HOLDING)));
        let thread = thread::spawn({
            let (world, worker) = (world.clone(), worker.clone());
            move || {
                come_back(&world, &worker, HOLDING);
                in_a_shared_helper(&world, &worker);
            }
        });
        request(&world, UPDATE);
        let _ = protocol::find_out(&*worker, || {
            (worker.is_called_from_region.load(Ordering::Relaxed) == 0).then_some(Finding::Outside)
        });
        world.change(GO_ON, 0);
        world.request(UPDATE, GO_ON);
        finish_update(&world, &worker);
        thread.join().unwrap();
    });
}

/// A thread that never blocks runs in a helper that a region calls too: inside of it, then outside. It has a check in there.
fn runs_in_a_shared_helper(world: &World, worker: &Worker) {
    come_back(world, worker, BY_CALLER);
    let before = world.read();
    worker.is_called_from_region.store(1, Ordering::Relaxed);
    protocol::pause(world, worker, BY_CALLER);
    assert_eq!(world.read(), before, "the update came in the middle of the region");
    worker.is_called_from_region.store(0, Ordering::Relaxed);
    protocol::pause(world, worker, BY_CALLER);
    world.read();
}

/// As the engine waits for threads that run: without a look at their stacks.
fn wait_and_write(world: &World, worker: &Worker) {
    while !(protocol::released_at(worker).is_some_and(|at| worker.is_safe(at)) || worker.is_found_outside()) {
        thread::yield_now();
    }
    world.write();
    resume(world, UPDATE);
}

#[test]
fn who_sees_that_nothing_called_it_stays() {
    for (mode, preemptions) in [(0, 3), (FENCES, 3)] {
        model(preemptions, move || {
            let world = Arc::new(World::new(mode));
            let worker = Arc::new(Worker::looking(&world, BY_CALLER));
            let thread = thread::spawn({
                let (world, worker) = (world.clone(), worker.clone());
                move || {
                    runs_in_a_shared_helper(&world, &worker);
                    protocol::release(&*worker, SAFE);
                }
            });
            request(&world, UPDATE);
            wait_and_write(&world, &worker);
            thread.join().unwrap();
            assert_eq!(world.read(), 1);
        });
    }
}

#[test]
fn what_a_thread_saw_in_one_round_does_not_count_in_the_next() {
    for mode in [0, FENCES] {
        model(2, move || {
            let world = Arc::new(World::new(mode));
            let worker = Arc::new(Worker::looking(&world, BY_CALLER));
            let thread = thread::spawn({
                let (world, worker) = (world.clone(), worker.clone());
                move || {
                    // For the first update nobody is inside; for the second one it is, all the time.
                    come_back(&world, &worker, BY_CALLER);
                    world.read();
                    protocol::pause(&*world, &*worker, BY_CALLER);
                    assert!(world.read() <= 1, "the second update came in the middle of its region");
                    protocol::release(&*worker, SAFE);
                }
            });
            request(&world, UPDATE);
            wait_and_write(&world, &worker);
            worker.is_called_from_region.store(1, Ordering::Relaxed);
            request(&world, UPDATE);
            wait_and_write(&world, &worker);
            thread.join().unwrap();
            assert_eq!(world.read(), 2);
        });
    }
}
