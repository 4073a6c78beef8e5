//! The words that the bridge writes, decoded: instructions, operands, expressions. `cpp/code.h` says how they are laid
//! out; the numbers there and here are the same.
//!
//! A record that does not fit is a bug of the bridge, never of the program that is read.

use super::{
    Binary, BlockId, Call, Callee, Cast, Compare, FuncId, GlobalId, Nary, Op, OpaqueId, Operand, Scev, Ty,
    ValueId,
};
use crate::ir::bridge::{lent, Text};

const BINARIES: [Binary; 13] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::UDiv,
    Binary::SDiv,
    Binary::URem,
    Binary::SRem,
    Binary::Shl,
    Binary::LShr,
    Binary::AShr,
    Binary::And,
    Binary::Or,
    Binary::Xor,
];

const COMPARES: [Compare; 10] = [
    Compare::Eq,
    Compare::Ne,
    Compare::Ult,
    Compare::Ule,
    Compare::Ugt,
    Compare::Uge,
    Compare::Slt,
    Compare::Sle,
    Compare::Sgt,
    Compare::Sge,
];

const CASTS: [Cast; 4] = [Cast::Trunc, Cast::ZExt, Cast::SExt, Cast::Same];

const NARIES: [Nary; 6] = [Nary::Add, Nary::Mul, Nary::UMax, Nary::SMax, Nary::UMin, Nary::SMin];

/// A record, and where in it the reader is. Blocks and registers are numbered from the bases.
pub(super) struct Words<'a> {
    rest: &'a [u64],
    pub(super) first_block: u32,
    pub(super) first_value: u32,
}

/// The second word of an instruction.
#[derive(Clone, Copy)]
pub(super) struct Head(u64);

impl Head {
    fn op(self) -> u64 {
        self.0 & 0xff
    }

    fn which(self) -> usize {
        (self.0 >> 8 & 0xff) as usize
    }

    fn has(self, flag: u64) -> bool {
        self.0 >> 16 & flag != 0
    }

    /// The result's type; `None` if there is no result.
    pub(super) fn result(self) -> Option<Ty> {
        ty(self.0 >> 32)
    }
}

fn ty(word: u64) -> Option<Ty> {
    match word {
        0 => None,
        1 => Some(Ty::Other),
        2 => Some(Ty::Ptr),
        _ => Some(Ty::Int((word - 3) as u32)),
    }
}

impl<'a> Words<'a> {
    pub(super) fn new(record: &'a [u64], first_block: u32, first_value: u32) -> Words<'a> {
        Words { rest: record, first_block, first_value }
    }

    pub(super) fn next(&mut self) -> u64 {
        let (&word, rest) = self.rest.split_first().expect("the bridge writes whole records");
        self.rest = rest;
        word
    }

    pub(super) fn next_u32(&mut self) -> u32 {
        self.next() as u32
    }

    /// As many as the next word says.
    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.next();
        (0..count).map(|_| read(self)).collect()
    }

    /// The next word less one, if it is not 0.
    pub(super) fn optional(&mut self) -> Option<u32> {
        self.next().checked_sub(1).map(|number| number as u32)
    }

    /// # Safety
    /// The record is one of the bridge's, and it does hold a text here.
    pub(super) unsafe fn text(&mut self) -> String {
        let (data, len) = (self.next() as *const u8, self.next() as usize);
        // SAFETY: the caller's promise.
        unsafe { Text::new(lent(data, len)).to_text() }
    }

