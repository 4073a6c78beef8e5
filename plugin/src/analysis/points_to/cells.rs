//! Nodes of places in memory: what is stored there.
//!
//! An object is a row of words of 8 bytes, and each word that is read or written has a node. An access that is not aligned
//! touches two words, one of a part of a word the whole word: so a pointer that is stored byte by byte, or through a
//! union, is found again. What is stored somewhere in an object, nobody knows where, is in its node *into*, from which it
//! flows to all words; all words flow to its node *all*, for those who read somewhere. So an object with n words has 2n
//! edges and not n * n.

use super::bits::BitSet;
use super::graph::Node;
use super::locations::{LocationId, LocationSet};
use super::memory::{Location, Map, ObjectId, ObjectKind, Offset, Set};
use super::solver::Solver;

/// Bytes in a word.
const WORD: u64 = 8;

/// The nodes of all objects.
#[derive(Debug, Default)]
pub struct Cells {
    objects: Map<ObjectId, ObjectCells>,
    copied: Set<(LocationId, LocationId, Option<u64>)>,
    /// Words that are still to be copied: doing so may make new words, which are copied in turn.
    to_copy: Vec<(CopyOut, Part, Node)>,
    /// Objects whose contents are one.
    mixed: BitSet,
}

/// What of an object is copied.
#[derive(Clone, Copy, Debug)]
enum Part {
    Word(u64),
    /// What is somewhere in it.
    Into,
}

/// An object's.
#[derive(Debug, Default)]
struct ObjectCells {
    words: Map<u64, Node>,
    /// The same, in order of creation.
    list: Vec<(u64, Node)>,
    into: Option<Node>,
    all: Option<Node>,
    /// Stands for all of the above.
    one: Option<Node>,
    copies: Vec<CopyOut>,
}

/// Memory of an object that is copied elsewhere.
#[derive(Clone, Copy, Debug)]
struct CopyOut {
    from: u64,
    to_object: ObjectId,
    to: u64,
    /// How much, if that is known.
    bytes: Option<u64>,
}

impl Solver<'_, '_> {
    /// The nodes of what is read there; everything, if it is not known how much.
    pub fn readable(&mut self, at: LocationId, bytes: Option<u64>, found: &mut Vec<Node>) {
        let Location { object, offset } = self.memory.location(at);
        if object == ObjectId::EXTERNAL {
            found.push(self.external);
            return;
        }
        if self.kinds.quiet.contains(object.0) {
            return;
        }
        match (offset, bytes) {
            (Offset::At(_), Some(0)) => {}
            (Offset::At(at), Some(bytes)) if bytes <= self.limits.bytes_at_once => {
                for word in words(at, bytes) {
                    found.push(self.word_of(object, word));
                }
            }
            _ => found.push(self.all_of(object)),
        }
    }

    /// The nodes of what is written there. What is written to unknown code's memory escapes.
    pub fn writable(&mut self, at: LocationId, bytes: Option<u64>, found: &mut Vec<Node>) {
        let Location { object, offset } = self.memory.location(at);
        if object == ObjectId::EXTERNAL {
            found.push(self.escape);
            return;
        }
        if self.kinds.constant.contains(object.0) {
            return;
        }
        match (offset, bytes) {
            (Offset::At(_), Some(0)) => {}
            (Offset::At(at), Some(bytes)) if bytes <= self.limits.bytes_at_once => {
                for word in words(at, bytes) {
                    found.push(self.word_of(object, word));
                }
            }
            _ => found.push(self.inside_of(object)),
        }
    }

    /// What is stored through a pointer to this many objects, nobody knows where in each, is in all of them; from now on
    /// they hold the same. Else a program in which pointers are mixed up would have an edge for each pair of an access
    /// and an object.
    pub fn mix(&mut self, pointer: Node) {
        let set = self.graph.set(pointer);
        if set.any().len() <= self.limits.objects_apart {
            return;
        }
        let mut objects = set.any().without(&self.kinds.constant).without(&self.cells.mixed);
        objects = objects.without(&BitSet::of(ObjectId::EXTERNAL.0));
        for object in objects.iter().map(ObjectId) {
            let one = self.one_of(object).unwrap_or_else(|| self.make_one(object));
            self.graph.connect(self.mixed, one);
            self.graph.connect(one, self.mixed);
            self.cells.objects.entry(object).or_default().one = Some(self.mixed);
            self.cells.mixed.insert(object.0);
        }
    }

