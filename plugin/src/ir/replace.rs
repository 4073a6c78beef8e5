//! Functions that take the place of others, and what the optimizer is told of the result. The same rules as in [`crate::ir`] hold.

use super::bridge;
use super::{optional, Function, Global, Module};
use std::marker::PhantomData;

// SAFETY of all calls below: as in `ir`.
impl<'m> Function<'m> {
    /// Its body becomes a call of another function of its type; what stood in it is gone.
    pub fn forward_to(self, to: Function<'m>) {
        // SAFETY: see above.
        unsafe { bridge::cov_forward(self.0, to.0) }
    }

    /// Erases it if nothing uses it and no other module can; it must not be used any more if that is so.
    pub fn drop_if_unused(self) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_drop_if_unused(self.0) }
    }
}

impl<'m> Module<'m> {
    /// A virtual table in which a function stands.
    pub fn vtable_with(self, method: Function<'m>) -> Option<Global<'m>> {
        // SAFETY: see above.
        optional(unsafe { bridge::cov_vtable_with(method.0) }, |raw| Global(raw, PhantomData))
    }

    /// Keeps the optimizer from reasoning about the module's own variables that more than so many stores write; how many
    /// there are.
    pub fn keep_stored(self, stores: usize) -> usize {
        // SAFETY: see above.
        unsafe { bridge::cov_keep_stored(self.0, stores) }
    }
}
