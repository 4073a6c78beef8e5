//! The view as text, for tests and for people who look for a bug.
//!
//! One line a variable, function, block, instruction and loop. Numbers are those of the view: `%3` is a register, `b2` a
//! block, `l0` a loop, `@x+8` an address, `opaque(@x)` a constant that mentions one.

use super::{Call, Callee, Code, Initial, InstData, LoopData, Nary, Op, Operand, Scev, Ty, ValueId};
use std::fmt::{self, Display, Formatter};

/// Several, with commas.
fn list<T>(items: impl IntoIterator<Item = T>, show: impl Fn(T) -> String) -> String {
    items.into_iter().map(show).collect::<Vec<_>>().join(", ")
}

fn mark(condition: bool, text: &'static str) -> &'static str {
    if condition {
        text
    } else {
        ""
    }
}

fn name(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

impl Ty {
    fn show(self) -> String {
        match self {
            Ty::Int(width) => format!("i{width}"),
            Ty::Ptr => "ptr".into(),
            Ty::Other => "other".into(),
        }
    }
}

impl Code<'_> {
    fn show_value(&self, id: ValueId) -> String {
        format!("%{}: {}", id.0, self.value(id).ty.show())
    }

    fn show(&self, operand: Operand) -> String {
        match operand {
            Operand::Value(id) => format!("%{}", id.0),
            Operand::Int { value, width } => format!("{value}:i{width}"),
            Operand::Null => "null".into(),
            Operand::Global(id, 0) => format!("@{}", self.globals[id.index()].name),
            Operand::Global(id, offset) => format!("@{}{offset:+}", self.globals[id.index()].name),
            Operand::Function(id) => format!("@{}", self.function(id).name),
            Operand::Undef => "undef".into(),
            Operand::Opaque(id) => {
                format!("opaque({})", list(&self.opaques[id.index()], |&operand| self.show(operand)))
            }
        }
    }

    fn show_scev(&self, scev: &Scev) -> String {
        match scev {
            Scev::Operand(operand) => self.show(*operand),
            Scev::Nary(op, operands) => {
                let sign = match op {
                    Nary::Add => " + ".into(),
                    Nary::Mul => " * ".into(),
                    _ => format!(" {} ", name(op)),
                };
                format!(
                    "({})",
                    operands.iter().map(|part| self.show_scev(part)).collect::<Vec<_>>().join(&sign)
                )
            }
            Scev::UDiv(a, b) => format!("({} / {})", self.show_scev(a), self.show_scev(b)),
            Scev::Cast(op, a, width) => format!("{}({}, i{width})", name(op), self.show_scev(a)),
        }
    }

    fn show_call(&self, call: &Call) -> String {
        let callee = match call.callee {
            Callee::Function(id) => format!("@{}", self.function(id).name),
            Callee::Pointer(pointer) => format!("*{}", self.show(pointer)),
            Callee::Asm => "asm".into(),
        };
        let arguments = list(call.arguments.iter().enumerate(), |(number, &argument)| {
            let by_value = number < 64 && call.by_value >> number & 1 != 0;
            format!("{}{}", mark(by_value, "byval "), self.show(argument))
        });
        let item = call.item.map_or(String::new(), |item| format!(" item {item}"));
        format!(
            "call {callee}({arguments}){}{}{}{item}",
            mark(call.never_returns, " noreturn"),
            mark(call.only_reads && !call.touches_nothing, " readonly"),
            mark(call.touches_nothing, " pure"),
        )
    }

    fn show_op(&self, inst: &InstData<'_>) -> String {
        let show = |operand: &Operand| self.show(*operand);
        match &inst.op {
            Op::Binary { op, a, b, nsw, nuw } => {
                format!("{}{}{} {}, {}", name(op), mark(*nsw, " nsw"), mark(*nuw, " nuw"), show(a), show(b))
            }
            Op::Compare { op, a, b } => format!("{} {}, {}", name(op), show(a), show(b)),
            Op::Cast { op, a } => format!("{} {}", name(op), show(a)),
            Op::Gep { base, offset, terms, inbounds } => {
                let terms: String =
                    terms.iter().map(|(index, scale)| format!(" + {} * {scale}", show(index))).collect();
                format!("gep{} {} + {offset}{terms}", mark(*inbounds, " inbounds"), show(base))
            }
            Op::Select { cond, a, b } => format!("select {}, {}, {}", show(cond), show(a), show(b)),
            Op::Phi(ways) => {
                format!("phi {}", list(ways, |(block, operand)| format!("b{}: {}", block.0, show(operand))))
            }
            Op::Freeze(a) => format!("freeze {}", show(a)),
            Op::Alloca { bytes } => {
                format!("alloca {}", bytes.map_or("?".into(), |bytes| bytes.to_string()))
            }
            Op::Load { address, bytes, is_special } => {
                format!("load{} {bytes} {}", mark(*is_special, " special"), show(address))
            }
            Op::Store { address, value, bytes, is_special } => {
                format!("store{} {bytes} {}, {}", mark(*is_special, " special"), show(address), show(value))
            }
            Op::Exchange { address, values, bytes } => {
                format!("exchange {bytes} {}, {}", show(address), list(values, show))
            }
            Op::Call(call) => self.show_call(call),
            Op::Return(value) => value.as_ref().map_or("return".into(), |v| format!("return {}", show(v))),
            Op::Branch(cond) => cond.as_ref().map_or("branch".into(), |c| format!("branch {}", show(c))),
            Op::Switch { value, cases } => {
                format!("switch {} [{}]", show(value), list(cases, ToString::to_string))
            }
            Op::Unreachable => "unreachable".into(),
            Op::Other { operands, reads, writes } => format!(
                "other{}{} [{}]",
                mark(*reads, " reads"),
                mark(*writes, " writes"),
                list(operands, show)
            ),
        }
    }

    fn show_loop(&self, number: usize, data: &LoopData) -> String {
        let blocks = list(&data.blocks, |block| format!("b{}", block.0));
        let parent = data.parent.map_or(String::new(), |parent| format!(" in l{}", parent.0));
        let most = data
            .most_backedges
            .as_ref()
            .map_or(String::new(), |most| format!(", at most {}", self.show_scev(most)));
        let recurrences: String = data
            .recurrences
            .iter()
            .map(|r| {
                format!(", %{} = {} step {}", r.value.0, self.show_scev(&r.start), self.show_scev(&r.step))
            })
            .collect();
        format!("loop l{number} b{} [{blocks}]{parent}{most}{recurrences}", data.header.0)
    }

    fn dump_globals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for data in &self.globals {
            let initial = match &data.initial {
                Initial::Unknown => "unknown".into(),
                Initial::Zero => "zero".into(),
                Initial::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            };
            let pointers: String = data
                .pointers
                .iter()
                .map(|(offset, pointer)| format!(", {offset}: {}", self.show(*pointer)))
                .collect();
            let undefined: String = data
                .undefined
                .iter()
                .map(|range| format!(", {}..{} undef", range.start, range.end))
                .collect();
            writeln!(
                f,
                "global @{} {}{}{}{} {initial}{pointers}{undefined}",
                data.name,
                data.bytes,
                mark(data.is_constant, " constant"),
                mark(data.is_internal, " internal"),
                mark(data.is_thread_local, " thread_local"),
            )?;
        }
        Ok(())
    }
}

