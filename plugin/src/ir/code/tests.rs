//! From IR to the view, by its dump; and what must hold in every view.

mod bounds;
mod constants;
mod flow;
mod instructions;
mod loops;

use super::{BlockId, Callee, Code, Def, InstId, Op, Operand, Scev, Summaries};
use crate::testing::{complaints, LAYOUT};

/// The view of a module with x86-64's data layout.
fn dump_with(ir: &str, summaries: &Summaries) -> String {
    let mut text = String::new();
    let reported = complaints(&format!("{LAYOUT}{ir}"), |module| {
        let code = Code::of(module, summaries);
        check(&code);
        text = code.to_string();
    });
    assert_eq!(reported, [""; 0]);
    text
}

/// Lines without indentation, those of functions without a body left out.
fn lines(dump: &str) -> Vec<String> {
    let lines: Vec<&str> = dump.trim().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let has_body = |number: usize| lines.get(number + 1).is_some_and(|line| line.starts_with('b'));
    lines
        .iter()
        .enumerate()
        .filter(|(number, line)| !line.starts_with("func") || has_body(*number))
        .map(|(_, line)| (*line).to_owned())
        .collect()
}

/// The view of this IR is this.
fn expect(ir: &str, expected: &str) {
    assert_eq!(lines(&dump_with(ir, &Summaries::default())), lines(expected));
}

/// The view of a function with this body and these parameters.
fn expect_body(parameters: &str, body: &str, expected: &str) {
    let ir = format!("@g = global i32 0\ndefine void @f({parameters}) {{\n{body}\n  ret void\n}}");
    let dump = dump_with(&ir, &Summaries::default());
    let mut found = lines(&dump);
    found.retain(|line| !["func", "global", "b", "return"].iter().any(|start| line.starts_with(start)));
    assert_eq!(found, lines(expected));
}

fn dominates(code: &Code<'_>, a: BlockId, b: BlockId) -> bool {
    std::iter::successors(Some(b), |&at| code.block(at).idom).any(|at| at == a)
}

fn for_each_operand(op: &Op, f: &mut dyn FnMut(Operand)) {
    match op {
        Op::Binary { a, b, .. } | Op::Compare { a, b, .. } => [*a, *b].into_iter().for_each(f),
        Op::Cast { a, .. } | Op::Freeze(a) => f(*a),
        Op::Gep { base, terms, .. } => {
            f(*base);
            terms.iter().for_each(|&(index, _)| f(index));
        }
        Op::Select { cond, a, b } => [*cond, *a, *b].into_iter().for_each(f),
        Op::Phi(_) | Op::Alloca { .. } | Op::Unreachable | Op::Other { .. } => {}
        Op::Load { address, .. } => f(*address),
        Op::Store { address, value, .. } => [*address, *value].into_iter().for_each(f),
        Op::Exchange { address, values, .. } => {
            f(*address);
            values.iter().for_each(|&value| f(value));
        }
        Op::Call(call) => {
            if let Callee::Pointer(pointer) = call.callee {
                f(pointer);
            }
            call.arguments.iter().for_each(|&argument| f(argument));
        }
        Op::Return(value) | Op::Branch(value) => value.iter().for_each(|&value| f(value)),
        Op::Switch { value, .. } => f(*value),
    }
}

fn for_each_leaf(scev: &Scev, f: &mut dyn FnMut(Operand)) {
    match scev {
        Scev::Operand(operand) => f(*operand),
        Scev::Nary(_, parts) => {
            assert!(parts.len() > 1);
            parts.iter().for_each(|part| for_each_leaf(part, f));
        }
        Scev::UDiv(a, b) => [a, b].into_iter().for_each(|part| for_each_leaf(part, f)),
        Scev::Cast(_, a, _) => for_each_leaf(a, f),
    }
}

/// A register is there at the start of a block, or before an instruction of it.
fn assert_is_there(code: &Code<'_>, operand: Operand, block: BlockId, before: Option<InstId>) {
    let Operand::Value(value) = operand else { return };
    match code.value(value).def {
        Def::Parameter(function, number) => {
            assert_eq!(function, code.block(block).function);
            assert_eq!(code.function(function).parameters[number as usize], value);
        }
        Def::Inst(inst) => {
            let from = code.inst(inst).block;
            assert_eq!(code.block(from).function, code.block(block).function);
            let in_block = from == block && before.is_some_and(|before| inst < before);
            assert!(
                in_block || (from != block && dominates(code, from, block)),
                "%{} not in b{}",
                value.0,
                block.0
            );
        }
    }
}

/// Each number leads to what it is the number of, registers are there where they are used, PHIs have their predecessors,
/// loops their blocks.
fn check(code: &Code<'_>) {
    for (number, data) in code.values.iter().enumerate() {
        match data.def {
            Def::Parameter(function, place) => {
                assert_eq!(code.function(function).parameters[place as usize].index(), number);
            }
            Def::Inst(inst) => assert_eq!(code.inst(inst).result.map(|id| id.index()), Some(number)),
        }
    }
    for (number, block) in code.blocks.iter().enumerate() {
        let id = BlockId(number as u32);
        assert!(code.function(block.function).blocks.contains(&id.0));
        assert!(block.next.iter().all(|&next| code.block(next).previous.contains(&id)));
        assert!(block.previous.iter().all(|&previous| code.block(previous).next.contains(&id)));
        assert!(block.in_loop.is_none_or(|l| code.loops[l.index()].blocks.contains(&id)));
        for inst in code.insts_of(id) {
            assert_eq!(code.inst(inst).block, id);
            if !block.is_reachable {
                continue;
            }
            match &code.inst(inst).op {
                Op::Phi(ways) => {
                    let comes = |previous| ways.iter().any(|(from, _)| from == previous);
                    assert!(block.previous.iter().all(comes));
                    assert!(ways.iter().all(|(from, _)| block.previous.contains(from)));
                }
                // It may be a PHI.
                Op::Other { .. } => {}
                op => for_each_operand(op, &mut |operand| assert_is_there(code, operand, id, Some(inst))),
            }
        }
    }
    for data in &code.loops {
        assert!(data.blocks.is_sorted() && data.blocks.contains(&data.header));
        assert!(data.blocks.iter().all(|&block| dominates(code, data.header, block)));
        let mut leaf = |operand: Operand| {
            assert!(!matches!(operand, Operand::Undef | Operand::Opaque(_)));
            assert_is_there(code, operand, data.header, None);
        };
        data.most_backedges.iter().for_each(|most| for_each_leaf(most, &mut leaf));
        for recurrence in &data.recurrences {
            let Def::Inst(phi) = code.value(recurrence.value).def else { panic!("a parameter recurs") };
            assert_eq!(code.inst(phi).block, data.header);
            assert!(matches!(code.inst(phi).op, Op::Phi(_)));
            for_each_leaf(&recurrence.start, &mut leaf);
            for_each_leaf(&recurrence.step, &mut leaf);
        }
    }
}
