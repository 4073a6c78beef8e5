//! Two versions of a function: with the markers of a recording, and without. The same rules as in [`crate::ir`] hold.

use super::{bridge, Function, Global, Inst, Module};
use llvm_plugin::inkwell::llvm_sys::prelude::LLVMValueRef;
use std::marker::PhantomData;
use std::num::NonZeroU8;
use std::ptr::null_mut;

/// What a function is among its versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Without markers; in a recording it hands over to the one with markers.
    Tested,
    /// Without markers; only such versions call it, so that it never runs in a recording.
    Plain,
    /// With markers; runs in a recording only.
    Recorded,
}

/// Why a function has one version, with a test around each marker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Obstacle {
    /// Not known to turn every call that must be a jump into one.
    Target,
    /// Loom's versions are enough.
    Loom,
    /// It is only here to be inlined.
    Elsewhere,
    /// To hand its arguments over all registers would be saved.
    Variadic,
    /// Naked, a coroutine, traced at entry and exit, looked after by AddressSanitizer; or with parameters that cannot be handed over.
    Special,
    /// It is to be debugged, not to be fast.
    Unoptimized,
    /// It is to be small.
    Size,
    /// It is linked together with what has no name outside.
    Group,
    /// The address of one of its labels is seen outside.
    BlockAddress,
    /// It makes a call that must not be duplicated.
    NoDuplicate,
    /// Few calls of it come to a marker.
    Rare,
}

impl Obstacle {
    fn from_raw(raw: u8) -> Option<Obstacle> {
        Some(match raw {
            0 => return None,
            1 => Obstacle::Target,
            2 => Obstacle::Loom,
            3 => Obstacle::Elsewhere,
            4 => Obstacle::Variadic,
            5 => Obstacle::Special,
            6 => Obstacle::Unoptimized,
            7 => Obstacle::Size,
            8 => Obstacle::Group,
            9 => Obstacle::BlockAddress,
            10 => Obstacle::NoDuplicate,
            11 => Obstacle::Rare,
            _ => unreachable!("the bridge knows eleven obstacles"),
        })
    }

    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Obstacle::Target => "of another target",
            Obstacle::Loom => "done by loom",
            Obstacle::Elsewhere => "defined elsewhere",
            Obstacle::Variadic => "variadic",
            Obstacle::Special => "special",
            Obstacle::Unoptimized => "not optimized",
            Obstacle::Size => "optimized for size",
            Obstacle::Group => "linked with others",
            Obstacle::BlockAddress => "with labels that others know",
            Obstacle::NoDuplicate => "with calls that must not be duplicated",
            Obstacle::Rare => "with markers that are rarely reached",
        }
    }
}

fn raw(markers: &[Inst<'_>]) -> Vec<LLVMValueRef> {
    markers.iter().map(|marker| marker.0).collect()
}

// SAFETY of all calls below: as in `ir`.
impl Module<'_> {
    /// Puts recorded versions in the place of the others. False if there are none.
    pub fn join_versions(self) -> bool {
        // SAFETY: see above; whoever calls this has no functions of the module yet.
        unsafe { bridge::cov_join_versions(self.0) }
    }
}

impl<'m> Function<'m> {
    /// Why it cannot have two versions, or should not, if these are its markers.
    pub fn version_obstacle(self, markers: &[Inst<'m>]) -> Option<Obstacle> {
        let markers = raw(markers);
        // SAFETY: see above.
        Obstacle::from_raw(unsafe { bridge::cov_version_obstacle(self.0, markers.as_ptr(), markers.len()) })
    }

    /// Whether all uses of it are calls in this module.
    pub fn is_only_called(self) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_is_only_called(self.0) }
    }

    /// Whether a call of it comes to this body or to one that does the same.
    pub fn binds_here(self) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_binds_here(self.0) }
    }

    /// Makes a copy with the markers and takes them out of this function, which hands over to the copy if the byte of
    /// `test` has that value. The markers are gone afterwards.
    pub fn make_versions(self, markers: &[Inst<'m>], test: Option<(Global<'m>, NonZeroU8)>) -> Function<'m> {
        let markers = raw(markers);
        let (active, only) = test.map_or((null_mut(), 0), |(active, only)| (active.0, only.get()));
        // SAFETY: see above.
        let recorded =
            unsafe { bridge::cov_make_versions(self.0, markers.as_ptr(), markers.len(), active, only) };
        Function(recorded, PhantomData)
    }
}

impl<'m> Inst<'m> {
    /// This call of one function becomes a call of the other, if it is one by that function's own type.
    pub fn redirect(self, from: Function<'m>, to: Function<'m>) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_redirect(self.0, from.0, to.0) }
    }
}
