//! Reads a module's code over the bridge, record by record.

use super::words::Words;
use super::{
    BlockData, BlockId, Callee, CloneOf, Code, Def, ExitCheck, FuncData, FuncId, GlobalData, Initial,
    InstData, InstId, LoopData, LoopId, Op, Recurrence, Summaries, ValueData, ValueId,
};
use crate::ir::bridge::{self, lent};
use crate::ir::{Function, Inst, Module, Value};
use covsched_core::ThreadId;
use llvm_plugin::inkwell::llvm_sys::prelude::LLVMValueRef;
use std::collections::HashMap;
use std::marker::PhantomData;

/// The bridge's reader of a module.
struct Records(*mut bridge::RawCode);

impl Records {
    fn next(&mut self) -> Option<&[u64]> {
        let mut count = 0;
        // SAFETY: the reader lives until `drop`, and what it lends until it is called again.
        unsafe {
            let words = bridge::cov_code_next(self.0, &mut count);
            (!words.is_null()).then(|| lent(words, count))
        }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        // SAFETY: made by `cov_code_new`, dropped once.
        unsafe { bridge::cov_code_drop(self.0) }
    }
}

fn raw(word: u64) -> LLVMValueRef {
    word as LLVMValueRef
}

impl<'m> Code<'m> {
    /// The module's code as it is now.
    pub fn of(module: Module<'m>, summaries: &Summaries) -> Code<'m> {
        let mut code = Code::default();
        // SAFETY: as in `ir`: the module is alive, and nobody changes it before the reader is dropped.
        let mut records = Records(unsafe { bridge::cov_code_new(module.0) });
        if let Some(record) = records.next() {
            code.read_module(Words::new(record, 0, 0));
        }
        let stand_ins = code.stand_ins(summaries);
        while let Some(record) = records.next() {
            code.read_body(record, &stand_ins);
        }
        code
    }

    /// What is called in place of each function.
    fn stand_ins(&self, summaries: &Summaries) -> Vec<FuncId> {
        let ids = || (0..self.functions.len() as u32).map(FuncId);
        if *summaries == Summaries::default() {
            return ids().collect();
        }
        let by_name: HashMap<&str, FuncId> = ids().map(|id| (self.function(id).name.as_str(), id)).collect();
        ids()
            .map(|id| {
                let stand_in = summaries.get(&self.function(id).name);
                stand_in.and_then(|name| by_name.get(name).copied()).unwrap_or(id)
            })
            .collect()
    }

    fn read_module(&mut self, mut words: Words<'_>) {
        self.functions = words.list(read_function);
        self.globals = words.list(read_global);
        self.read_opaques(&mut words);
    }

    /// The end of each record: what the record mentioned first.
    fn read_opaques(&mut self, words: &mut Words<'_>) {
        self.opaques.extend(words.list(|words| words.list(Words::operand)));
        assert!(words.is_empty(), "the bridge's records are read whole");
    }

    fn read_body(&mut self, record: &[u64], stand_ins: &[FuncId]) {
        let mut words = Words::new(record, self.blocks.len() as u32, self.values.len() as u32);
        let first_loop = self.loops.len() as u32;
        let function = FuncId(words.next_u32());
        let values = &mut self.values;
        let mut number = 0;
        let parameters = words.list(|words| {
            let id = ValueId(values.len() as u32);
            let value = Value(raw(words.next()), PhantomData);
            values.push(ValueData { raw: value, ty: words.ty(), def: Def::Parameter(function, number) });
            number += 1;
            id
        });
        let first_block = words.first_block;
        for _ in 0..words.next() {
            self.read_block(&mut words, function, first_loop, stand_ins);
        }
        let data = &mut self.functions[function.index()];
        data.parameters = parameters;
        data.blocks = first_block..self.blocks.len() as u32;
        self.find_previous(first_block);
        for _ in 0..words.next() {
            self.loops.push(read_loop(&mut words, first_loop));
        }
        self.read_opaques(&mut words);
    }

    fn read_block(&mut self, words: &mut Words<'_>, function: FuncId, first_loop: u32, stand_ins: &[FuncId]) {
        let block = BlockId(self.blocks.len() as u32);
        let flags = words.next();
        let idom = words.optional().map(|number| BlockId(words.first_block + number));
        let in_loop = words.optional().map(|number| LoopId(first_loop + number));
        let next = words.list(Words::block);
        let first = self.insts.len() as u32;
        for _ in 0..words.next() {
            let value = raw(words.next());
            let head = words.head();
            let result = head.result().map(|ty| {
                let def = Def::Inst(InstId(self.insts.len() as u32));
                self.values.push(ValueData { raw: Value(value, PhantomData), ty, def });
                ValueId(self.values.len() as u32 - 1)
            });
            let mut op = words.op(head);
            if let Op::Call(call) = &mut op {
                if let Callee::Function(callee) = &mut call.callee {
                    *callee = stand_ins[callee.index()];
                }
            }
            self.insts.push(InstData { inst: Inst(value, PhantomData), block, result, op });
        }
        self.blocks.push(BlockData {
            function,
            insts: first..self.insts.len() as u32,
            next,
            previous: Vec::new(),
            idom,
            is_reachable: flags & 1 != 0,
            in_loop,
            in_irreducible_cycle: flags & 2 != 0,
        });
    }

    /// Of the blocks from this one on.
    fn find_previous(&mut self, first: u32) {
        for from in (first..self.blocks.len() as u32).map(BlockId) {
            for number in 0..self.block(from).next.len() {
                let to = self.block(from).next[number];
                let previous = &mut self.blocks[to.index()].previous;
                if previous.last() != Some(&from) {
                    previous.push(from);
                }
            }
        }
    }
}

fn read_function<'m>(words: &mut Words<'_>) -> FuncData<'m> {
    let function = Function(raw(words.next()), PhantomData);
    // SAFETY: here and below, texts are where the bridge's layout has them.
    let name = unsafe { words.text() };
    let flags = words.next();
    let clone = (flags & 32 != 0).then(|| {
        // SAFETY: see above.
        let original = unsafe { words.text() };
        let (thread, frame) = (words.next() as i64, words.next() as i64);
        let frame = u32::try_from(thread).ok().zip(u32::try_from(frame).ok());
        CloneOf { original, frame: frame.map(|(thread, frame)| (ThreadId(thread), frame)) }
    });
    FuncData {
        function,
        name,
        blocks: 0..0,
        parameters: Vec::new(),
        is_variadic: flags & 1 != 0,
        is_intrinsic: flags & 2 != 0,
        is_internal: flags & 4 != 0,
        is_address_taken: flags & 8 != 0,
        is_interposable: flags & 16 != 0,
        clone,
    }
}

