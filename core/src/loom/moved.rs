//! Whether optimized code still does at a line what the line says: else a lock there protects nothing, or something else
//! (DETAILS 18c). A pure comparison of a unit's functions with what they were before optimization.
//!
//! # What is compared
//! For each function that an event or region names lines of, and each place where its code is now (itself, and each
//! inlined copy), every access before optimization that is *in scope*: on the event's line, on a line of the region, or
//! anywhere in the function. Such an access may
//! - be *gone*: its line does no such access any more. That is no harm where the region had done the same access before
//!   (a read of what was just read), or does it later on every way (a write that is overwritten), or where the write is
//!   now part of a larger one in the region. Else the value comes from outside of the region, or goes there;
//! - be *out of its loop*: its line's code is in a loop that the access is not in any more;
//! - be *several at once*: a vector, a block of memory, where the line was one element in a loop;
//! - be *outside*: done before the region is entered, or after it is left;
//! - be *torn* from another: the region is left and entered again between the two, though it was not before;
//! - be in an inlined copy that has no line any more ([`vanished`]).
//!
//! Where the region is the whole function, not an inlined copy of it, none of this matters as long as the access is still
//! the function's ([`whole`]).
//!
//! # What is not seen
//! Code that optimization found to be dead is not told from code that was moved where it is conditional and not the
//! function itself but an inlined copy: it is taken for dead. Accesses through different expressions are not known to be the
//! same place. Calls of libraries that are only computations are not looked at.

mod vanished;
mod whole;

use super::loops;
use super::table::{
    Access, AccessKind, Function, Line, OriginalFunction, Point, PointKind, Precision, Text, UnitTable, NONE,
};
use crate::library::never_synchronizes;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

/// What a filter names, in one unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope<'a> {
    /// The functions that have its slots: indices into [`UnitTable::functions`].
    pub functions: &'a [usize],
    /// A function region: the function's linkage name. Nothing else is looked at then.
    pub function: Option<Text>,
    /// The file, first and last line of an event (one line) or a region.
    pub range: Option<(Text, u32, u32)>,
}

/// Why a filter would not do what it says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// What the code was is not known.
    Unknown {
        /// The unit.
        unit: String,
    },
    /// The access is not on its line any more.
    Gone(At),
    /// It is done once for a loop, or less often than its line's code.
    OutOfLoop(At),
    /// It is done for several elements at once.
    Several(At),
    /// It is done outside of the region.
    Outside(At),
    /// The region is left and entered again between two accesses.
    Torn(At, At),
}

/// An access, in words.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct At {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// `the read of counter`, `the call of f`.
    pub what: String,
    /// The function that the code was inlined into; empty if it was not.
    pub inlined_into: String,
}

impl Reason {
    /// Whether the filter is to be refused; else it is worth a warning.
    pub fn refuses(&self) -> bool {
        !matches!(self, Reason::Unknown { .. })
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}:{}", self.what, self.file, self.line)?;
        match self.inlined_into.as_str() {
            "" => Ok(()),
            function => write!(f, ", inlined into {function},"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unknown { unit } => write!(
                f,
                "{unit} was compiled without bitcode: whether optimization moved what these lines access is not known"
            ),
            Reason::Gone(at) => write!(
                f,
                "optimization moved {at} away: the value is read earlier, written later, or kept in a register"
            ),
            Reason::OutOfLoop(at) => write!(f, "optimization moved {at} out of its loop"),
            Reason::Several(at) => write!(f, "optimization does {at} for several elements at once"),
            Reason::Outside(at) => write!(f, "optimization moved {at} out of the region"),
            Reason::Torn(first, second) => {
                write!(f, "optimization put other code between {first} and {second}")
            }
        }
    }
}

