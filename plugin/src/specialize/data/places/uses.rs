//! Who mentions a function, and how: what says that a clone runs as one thread's, called from one place.

use crate::ir::code::{Callee, Code, FuncId, GlobalId, InstId, Op, Operand};

/// Where something is mentioned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mentions {
    /// Nowhere.
    #[default]
    None,
    /// Once, in an instruction.
    Inst(InstId),
    /// Once, in a variable's initializer.
    Global(GlobalId),
    /// More often, or where nobody knows.
    Many,
}

impl Mentions {
    fn add(&mut self, more: Mentions) {
        *self = if *self == Mentions::None { more } else { Mentions::Many };
    }
}

/// All mentions of functions, and of variables as far as those mention functions.
#[derive(Debug)]
pub struct Uses {
    /// By function: calls by name.
    pub calls: Vec<Mentions>,
    /// By function: all else.
    pub others: Vec<Mentions>,
    /// By variable: the function that mentions it, if it is one.
    globals: Vec<Option<Option<FuncId>>>,
}

impl Uses {
    /// Goes through all code.
    pub fn of(code: &Code<'_>) -> Uses {
        let mut uses = Uses {
            calls: vec![Mentions::None; code.functions.len()],
            others: vec![Mentions::None; code.functions.len()],
            globals: vec![None; code.globals.len()],
        };
        for (number, inst) in (0..).map(InstId).zip(&code.insts) {
            if let Op::Call(call) = &inst.op {
                if let Callee::Function(callee) = call.callee {
                    uses.calls[callee.index()].add(Mentions::Inst(number));
                }
            }
            let function = code.block(inst.block).function;
            for_each_operand(&inst.op, |operand| {
                uses.add(operand, Mentions::Inst(number), Some(function));
            });
        }
        for (number, global) in (0..).map(GlobalId).zip(&code.globals) {
            for &(_, operand) in &global.pointers {
                uses.add(operand, Mentions::Global(number), None);
            }
        }
        // Constants are shared by all who use them.
        for &operand in code.opaques.iter().flatten() {
            uses.add(operand, Mentions::Many, None);
        }
        uses
    }

    fn add(&mut self, operand: Operand, at: Mentions, user: Option<FuncId>) {
        match operand {
            Operand::Function(function) => self.others[function.index()].add(at),
            Operand::Global(global, _) => {
                let known = &mut self.globals[global.index()];
                *known = match *known {
                    None => Some(user),
                    Some(before) => Some(before.filter(|_| before == user)),
                };
            }
            _ => {}
        }
    }

    /// Whether the code of one function alone mentions a variable.
    pub fn is_private_to(&self, global: GlobalId, function: FuncId) -> bool {
        self.globals[global.index()] == Some(Some(function))
    }
}

/// Gives everything that an instruction takes, but for the function that a call names.
pub fn for_each_operand(op: &Op, mut visit: impl FnMut(Operand)) {
    match op {
        Op::Binary { a, b, .. } | Op::Compare { a, b, .. } => [a, b].into_iter().for_each(|&it| visit(it)),
        Op::Cast { a, .. } => visit(*a),
        Op::Gep { base, terms, .. } => {
            visit(*base);
            terms.iter().for_each(|&(index, _)| visit(index));
        }
        Op::Select { cond, a, b } => [cond, a, b].into_iter().for_each(|&it| visit(it)),
        Op::Phi(incoming) => incoming.iter().for_each(|&(_, it)| visit(it)),
        Op::Freeze(a) => visit(*a),
        Op::Alloca { .. } | Op::Unreachable => {}
        Op::Load { address, .. } => visit(*address),
        Op::Store { address, value, .. } => [address, value].into_iter().for_each(|&it| visit(it)),
        Op::Exchange { address, values, .. } => {
            visit(*address);
            values.iter().for_each(|&it| visit(it));
        }
        Op::Call(call) => {
            if let Callee::Pointer(pointer) = call.callee {
                visit(pointer);
            }
            call.arguments.iter().for_each(|&it| visit(it));
        }
        Op::Return(value) | Op::Branch(value) => value.iter().for_each(|&it| visit(it)),
        Op::Switch { value, .. } => visit(*value),
        Op::Other { operands, .. } => operands.iter().for_each(|&it| visit(it)),
    }
}
