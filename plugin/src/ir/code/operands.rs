//! What an instruction takes.

use super::{Callee, Op, Operand};

impl Op {
    /// Every operand.
    pub fn for_each_operand(&self, mut visit: impl FnMut(Operand)) {
        match self {
            &Op::Binary { a, b, .. } | &Op::Compare { a, b, .. } => [a, b].into_iter().for_each(visit),
            &Op::Cast { a, .. } | &Op::Freeze(a) => visit(a),
            Op::Gep { base, terms, .. } => {
                visit(*base);
                terms.iter().for_each(|&(index, _)| visit(index));
            }
            &Op::Select { cond, a, b } => [cond, a, b].into_iter().for_each(visit),
            Op::Phi(incoming) => incoming.iter().for_each(|&(_, operand)| visit(operand)),
            &Op::Load { address, .. } => visit(address),
            &Op::Store { address, value, .. } => [address, value].into_iter().for_each(visit),
            Op::Exchange { address, values, .. } => {
                visit(*address);
                values.iter().for_each(|&operand| visit(operand));
            }
            Op::Call(call) => {
                if let Callee::Pointer(callee) = call.callee {
                    visit(callee);
                }
                call.arguments.iter().for_each(|&operand| visit(operand));
            }
            &Op::Return(operand) | &Op::Branch(operand) => operand.into_iter().for_each(visit),
            &Op::Switch { value, .. } => visit(value),
            Op::Other { operands, .. } => operands.iter().for_each(|&operand| visit(operand)),
            Op::Alloca { .. } | Op::Unreachable => {}
        }
    }
}