    /// What is at these locations flows into a node; everything in the objects, if it is not known how much.
    pub fn load(&mut self, from: &LocationSet, bytes: Option<u64>, to: Node) {
        let any = from.any().without(&self.kinds.quiet);
        if any.intersects(&self.cells.mixed) {
            self.graph.connect(self.mixed, to);
        }
        let any = any.without(&self.cells.mixed);
        let mut found = Vec::new();
        for location in any.iter().map(|object| LocationId::any(ObjectId(object))).chain(from.at_offsets()) {
            self.readable(location, bytes, &mut found);
            found.drain(..).for_each(|place| self.graph.connect(place, to));
        }
    }

    /// A node flows to these locations, or anywhere in the objects.
    pub fn store(&mut self, to: &LocationSet, bytes: Option<u64>, from: Node) {
        let any = to.any().without(&self.kinds.constant);
        if any.intersects(&self.cells.mixed) {
            self.graph.connect(from, self.mixed);
        }
        let any = any.without(&self.cells.mixed);
        let mut found = Vec::new();
        for location in any.iter().map(|object| LocationId::any(ObjectId(object))).chain(to.at_offsets()) {
            self.writable(location, bytes, &mut found);
            found.drain(..).for_each(|place| self.graph.connect(from, place));
        }
    }

    /// What is in a word of an object.
    pub fn word_of(&mut self, object: ObjectId, word: u64) -> Node {
        if let Some(one) = self.one_of(object) {
            return one;
        }
        let cells = self.cells.objects.entry(object).or_default();
        if let Some(&known) = cells.words.get(&word) {
            return known;
        }
        if cells.list.len() >= self.limits.words {
            return self.make_one(object);
        }
        let node = self.graph.add();
        cells.words.insert(word, node);
        cells.list.push((word, node));
        if let Some(into) = cells.into {
            self.graph.connect(into, node);
        }
        if let Some(all) = cells.all {
            self.graph.connect(node, all);
        }
        let to_copy = cells.copies.iter().map(|&copy| (copy, Part::Word(word), node));
        self.cells.to_copy.extend(to_copy);
        node
    }

    /// What is stored somewhere in an object.
    pub fn inside_of(&mut self, object: ObjectId) -> Node {
        if let Some(one) = self.one_of(object) {
            return one;
        }
        let cells = self.cells.objects.entry(object).or_default();
        if let Some(into) = cells.into {
            return into;
        }
        let into = self.graph.add();
        cells.into = Some(into);
        cells.list.iter().for_each(|&(_, word)| self.graph.connect(into, word));
        if let Some(all) = cells.all {
            self.graph.connect(into, all);
        }
        let to_copy = cells.copies.iter().map(|&copy| (copy, Part::Into, into));
        self.cells.to_copy.extend(to_copy);
        into
    }

    /// What is anywhere in an object.
    pub fn all_of(&mut self, object: ObjectId) -> Node {
        if let Some(one) = self.one_of(object) {
            return one;
        }
        let cells = self.cells.objects.entry(object).or_default();
        if let Some(all) = cells.all {
            return all;
        }
        let all = self.graph.add();
        cells.all = Some(all);
        cells.list.iter().for_each(|&(_, word)| self.graph.connect(word, all));
        if let Some(into) = cells.into {
            self.graph.connect(into, all);
        }
        all
    }

    /// The one node of an object whose words are not told apart.
    fn one_of(&mut self, object: ObjectId) -> Option<Node> {
        if let Some(cells) = self.cells.objects.get(&object) {
            return cells.one;
        }
        let known = self.memory.object(object);
        let is_one = match known.kind {
            ObjectKind::Library | ObjectKind::Environment | ObjectKind::Variadic(_) => true,
            _ => known.bytes.is_some_and(|bytes| bytes <= WORD),
        };
        let one = is_one.then(|| self.graph.add());
        self.cells.objects.entry(object).or_default().one = one;
        one
    }