impl Display for Code<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.dump_globals(f)?;
        for data in &self.functions {
            let parameters = list(&data.parameters, |&id| self.show_value(id));
            let clone = data.clone.as_ref().map_or(String::new(), |clone| match clone.frame {
                Some((thread, frame)) => {
                    format!(" clone of {} thread {} frame {frame}", clone.original, thread.0)
                }
                None => format!(" clone of {}", clone.original),
            });
            writeln!(
                f,
                "func @{}({parameters}{}){}{}{}{}{clone}",
                data.name,
                mark(data.is_variadic, " ..."),
                mark(data.is_intrinsic, " intrinsic"),
                mark(data.is_internal, " internal"),
                mark(data.is_address_taken, " taken"),
                mark(data.is_interposable, " interposable"),
            )?;
            for number in data.blocks.clone() {
                let block = &self.blocks[number as usize];
                let idom = block.idom.map_or(String::new(), |idom| format!(" idom b{}", idom.0));
                let in_loop = block.in_loop.map_or(String::new(), |id| format!(" l{}", id.0));
                writeln!(
                    f,
                    "b{number}{idom}{in_loop}{}{} -> {}",
                    mark(!block.is_reachable, " unreachable"),
                    mark(block.in_irreducible_cycle, " irreducible"),
                    list(&block.next, |next| format!("b{}", next.0)),
                )?;
                for inst in &self.insts[block.insts.start as usize..block.insts.end as usize] {
                    let result = inst.result.map_or(String::new(), |id| self.show_value(id) + " = ");
                    writeln!(f, "  {result}{}", self.show_op(inst))?;
                }
            }
        }
        for (number, data) in self.loops.iter().enumerate() {
            writeln!(f, "{}", self.show_loop(number, data))?;
        }
        Ok(())
    }
}