/// Compares what is in scope with what it was. Empty if a filter there does what it says.
pub fn reasons(table: &UnitTable, scope: Scope<'_>) -> Vec<Reason> {
    if table.precision == Precision::Precise {
        return vec![];
    }
    let Some(originals) = &table.original else {
        // Nothing is said of units in which nothing was found.
        return match scope.functions {
            [] => vec![],
            _ => vec![Reason::Unknown { unit: table.unit.clone() }],
        };
    };
    let unit = Unit::new(table, originals);
    let mut found = BTreeSet::new();
    for &number in scope.functions {
        let Some(late) = table.functions.get(number).filter(|late| late.limit.is_empty()) else { continue };
        let depths = OnceCell::new();
        for (name, copy) in copies(table, late, scope) {
            let Some(&original) = unit.by_name.get(&name) else { continue };
            Pair::new(&unit, scope, original, late, copy, &depths).compare(&mut found);
        }
    }
    vanished::find(&unit, scope, &mut found);
    found.into_iter().collect()
}

/// A unit, and what is asked of it for each access.
struct Unit<'a> {
    table: &'a UnitTable,
    /// Its functions before optimization.
    by_name: HashMap<Text, &'a OriginalFunction>,
    /// Names of its functions after optimization.
    defined: HashSet<Text>,
    /// What these still call by name.
    called: HashSet<Text>,
}

impl<'a> Unit<'a> {
    fn new(table: &'a UnitTable, originals: &'a [OriginalFunction]) -> Self {
        let accesses = table.functions.iter().flat_map(|function| &function.accesses);
        Unit {
            table,
            by_name: originals.iter().map(|function| (function.name, function)).collect(),
            defined: table.functions.iter().map(|function| function.name).collect(),
            called: accesses.map(|access| access.callee).collect(),
        }
    }
}

/// The functions in the scope whose code is in this one, with the number of their copy there.
fn copies(table: &UnitTable, late: &Function, scope: Scope<'_>) -> BTreeSet<(Text, u32)> {
    let lines = late.points.iter().flat_map(|point| &table.chains[point.chain as usize]);
    lines
        .filter(|line| match (scope.function, scope.range) {
            (Some(name), _) => line.function == name,
            (None, Some((file, first, last))) => line.file == file && [first, last].contains(&line.line),
            (None, None) => false,
        })
        .map(|line| (line.function, line.copy))
        .collect()
}

/// A function's code, before or after optimization, with the lines of one copy of the function in question.
struct Side<'a> {
    points: &'a [Point],
    accesses: &'a [Access],
    /// For each point the copy's line that is active there.
    lines: Vec<Option<Line>>,
}

impl<'a> Side<'a> {
    fn new(table: &UnitTable, points: &'a [Point], accesses: &'a [Access], name: Text, copy: u32) -> Self {
        // A unit has many more chains than one of its functions has points.
        let line = |point: &Point| {
            let chain = &table.chains[point.chain as usize];
            chain.iter().find(|line| line.function == name && line.copy == copy).copied()
        };
        Side { points, accesses, lines: points.iter().map(line).collect() }
    }

    /// The copy's line that an access belongs to.
    fn line(&self, access: &Access) -> Option<Line> {
        self.lines[access.point as usize]
    }

    /// Whether the access is the function's own, not that of something inlined into it.
    fn is_own(&self, access: &Access) -> bool {
        self.line(access).is_some_and(|line| (line.function, line.copy) == (access.function, access.copy))
    }

    /// Points between the region's entry at line `first` and where `last` is left.
    fn inside(&self, file: Text, first: u32, last: u32) -> Vec<bool> {
        let is = |line: Option<Line>, number: u32| {
            line.is_some_and(|line| line.file == file && line.line == number)
        };
        let mut inside = vec![false; self.points.len()];
        let mut open = Vec::new();
        for (number, point) in self.points.iter().enumerate() {
            for &next in &point.next {
                let next = next as usize;
                if !is(self.lines[number], first) && is(self.lines[next], first) {
                    open.push(next);
                }
            }
        }
        while let Some(number) = open.pop() {
            if std::mem::replace(&mut inside[number], true) {
                continue;
            }
            for &next in &self.points[number].next {
                let next = next as usize;
                if !is(self.lines[number], last) || is(self.lines[next], last) {
                    open.push(next);
                }
            }
        }
        inside
    }

