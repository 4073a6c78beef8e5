//! What a program does not have itself, as the machine plays it: library functions and unknown code.

use super::Machine;
use crate::analysis::points_to::ObjectKind;
use crate::ir::code::InstId;

impl Machine<'_, '_> {
    pub(super) fn library(&mut self, inst: InstId, name: &str, arguments: &[u64]) -> Option<u64> {
        let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
        Some(match name {
            "malloc" => self.make(ObjectKind::Heap(inst), argument(0)),
            "realloc" => {
                let new = self.make(ObjectKind::Heap(inst), argument(1));
                self.copy(inst, new, argument(0), argument(1));
                new
            }
            "memcpy" | "llvm.memcpy.p0.p0.i64" => {
                self.copy(inst, argument(0), argument(1), argument(2));
                argument(0)
            }
            "memchr" => argument(0).wrapping_add(argument(2) / 2),
            "qsort" => {
                let (base, bytes) = (argument(0), argument(2));
                self.copy(inst, base, base + bytes, bytes);
                if let Some(compare) = self.function_at(argument(3)) {
                    self.call_from(inst, compare, &[base, base + bytes])?;
                }
                0
            }
            "pthread_create" => {
                let end = self.call_floating(argument(2), &[argument(3)]);
                let starts =
                    self.function_at(argument(2)).filter(|id| !self.code.function(*id).blocks.is_empty());
                if let Some(function) = starts {
                    assert!(self.points_to.starts(inst).contains(&function), "a thread starts");
                }
                self.kept.entry("threads").or_default().push(end.unwrap_or(0));
                0
            }
            "pthread_join" => {
                let ends = self.kept.get("threads").cloned().unwrap_or_default();
                if !ends.is_empty() && self.check_access(inst, None, argument(1), 8, true) {
                    let end = *self.random.pick(&ends);
                    self.write(argument(1), 8, end);
                }
                0
            }
            "pthread_setspecific" => {
                self.kept.entry("key").or_default().push(argument(1));
                0
            }
            "pthread_getspecific" => {
                self.kept.get("key").and_then(|values| values.last()).copied().unwrap_or(0)
            }
            "atexit" => {
                if let Some(function) = self.function_at(argument(0)) {
                    assert!(self.points_to.floating().contains(&function), "a function runs at the end");
                }
                self.kept.entry("ends").or_default().push(argument(0));
                0
            }
            "unknown" => self.unknown(inst, arguments)?,
            other => panic!("{other} is not in these programs"),
        })
    }

    fn copy(&mut self, inst: InstId, to: u64, from: u64, bytes: u64) {
        let left = |machine: &Self, at| machine.find(at).map_or(0, |(object, offset)| object.bytes - offset);
        let bytes = bytes.min(left(self, to)).min(left(self, from));
        if self.check_access(inst, None, from, bytes, false) && self.check_access(inst, None, to, bytes, true)
        {
            let copied: Vec<u64> = (0..bytes).map(|byte| self.read(from + byte, 1)).collect();
            copied.iter().zip(to..).for_each(|(&byte, at)| self.write(at, 1, byte));
        }
    }

    /// Code that nobody knows.
    fn unknown(&mut self, inst: InstId, arguments: &[u64]) -> Option<u64> {
        let pointers = arguments.iter().copied().filter(|&argument| self.find(argument).is_some());
        let pointers: Vec<u64> = pointers.collect();
        self.foreign.extend(pointers);
        for _ in 0..self.random.below(6) {
            let known = *self.random.pick(&self.foreign);
            let (object, _) = self.find(known).expect("only pointers are kept");
            let (kind, begin, words) = (object.kind, object.begin, object.bytes / 8);
            if let ObjectKind::Function(function) = kind {
                if !self.code.function(function).blocks.is_empty() {
                    let [a, b] = [(); 2].map(|()| *self.random.pick(&self.foreign));
                    let result = self.call_from(inst, function, &[a, b])?;
                    self.foreign.extend(self.find(result).is_some().then_some(result));
                }
                continue;
            }
            let at = begin + 8 * self.random.below(words.max(1) as usize) as u64;
            let writes = self.random.chance(50);
            if !self.check_access(inst, None, at, 8, writes) {
                continue;
            }
            if writes {
                let value = *self.random.pick(&self.foreign);
                self.write(at, 8, value);
            } else {
                let value = self.read(at, 8);
                self.foreign.extend(self.find(value).is_some().then_some(value));
            }
        }
        let found = *self.random.pick(&self.foreign);
        Some(if self.random.chance(30) { found + 8 } else { found })
    }
}