    /// From now on an object's words are not told apart.
    fn make_one(&mut self, object: ObjectId) -> Node {
        let one = self.graph.add();
        let cells = self.cells.objects.entry(object).or_default();
        cells.one = Some(one);
        let nodes: Vec<Node> =
            cells.list.drain(..).map(|(_, node)| node).chain(cells.into).chain(cells.all).collect();
        cells.words.clear();
        let copies = std::mem::take(&mut cells.copies);
        for node in nodes {
            self.graph.connect(node, one);
            self.graph.connect(one, node);
        }
        self.cells.to_copy.extend(copies.into_iter().map(|copy| (copy, Part::Into, one)));
        one
    }

    /// Copies memory from one location to another: each word to its counterpart.
    pub fn copy_between(&mut self, from: LocationId, to: LocationId, bytes: Option<u64>) {
        if from == to || !self.cells.copied.insert((from, to, bytes)) {
            return;
        }
        let source = self.memory.location(from);
        let target = self.memory.location(to);
        let source_kind = self.memory.object(source.object).kind;
        let is_external = matches!(source_kind, ObjectKind::External) || target.object == ObjectId::EXTERNAL;
        // Shifting more words than a few, or nobody knows how many, would fill objects with words.
        let is_small = bytes.is_some_and(|bytes| bytes <= self.limits.bytes_at_once);
        match (source.offset, target.offset) {
            (Offset::At(from), Offset::At(to)) if !is_external && (is_small || from == to) => {
                let copy = CopyOut { from, to_object: target.object, to, bytes };
                if let Some(one) = self.one_of(source.object) {
                    let is_word = self.memory.object(source.object).bytes.is_some_and(|bytes| bytes <= WORD);
                    self.cells.to_copy.push((copy, if is_word { Part::Word(0) } else { Part::Into }, one));
                    return;
                }
                let cells = self.cells.objects.entry(source.object).or_default();
                cells.copies.push(copy);
                let words = cells.list.iter().map(|&(word, node)| (copy, Part::Word(word), node));
                self.cells.to_copy.extend(words.chain(cells.into.map(|into| (copy, Part::Into, into))));
            }
            _ => {
                let (mut sources, mut targets) = (Vec::new(), Vec::new());
                self.readable(from, bytes, &mut sources);
                self.writable(to, bytes, &mut targets);
                for &source in &sources {
                    targets.iter().for_each(|&target| self.graph.connect(source, target));
                }
            }
        }
    }

    /// Does the copies that are still to be done.
    pub fn do_copies(&mut self) {
        while let Some((copy, part, node)) = self.cells.to_copy.pop() {
            match part {
                Part::Word(word) => self.copy_word(copy, word, node),
                Part::Into => self.copy_into(copy, node),
            }
        }
    }

    /// Copies one word of an object.
    fn copy_word(&mut self, copy: CopyOut, word: u64, node: Node) {
        let begin = word.saturating_mul(WORD);
        let end = begin.saturating_add(WORD);
        let last = copy.bytes.map_or(u64::MAX, |bytes| copy.from.saturating_add(bytes));
        let (begin, end) = (begin.max(copy.from), end.min(last));
        if begin >= end {
            return;
        }
        let target = copy.to.saturating_add(begin - copy.from);
        if self.memory.object(copy.to_object).bytes.is_some_and(|bytes| target >= bytes) {
            return;
        }
        for word in words(target, end - begin) {
            let to = self.word_of(copy.to_object, word);
            self.graph.connect(node, to);
        }
    }

    /// Copies what is somewhere in an object.
    fn copy_into(&mut self, copy: CopyOut, node: Node) {
        match copy.bytes {
            Some(bytes) if bytes <= self.limits.bytes_at_once => {
                for word in words(copy.to, bytes) {
                    let to = self.word_of(copy.to_object, word);
                    self.graph.connect(node, to);
                }
            }
            _ => {
                let into = self.inside_of(copy.to_object);
                self.graph.connect(node, into);
            }
        }
    }
}

/// The words that an access touches.
fn words(at: u64, bytes: u64) -> std::ops::Range<u64> {
    if bytes == 0 {
        return 0..0;
    }
    at / WORD..at.saturating_add(bytes - 1) / WORD + 1
}