    /// Connected points at which `is_in` holds, by number; `None` elsewhere.
    fn pieces(&self, is_in: impl Fn(Option<Line>) -> bool) -> Vec<Option<usize>> {
        let mut before = vec![Vec::new(); self.points.len()];
        for (number, point) in self.points.iter().enumerate() {
            point.next.iter().for_each(|&next| before[next as usize].push(number));
        }
        let mut pieces = vec![None; self.points.len()];
        for start in 0..self.points.len() {
            let mut open = vec![start];
            while let Some(number) = open.pop() {
                if pieces[number].is_some() || !is_in(self.lines[number]) {
                    continue;
                }
                pieces[number] = Some(start);
                open.extend(self.points[number].next.iter().map(|&next| next as usize));
                open.extend(&before[number]);
            }
        }
        pieces
    }

    fn reaches(&self, from: u32, to: u32) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(number) = open.pop() {
            for &next in &self.points[number as usize].next {
                if next == to {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

fn reads(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Read | AccessKind::Update)
}

fn writes(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Write | AccessKind::Update)
}

/// Whether an access after optimization may be this one from before.
fn fits(before: AccessKind, after: AccessKind) -> bool {
    before == after || after == AccessKind::Update && before != AccessKind::Call
}

/// One function of the scope, before optimization and in one of its copies after.
struct Pair<'a> {
    unit: &'a Unit<'a>,
    scope: Scope<'a>,
    before: Side<'a>,
    after: Side<'a>,
    late: &'a Function,
    copy: u32,
    /// For each point of `late` how many loops are around it, once that was asked for; all its copies share it.
    depths: &'a OnceCell<Vec<u32>>,
}

impl<'a> Pair<'a> {
    fn new(
        unit: &'a Unit<'a>,
        scope: Scope<'a>,
        original: &'a OriginalFunction,
        late: &'a Function,
        copy: u32,
        depths: &'a OnceCell<Vec<u32>>,
    ) -> Self {
        let name = original.name;
        Pair {
            unit,
            scope,
            before: Side::new(unit.table, &original.points, &original.accesses, name, 0),
            after: Side::new(unit.table, &late.points, &late.accesses, name, copy),
            late,
            copy,
            depths,
        }
    }

    fn depths(&self) -> &[u32] {
        self.depths.get_or_init(|| {
            let next = |point: &Point| point.next.iter().map(|&next| next as usize).collect();
            loops::depths(&self.late.points.iter().map(next).collect::<Vec<_>>())
        })
    }

    fn is_in_scope(&self, line: Line) -> bool {
        match (self.scope.function, self.scope.range) {
            (Some(name), _) => line.function == name,
            (None, Some((file, first, last))) => line.file == file && (first..=last).contains(&line.line),
            (None, None) => false,
        }
    }

    fn at(&self, access: &Access, line: Line) -> At {
        let text = |text: Text| self.unit.table.strings.get(text as usize).map_or("", String::as_str);
        let verb = match access.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Update => "update",
            AccessKind::Call => "call",
        };
        let name = if access.kind == AccessKind::Call { access.callee } else { access.object };
        let what = match (name, access.kind) {
            (NONE, AccessKind::Call) => "the call through a pointer".to_owned(),
            (NONE, _) => format!("the {verb} through a pointer"),
            (name, _) => format!("the {verb} of {}", text(name)),
        };
        let file = text(line.file);
        At {
            file: file.rsplit('/').next().unwrap_or(file).to_owned(),
            line: line.line,
            what,
            inlined_into: if self.copy == 0 { String::new() } else { text(self.late.name).to_owned() },
        }
    }

