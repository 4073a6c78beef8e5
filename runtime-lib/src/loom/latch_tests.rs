//! Who gets a lock, step by step: what the others do happens while one sleeps.

use super::heir::{Claim, Claimant, Heir};
use super::latch::{owner, Latch, Sleeper, Taken, Wake, KEPT, WAITERS};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A thread that has waited since some time; the others do something when it sleeps, once.
struct Waits<F: FnMut()> {
    since: u64,
    number: u32,
    suspects: bool,
    looks_left: u32,
    meanwhile: F,
}

impl<F: FnMut()> Claimant for Waits<F> {
    fn claim(&mut self) -> Option<Claim> {
        Some(Claim::new(self.since, self.number))
    }
    fn suspects(&mut self, _: Claim) -> bool {
        self.suspects
    }
}

impl<F: FnMut()> Sleeper for Waits<F> {
    fn gives_up(&mut self, _: u32) -> bool {
        self.looks_left -= 1;
        self.looks_left == 0
    }
    fn sleep(&mut self, word: &AtomicU32, value: u32, _: bool) {
        assert_eq!(word.load(Ordering::Relaxed), value);
        (self.meanwhile)();
    }
    fn wake(&mut self, _: &AtomicU32, _: Wake) {}
}

fn waits<F: FnMut()>(since: u64, number: u32, looks_left: u32, meanwhile: F) -> Waits<F> {
    Waits { since, number, suspects: false, looks_left, meanwhile }
}

fn latch(owner: u32) -> Latch {
    Latch { word: AtomicU32::new(owner), releases: AtomicU32::new(0), heir: Heir(AtomicU64::new(0)) }
}

#[test]
fn the_oldest_comes_before_those_that_come_and_those_that_slept() {
    let lock = latch(1);
    let mut oldest = waits(10, 2, 9, || {
        // Another has slept, and looks before and after the owner gives the lock back.
        assert_eq!(
            lock.take(3, &mut waits(20, 3, 2, || assert_eq!(lock.give_back(), Wake::Heirs))),
            Taken::No
        );
        assert_eq!(lock.word.load(Ordering::Relaxed), KEPT | WAITERS);
        // The owner comes again, a third comes.
        assert_eq!(lock.try_take(1), Taken::No);
        assert_eq!(lock.take(4, &mut waits(30, 4, 1, || ())), Taken::No);
    });
    assert_eq!(lock.take(2, &mut oldest), Taken::Yes);
    assert_eq!(lock.word.load(Ordering::Relaxed), 2 | WAITERS);
    assert!(lock.heir.is_nobody());
    assert_eq!((lock.give_back(), lock.releases.load(Ordering::Relaxed)), (Wake::One, 2));
}

#[test]
fn an_older_one_takes_the_heirs_place() {
    let lock = latch(1);
    let mut younger = waits(20, 2, 9, || {
        if owner(lock.word.load(Ordering::Relaxed)) == 1 {
            let mut older = waits(10, 3, 9, || assert_eq!(lock.give_back(), Wake::Heirs));
            assert_eq!(lock.take(3, &mut older), Taken::Yes);
        } else {
            assert_eq!(lock.give_back_of(3), Some(Wake::Heirs));
        }
    });
    assert_eq!(lock.take(2, &mut younger), Taken::Yes);
}

#[test]
fn one_that_gives_up_leaves_nothing_behind() {
    let lock = latch(1);
    assert_eq!(lock.take(2, &mut waits(10, 2, 2, || assert_eq!(lock.give_back_of(2), None))), Taken::No);
    assert!(lock.heir.is_nobody());
    assert_eq!(lock.give_back_of(1), Some(Wake::One));
    assert_eq!((lock.try_take(3), lock.give_back()), (Taken::Yes, Wake::Nobody));
    assert!(lock.kill());
}

#[test]
fn a_lock_that_is_kept_for_one_that_is_gone_is_not_lost() {
    let lock = latch(1);
    // Number 2 is cancelled in its sleep.
    assert!(lock.heir.is(&mut waits(10, 2, 9, || ())));
    lock.word.fetch_or(KEPT | WAITERS, Ordering::Relaxed);
    assert_eq!(lock.give_back(), Wake::Heirs);
    assert_eq!(lock.take(3, &mut waits(20, 3, 3, || ())), Taken::No);
    let mut suspects = Waits { suspects: true, ..waits(30, 4, 9, || ()) };
    assert_eq!(lock.take(4, &mut suspects), Taken::Yes);
    assert!(lock.heir.is_nobody());
}

#[test]
fn what_is_kept_for_a_wait_comes_to_the_handler_that_interrupted_it() {
    let lock = latch(1);
    let mut interrupted = waits(10, 2, 9, || {
        assert_eq!(lock.give_back(), Wake::Heirs);
        // The handler's wait is younger, and of the same thread.
        assert_eq!(lock.take(2, &mut waits(20, 2, 1, || ())), Taken::Yes);
        assert!(lock.is_of(2) && lock.heir.is_nobody());
        assert_eq!(lock.give_back(), Wake::One);
    });
    assert_eq!(lock.take(2, &mut interrupted), Taken::Yes);
    assert!(lock.heir.is_nobody());
}

#[test]
fn in_a_forked_child_only_what_the_survivor_has_is_taken() {
    for (survivor, expected) in [(1, 1), (2, 0), (0, 0)] {
        let lock = latch(1 | KEPT | WAITERS);
        assert!(lock.heir.is(&mut waits(10, 3, 9, || ())));
        super::fork::reset_latch(&lock, survivor);
        assert_eq!((lock.word.load(Ordering::Relaxed), lock.heir.is_nobody()), (expected, true));
    }
}
