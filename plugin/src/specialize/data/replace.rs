//! Constants in the places of registers.

use super::constants::{Constant, Fixed};
use super::places::Places;
use super::report::{ConstantFact, Place};
use crate::ir::code::{BlockId, Code, Def, InstId, Op, Ty};
use crate::ir::rewrite::{self, Keep};
use crate::ir::Module;
use crate::specialize::Options;

/// Changes the program.
pub struct Replacer<'a, 'm> {
    /// The program.
    pub module: Module<'m>,
    /// As it was when the constants were found.
    pub code: &'a Code<'m>,
    /// Its order.
    pub places: &'a Places<'a, 'm>,
    /// What is asked for.
    pub options: &'a Options,
}

/// What a replacement did.
pub struct Replaced {
    /// A check was put in.
    pub is_checked: bool,
    /// For people, if there is a place in the source.
    pub fact: Option<ConstantFact>,
}

impl Replacer<'_, '_> {
    /// Puts a constant in a register's place; `None` if that cannot be done. `describe` says where an instruction stands.
    pub fn replace(&self, constant: Constant, describe: &dyn Fn(InstId) -> Place) -> Option<Replaced> {
        let code = self.code;
        let data = code.value(constant.value);
        let (at, kind) = match data.def {
            Def::Inst(inst) => (inst, kind_of(&code.inst(inst).op)),
            Def::Parameter(function, _) => {
                let entry = BlockId(code.function(function).blocks.start);
                // What was put in before has no line.
                let mut insts = code.insts_of(entry);
                let first = InstId(code.block(entry).insts.start);
                let at = insts.find(|&inst| code.inst(inst).inst.location().line != 0).unwrap_or(first);
                (at, "argument")
            }
        };
        let with = match constant.fixed {
            Fixed::Int(number) => rewrite::Constant::Int(number),
            Fixed::Null => rewrite::Constant::Null,
            Fixed::Address(global, offset) => {
                let name = &code.globals[global.index()].name;
                rewrite::Constant::Address(self.module.variable(name)?, offset)
            }
            Fixed::Function(function) => rewrite::Constant::Function(code.function(function).function),
        };
        let place = describe(at);
        let value = show(code, data.ty, constant.fixed);
        let at_source = format!("{}:{} ({})", place.file, place.line, place.function);
        let is_claim = self.options.data.check;
        let text = match is_claim {
            true => format!("the {kind} at {at_source} in {}", place.thread),
            false => format!("the value {value} at {at_source}"),
        };
        let is_checked = constant.is_tainted && !is_claim && !self.options.analysis_only;
        let keep = match (is_claim, is_checked) {
            (true, _) => Keep::Claim { text: &text },
            (false, true) => Keep::Check { text: &text, thread: self.places.thread(at) },
            (false, false) => Keep::Nothing,
        };
        let is_known = place.line != 0;
        let fact = is_known.then_some(ConstantFact { place, kind, value, tainted: constant.is_tainted });
        self.module.replace_uses(data.raw, with, keep).then_some(Replaced { is_checked, fact })
    }
}

fn show(code: &Code<'_>, ty: Ty, fixed: Fixed) -> String {
    match (fixed, ty) {
        (Fixed::Int(number), Ty::Int(width @ 2..64)) => {
            let unused = 64 - width;
            ((number << unused) as i64 >> unused).to_string()
        }
        (Fixed::Int(number), Ty::Int(1)) => number.to_string(),
        (Fixed::Int(number), _) => (number as i64).to_string(),
        (Fixed::Null, _) => "null".to_owned(),
        (Fixed::Address(global, 0), _) => format!("&{}", code.globals[global.index()].name),
        (Fixed::Address(global, offset), _) => format!("&{}{offset:+}", code.globals[global.index()].name),
        (Fixed::Function(function), _) => format!("&{}", code.function(function).name),
    }
}

fn kind_of(op: &Op) -> &'static str {
    match op {
        Op::Load { .. } => "load",
        Op::Call(_) => "call",
        Op::Phi(_) => "phi",
        Op::Compare { .. } => "compare",
        Op::Binary { .. } => "binary",
        _ => "other",
    }
}