    fn compare(&self, found: &mut BTreeSet<Reason>) {
        let scoped: Vec<(&Access, Line)> = self
            .before
            .accesses
            .iter()
            .filter_map(|access| Some((access, self.before.line(access)?)))
            .filter(|&(access, line)| self.is_in_scope(line) && self.matters(access))
            .collect();
        let mut by_line: BTreeMap<(Text, u32, AccessKind), Vec<&Access>> = BTreeMap::new();
        for &(access, line) in &scoped {
            by_line.entry((line.file, line.line, access.kind)).or_default().push(access);
        }
        let is_whole = whole::is_covered(self);
        let inside = match (self.scope.function, self.scope.range) {
            (None, Some((file, first, last))) if first < last => {
                Some((self.before.inside(file, first, last), self.after.inside(file, first, last)))
            }
            _ => None,
        };
        for ((file, number, kind), group) in &by_line {
            let line = Line { function: group[0].function, file: *file, line: *number, copy: 0 };
            let was_inside =
                |access: &&&Access| inside.as_ref().is_none_or(|(before, _)| before[access.point as usize]);
            let group: Vec<&Access> = group.iter().filter(was_inside).copied().collect();
            if !group.is_empty() {
                self.compare_line(line, *kind, &group, is_whole, found);
            }
        }
        // A copy without the region's first line is never in it; who looks for that line's slots reports it.
        if let Some((before, after)) = inside.as_ref().filter(|(_, after)| after.contains(&true)) {
            self.find_outside(&scoped, before, after, found);
        }
        if !is_whole {
            self.find_torn(&scoped, found);
        }
    }

    /// Whether it would be missed.
    fn matters(&self, access: &Access) -> bool {
        if access.kind != AccessKind::Call {
            // A local that nobody else has seen after all.
            return !access.local
                || self.after.accesses.iter().any(|other| other.local && other.object == access.object);
        }
        if access.ends || access.callee == NONE {
            return false;
        }
        match self.unit.by_name.get(&access.callee) {
            Some(callee) => callee.accesses.iter().any(|inner| inner.kind != AccessKind::Call || !inner.ends),
            // Not of this unit, or without any access.
            None => {
                let name = self.unit.table.strings.get(access.callee as usize).map_or("", String::as_str);
                // What is called nowhere any more was a function without accesses.
                !self.unit.defined.contains(&access.callee)
                    && !never_synchronizes(name)
                    && self.unit.called.contains(&access.callee)
            }
        }
    }

