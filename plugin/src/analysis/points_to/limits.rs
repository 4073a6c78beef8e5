//! Where the analysis stops telling things apart, so that its time and memory stay in proportion to the program.
//!
//! Answers hold whatever the limits are; lower ones make them coarser. The tests run with very low ones, too, since small
//! programs do not reach the usual ones.

/// The limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How often an offset may be derived from another one that was new. A pointer that walks along an object comes to
    /// ever new offsets; a field of a field of a field does so, too, but not so often.
    pub(super) steps: u8,
    /// An object with more words is one word.
    pub(super) words: usize,
    /// An access to more bytes is one to the whole object.
    pub(super) bytes_at_once: u64,
    /// A store through a pointer to more objects, nobody knows where in each, makes their contents one.
    pub(super) objects_apart: usize,
    /// Cycles are searched after this many new edges, and an eighth of all.
    pub(super) new_edges: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 6, words: 4096, bytes_at_once: 256, objects_apart: 200, new_edges: 2000 }
    }
}