fn read_global(words: &mut Words<'_>) -> GlobalData {
    // SAFETY: as above.
    let name = unsafe { words.text() };
    let (bytes, flags) = (words.next(), words.next());
    let initial = match flags & 24 {
        8 => Initial::Zero,
        16 => Initial::Bytes(words.bytes(bytes)),
        _ => Initial::Unknown,
    };
    GlobalData {
        name,
        bytes,
        is_constant: flags & 1 != 0,
        is_internal: flags & 2 != 0,
        is_thread_local: flags & 4 != 0,
        initial,
        pointers: words.list(|words| (words.next(), words.operand())),
        undefined: words.list(|words| words.next()..words.next()),
    }
}

fn read_loop(words: &mut Words<'_>, first_loop: u32) -> LoopData {
    let header = words.block();
    let parent = words.optional().map(|number| LoopId(first_loop + number));
    let mut blocks = words.list(Words::block);
    blocks.sort_unstable();
    LoopData {
        header,
        blocks,
        parent,
        most_backedges: words.optional_scev(),
        recurrences: words.list(|words| {
            let (value, flags) = (words.register(), words.next());
            Recurrence {
                value,
                nsw: flags & 1 != 0,
                nuw: flags & 2 != 0,
                start: words.scev(),
                step: words.scev(),
            }
        }),
        checks: words.list(|words| ExitCheck {
            block: words.block(),
            op: words.compare(),
            step: words.next() as i64,
            start: words.scev(),
            other: words.operand(),
        }),
    }
}