    /// What a line did of one kind, and what it does.
    fn compare_line(
        &self,
        line: Line,
        kind: AccessKind,
        group: &[&Access],
        is_whole: bool,
        found: &mut BTreeSet<Reason>,
    ) {
        let is_line = |other: Line| (other.file, other.line) == (line.file, line.line);
        let on_line: Vec<&Access> = self
            .after
            .accesses
            .iter()
            .filter(|access| self.after.line(access).is_some_and(is_line))
            .collect();
        if kind == AccessKind::Call {
            if !is_whole && !self.is_called(line) {
                for access in group {
                    if !self.is_done_before(access) && !self.may_be_dead(access) {
                        found.insert(Reason::Gone(self.at(access, line)));
                    }
                }
            }
            return;
        }
        let now: Vec<&Access> = on_line.into_iter().filter(|access| fits(kind, access.kind)).collect();
        let mut places: BTreeMap<u32, &Access> = BTreeMap::new();
        for (number, access) in group.iter().enumerate() {
            // What is not known is a place of its own.
            let place = if access.place == 0 { number as u32 + 1 } else { access.place };
            places.entry(place).or_insert(access);
        }
        // Expressions change their form in optimization: those that stayed are known, of the others the number counts.
        let known: HashSet<u32> = now.iter().map(|access| access.place).collect();
        let missing: Vec<&&Access> =
            places.iter().filter(|(place, _)| !known.contains(place)).map(|(_, access)| access).collect();
        let others = now.iter().filter(|access| !places.contains_key(&access.place));
        let spare =
            others.fold(0usize, |sum, other| if other.vector { usize::MAX } else { sum.saturating_add(1) });
        let mut gone: Vec<&&Access> =
            missing.into_iter().filter(|access| !self.is_excused(access, line)).collect();
        // What took another form is rather one of those that are inside anyway.
        let is_inside = |access: &&&Access| is_whole && whole::is_inside(self, access);
        gone.sort_by_key(|access| !is_inside(access));
        for access in gone.into_iter().skip(spare).filter(|access| !is_inside(access)) {
            found.insert(Reason::Gone(self.at(access, line)));
        }
        if is_whole || now.is_empty() {
            return;
        }
        let most = group.iter().max_by_key(|access| access.depth).expect("it has at least one");
        if most.depth == 0 {
            return;
        }
        let widest = group.iter().map(|access| access.bytes).max().unwrap_or(0);
        let is_several = |access: &&Access| access.vector && (access.bytes > widest || access.bytes == 0);
        if !group.iter().any(|access| access.vector) && now.iter().any(is_several) {
            found.insert(Reason::Several(self.at(most, line)));
            return;
        }
        let depth = now.iter().map(|access| access.depth).max().unwrap_or(0);
        let lines = self.after.lines.iter().zip(self.depths());
        let deepest =
            lines.filter(|(other, _)| other.is_some_and(is_line)).map(|(_, &depth)| depth).max().unwrap_or(0);
        let is_less_deep = match self.copy {
            0 => depth < most.depth && now.len() <= group.len(),
            _ => depth < deepest,
        };
        if is_less_deep || depth < deepest.min(most.depth) {
            found.insert(Reason::OutOfLoop(self.at(most, line)));
        }
    }

    /// Whether the line calls anything, or has the code of what it called.
    fn is_called(&self, line: Line) -> bool {
        let is_line = |other: Line| (other.file, other.line) == (line.file, line.line);
        let on_line =
            self.after.accesses.iter().filter(|access| self.after.line(access).is_some_and(is_line));
        // Anything inlined there is what the call did.
        on_line.into_iter().any(|access| access.kind == AccessKind::Call || !self.after.is_own(access))
            || self.has_inlined_code(line)
    }

    fn has_inlined_code(&self, line: Line) -> bool {
        self.late.points.iter().any(|point| {
            let chain = &self.unit.table.chains[point.chain as usize];
            chain.iter().skip(1).any(|outer| {
                (outer.function, outer.copy, outer.line) == (line.function, self.copy, line.line)
                    && outer.file == line.file
            })
        })
    }

    /// Whether it is no harm that this access is not on its line any more.
    fn is_excused(&self, access: &Access, line: Line) -> bool {
        if self.may_be_dead(access) {
            return true;
        }
        match access.kind {
            AccessKind::Read => self.is_done_before(access),
            AccessKind::Write => self.is_done_after(access) || self.is_merged(access, line),
            AccessKind::Update | AccessKind::Call => false,
        }
    }

    /// Whether the write is part of a larger one, or is the same on another line of the region.
    fn is_merged(&self, access: &Access, line: Line) -> bool {
        let in_scope = |other: &&Access| {
            self.after
                .line(other)
                .is_some_and(|at| self.is_in_scope(at) && (at.file, at.line) != (line.file, line.line))
        };
        let mut others = self.after.accesses.iter().filter(|other| writes(other.kind)).filter(in_scope);
        others.any(|other| {
            let is_same = access.place != 0 && other.place == access.place;
            is_same || other.vector && (other.bytes == 0 || other.bytes > access.bytes) || {
                let at = self.after.line(other);
                let was = self.before.accesses.iter().filter(|was| writes(was.kind)).filter(|was| {
                    let line = self.before.line(was);
                    line.zip(at).is_some_and(|(a, b)| (a.file, a.line) == (b.file, b.line))
                });
                other.bytes > was.map(|was| was.bytes).max().unwrap_or(0)
            }
        })
    }

