//! Numbers of registers that stay while a module is changed.

use super::bridge::{self, RawNumbers};
use super::Value;
use std::marker::PhantomData;

/// Gives numbers. A register keeps its number as long as it is there; that of one that is gone is never given again.
#[derive(Debug)]
pub struct Numbers<'m>(*mut RawNumbers, PhantomData<&'m ()>);

impl<'m> Numbers<'m> {
    /// None are given yet.
    pub fn new() -> Numbers<'m> {
        // SAFETY: nothing is asked for.
        Numbers(unsafe { bridge::cov_numbers_new() }, PhantomData)
    }

    /// A register's number.
    pub fn of(&self, value: Value<'m>) -> u64 {
        // SAFETY: `new` made the table, which no other thread can have; the register lives as long as its module.
        unsafe { bridge::cov_number_of(self.0, value.0) }
    }
}

impl Default for Numbers<'_> {
    fn default() -> Self {
        Numbers::new()
    }
}

impl Drop for Numbers<'_> {
    fn drop(&mut self) {
        // SAFETY: `new` made it, and nobody else drops it.
        unsafe { bridge::cov_numbers_drop(self.0) }
    }
}
