//! Counting with fractions. Apart from [`super::fraction`], which the model test compiles too.

use super::fraction::{Fraction, Moved};

#[test]
fn three_ups_for_one_down() {
    let semaphore = Fraction::new();
    assert_eq!(semaphore.down(1), Moved::No);
    for _ in 0..2 {
        semaphore.up(3);
        semaphore.up(3);
        assert_eq!(semaphore.down(1), Moved::No);
        semaphore.up(3);
        assert_eq!(semaphore.down(1), Moved::Yes);
        assert!(semaphore.is_idle());
    }
}

#[test]
fn one_up_for_two_downs_and_the_first_n_counts() {
    let semaphore = Fraction::new();
    semaphore.up(1);
    assert_eq!(semaphore.down(2), Moved::Yes);
    assert_eq!(semaphore.down(9), Moved::Yes);
    assert_eq!(semaphore.down(2), Moved::No);
    assert!(semaphore.kill());
    assert_eq!(semaphore.up(1), Moved::Dead);
    assert_eq!(semaphore.down(1), Moved::Dead);
}

#[test]
fn three_ups_for_two_downs() {
    let semaphore = Fraction::new();
    let downs = |expected: &[Moved]| expected.iter().for_each(|&one| assert_eq!(semaphore.down(2), one));
    semaphore.up(3);
    downs(&[Moved::No]);
    semaphore.up(3);
    downs(&[Moved::Yes, Moved::No]);
    semaphore.up(3);
    downs(&[Moved::Yes, Moved::No]);
}