    /// In a copy that knows its arguments, what was conditional may be dead if its line has no code at all.
    fn may_be_dead(&self, access: &Access) -> bool {
        let Some(line) = self.before.line(access) else { return true };
        let has_code =
            self.after.lines.iter().flatten().any(|other| (other.file, other.line) == (line.file, line.line));
        self.copy != 0 && !has_code && !self.must_be_done(access.point)
    }

    /// Whether every way through the function before optimization comes to the point.
    fn must_be_done(&self, point: u32) -> bool {
        let mut seen = vec![false; self.before.points.len()];
        let mut open = vec![0u32];
        while let Some(number) = open.pop() {
            if number == point || std::mem::replace(&mut seen[number as usize], true) {
                continue;
            }
            if self.before.points[number as usize].kind == PointKind::Return {
                return false;
            }
            open.extend(&self.before.points[number as usize].next);
        }
        true
    }

    /// Where no line is known, it is that of before.
    fn is_scope_point(&self, point: u32) -> bool {
        self.before.lines[point as usize].is_none_or(|line| self.is_in_scope(line))
    }

    /// Whether on every way from the region's entry to this access the same place was accessed already, before optimization.
    fn is_done_before(&self, access: &Access) -> bool {
        access.place != 0 && self.is_covered(access, true)
    }

    /// Whether on every way to the region's end the same place is written again.
    fn is_done_after(&self, access: &Access) -> bool {
        access.place != 0 && self.is_covered(access, false)
    }

    /// Walks from the access, backward or forward, as long as the way is in the scope; false if it leaves it, or comes back to
    /// the access itself, without another access of the same place.
    fn is_covered(&self, access: &Access, backward: bool) -> bool {
        let before = &self.before;
        let same = |other: &Access| {
            !std::ptr::eq(other, access)
                && other.place == access.place
                && match access.kind {
                    AccessKind::Call => other.kind == AccessKind::Call,
                    _ if backward => other.kind != AccessKind::Call,
                    _ => writes(other.kind),
                }
        };
        // In its own point the order of accesses is that of the list.
        let own = before.accesses.iter().position(|other| std::ptr::eq(other, access)).unwrap_or(0);
        let mut at_point: HashSet<u32> = HashSet::new();
        for (number, other) in before.accesses.iter().enumerate().filter(|(_, other)| same(other)) {
            let comes_first = (number < own) == backward;
            if other.point == access.point && comes_first {
                return true;
            }
            at_point.insert(other.point);
        }
        let mut previous = vec![Vec::new(); before.points.len()];
        for (number, point) in before.points.iter().enumerate() {
            point.next.iter().for_each(|&next| previous[next as usize].push(number as u32));
        }
        let next = |point: u32| match backward {
            true => previous[point as usize].clone(),
            false => before.points[point as usize].next.clone(),
        };
        let mut seen = HashSet::new();
        let mut open = next(access.point);
        if open.is_empty() {
            return false;
        }
        while let Some(point) = open.pop() {
            if !self.is_scope_point(point) {
                return false;
            }
            let ends = before.points[point as usize].kind == PointKind::Stop;
            if at_point.contains(&point) || ends || !seen.insert(point) {
                continue;
            }
            if point == access.point {
                return false;
            }
            let more = next(point);
            if more.is_empty() {
                return false;
            }
            open.extend(more);
        }
        true
    }

    /// Accesses of lines that were in the region and are done where it is not entered yet, or left.
    fn find_outside(
        &self,
        scoped: &[(&Access, Line)],
        before: &[bool],
        after: &[bool],
        found: &mut BTreeSet<Reason>,
    ) {
        let mut always: BTreeMap<(Text, u32), bool> = BTreeMap::new();
        for (number, line) in self.before.lines.iter().enumerate() {
            if let Some(line) = line {
                *always.entry((line.file, line.line)).or_insert(true) &= before[number];
            }
        }
        for access in self.after.accesses {
            let Some(line) = self.after.line(access).filter(|&line| self.is_in_scope(line)) else { continue };
            let was_inside = always.get(&(line.file, line.line)).copied().unwrap_or(false);
            let was_there =
                scoped.iter().any(|(_, other)| (other.file, other.line) == (line.file, line.line));
            if was_inside && was_there && !after[access.point as usize] {
                found.insert(Reason::Outside(self.at(access, line)));
            }
        }
    }