    /// The first `count` bytes of as many words as the next word says.
    pub(super) fn bytes(&mut self, count: u64) -> Vec<u8> {
        let words = self.next() as usize;
        let (bytes, rest) = self.rest.split_at(words);
        self.rest = rest;
        let mut bytes: Vec<u8> = bytes.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(count as usize);
        bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn ty(&mut self) -> Ty {
        ty(self.next()).expect("parameters have types")
    }

    pub(super) fn head(&mut self) -> Head {
        Head(self.next())
    }

    pub(super) fn block(&mut self) -> BlockId {
        BlockId(self.first_block + self.next_u32())
    }

    fn value(&self, number: u32) -> ValueId {
        ValueId(self.first_value + number)
    }

    pub(super) fn register(&mut self) -> ValueId {
        let number = self.next_u32();
        self.value(number)
    }

    pub(super) fn operand(&mut self) -> Operand {
        let word = self.next();
        let number = (word >> 8) as u32;
        match word & 0xff {
            0 => Operand::Value(self.value(number)),
            1 => Operand::Int { value: self.next(), width: number },
            2 => Operand::Null,
            3 => Operand::Global(GlobalId(number), self.next() as i64),
            4 => Operand::Function(FuncId(number)),
            5 => Operand::Undef,
            6 => Operand::Opaque(OpaqueId(number)),
            _ => unreachable!("the bridge knows seven operands"),
        }
    }

    pub(super) fn op(&mut self, head: Head) -> Op {
        match head.op() {
            0 => Op::Binary {
                op: BINARIES[head.which()],
                a: self.operand(),
                b: self.operand(),
                nsw: head.has(1),
                nuw: head.has(2),
            },
            1 => Op::Compare { op: COMPARES[head.which()], a: self.operand(), b: self.operand() },
            2 => Op::Cast { op: CASTS[head.which()], a: self.operand() },
            3 => Op::Gep {
                base: self.operand(),
                offset: self.next() as i64,
                terms: self.list(|words| (words.operand(), words.next() as i64)),
                inbounds: head.has(1),
            },
            4 => Op::Select { cond: self.operand(), a: self.operand(), b: self.operand() },
            5 => Op::Phi(self.list(|words| (words.block(), words.operand()))),
            6 => Op::Freeze(self.operand()),
            7 => {
                let bytes = self.next();
                Op::Alloca { bytes: head.has(1).then_some(bytes) }
            }
            8 => Op::Load { address: self.operand(), bytes: self.next(), is_special: head.has(1) },
            9 => Op::Store {
                address: self.operand(),
                value: self.operand(),
                bytes: self.next(),
                is_special: head.has(1),
            },
            10 => {
                let (address, bytes) = (self.operand(), self.next());
                Op::Exchange { address, values: self.list(Self::operand), bytes }
            }
            11 => Op::Call(self.call(head)),
            12 => Op::Return(head.has(1).then(|| self.operand())),
            13 => Op::Branch(head.has(1).then(|| self.operand())),
            14 => Op::Switch { value: self.operand(), cases: self.list(Self::next) },
            15 => Op::Unreachable,
            16 => Op::Other { operands: self.list(Self::operand), reads: head.has(1), writes: head.has(2) },
            _ => unreachable!("the bridge knows 17 operations"),
        }
    }

    fn call(&mut self, head: Head) -> Call {
        let callee = match head.which() {
            0 => Callee::Function(FuncId(self.next_u32())),
            1 => Callee::Pointer(self.operand()),
            2 => Callee::Asm,
            _ => unreachable!("the bridge knows three callees"),
        };
        let (by_value, item) = (self.next(), self.next_u32());
        Call {
            callee,
            arguments: self.list(Self::operand),
            by_value,
            never_returns: head.has(1),
            only_reads: head.has(2),
            touches_nothing: head.has(4),
            item: head.has(8).then_some(item),
        }
    }

    pub(super) fn compare(&mut self) -> Compare {
        COMPARES[self.next() as usize]
    }

    /// `None` if there is none.
    pub(super) fn optional_scev(&mut self) -> Option<Scev> {
        let word = self.next();
        let (which, number) = ((word >> 8 & 0xff) as usize, word >> 16);
        match word & 0xff {
            0 => None,
            1 => Some(Scev::Operand(self.operand())),
            2 => Some(Scev::Nary(NARIES[which], (0..number).map(|_| self.scev()).collect())),
            3 => Some(Scev::UDiv(Box::new(self.scev()), Box::new(self.scev()))),
            4 => Some(Scev::Cast(CASTS[which], Box::new(self.scev()), number as u32)),
            _ => unreachable!("the bridge knows four expressions"),
        }
    }

    pub(super) fn scev(&mut self) -> Scev {
        self.optional_scev().expect("parts of expressions are expressions")
    }
}