    /// Accesses of one piece before optimization that are in no common piece any more.
    fn find_torn(&self, scoped: &[(&Access, Line)], found: &mut BTreeSet<Reason>) {
        let is_one_line = self.scope.range.is_some_and(|(_, first, last)| first == last);
        let is_copy = self.scope.function.is_some() && self.copy != 0;
        if !is_one_line && !is_copy {
            return;
        }
        let is_in = |line: Option<Line>| line.is_some_and(|line| self.is_in_scope(line));
        let (was, is) = (self.before.pieces(is_in), self.after.pieces(is_in));
        let of = |line: Line, kind: AccessKind, place: u32| -> Vec<&Access> {
            let on_line = self.after.accesses.iter().filter(|access| {
                fits(kind, access.kind)
                    && self.after.line(access).is_some_and(|at| (at.file, at.line) == (line.file, line.line))
            });
            let (same, other): (Vec<&Access>, Vec<&Access>) =
                on_line.partition(|access| access.place == place);
            if same.is_empty() {
                other
            } else {
                same
            }
        };
        for &(first, line) in scoped.iter().filter(|(access, _)| reads(access.kind)) {
            for &(second, to) in scoped.iter().filter(|(access, _)| writes(access.kind)) {
                let same_place = first.place == second.place && first.place != 0;
                let together = was[first.point as usize] == was[second.point as usize];
                if !same_place || std::ptr::eq(first, second) || !(together || is_copy) {
                    continue;
                }
                let (reads, writes) = (of(line, first.kind, first.place), of(to, second.kind, second.place));
                let share = |a: &&Access| {
                    writes.iter().any(|b| {
                        is[a.point as usize].is_some() && is[a.point as usize] == is[b.point as usize]
                    })
                };
                let leads = |a: &&Access| writes.iter().any(|b| self.after.reaches(a.point, b.point));
                if !reads.is_empty()
                    && !writes.is_empty()
                    && !reads.iter().any(share)
                    && reads.iter().any(leads)
                {
                    found.insert(Reason::Torn(self.at(first, line), self.at(second, to)));
                }
            }
        }
    }
}

/// The comparison itself is tested with compiled programs: `plugin/src/tell/tests.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    fn table(precision: Precision, original: Option<Vec<OriginalFunction>>) -> UnitTable {
        UnitTable {
            unit: "a.c".into(),
            precision,
            is_for_lto: false,
            strings: vec!["f".into(), "dir/a.c".into()],
            chains: vec![vec![]],
            functions: vec![],
            taken: vec![],
            original,
        }
    }

    #[test]
    fn precise_code_is_trusted_and_code_without_bitcode_is_doubtful() {
        let scope = Scope { functions: &[0], function: None, range: Some((1, 3, 3)) };
        assert_eq!(reasons(&table(Precision::Precise, None), scope), []);
        assert_eq!(reasons(&table(Precision::Late, Some(vec![])), scope), []);
        let unknown = reasons(&table(Precision::Late, None), scope);
        assert_eq!(unknown, [Reason::Unknown { unit: "a.c".into() }]);
        assert!(!unknown[0].refuses());
    }

    #[test]
    fn reasons_are_sentences() {
        let at = At {
            file: "a.c".into(),
            line: 3,
            what: "the read of counter".into(),
            inlined_into: "main".into(),
        };
        let reason = Reason::OutOfLoop(at);
        assert!(reason.refuses());
        assert_eq!(
            reason.to_string(),
            "optimization moved the read of counter at a.c:3, inlined into main, out of its loop"
        );
    }
}
