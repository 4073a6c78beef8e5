//! Terms as Z3's formulas. Terms of one bit are Z3's booleans, all others its bit-vectors.

use super::bits::{signed, signed_min, Binary};
use super::terms::{Term, Terms, View};
use super::z3::{Engine, Failure, Mode};
use std::ffi::CString;
use z3_sys::*;

type Make2 = unsafe extern "C" fn(Z3_context, Z3_ast, Z3_ast) -> Option<Z3_ast>;

impl Terms {
    /// A multiplication or division of unknowns: dear to bit-blast, and abstracted at first.
    pub(super) fn is_nonlinear(&self, term: Term) -> bool {
        matches!(
            self.view(term),
            View::Product(_) | View::Binary(Binary::Udiv | Binary::Sdiv | Binary::Urem | Binary::Srem, _, _)
        )
    }
}

impl Engine {
    pub(super) fn sort(&mut self, width: u32) -> Result<Z3_sort, Failure> {
        if let Some(known) = self.sorts[width as usize] {
            return Ok(known);
        }
        // SAFETY: sorts are formulas to the reference counts.
        let sort = unsafe {
            match width {
                1 => Z3_mk_bool_sort(self.context),
                _ => Z3_mk_bv_sort(self.context, width),
            }
        };
        let sort = sort.ok_or_else(|| self.failure())?;
        let formula = unsafe { Z3_sort_to_ast(self.context, sort) };
        self.keep(formula)?;
        self.sorts[width as usize] = Some(sort);
        Ok(sort)
    }

    pub(super) fn number(&mut self, width: u32, value: u64) -> Result<Z3_ast, Failure> {
        let sort = self.sort(width)?;
        // SAFETY: the sort is this context's.
        let formula = unsafe {
            match (width, value) {
                (1, 0) => Z3_mk_false(self.context),
                (1, _) => Z3_mk_true(self.context),
                _ => Z3_mk_unsigned_int64(self.context, value, sort),
            }
        };
        self.keep(formula)
    }

    fn make(&mut self, make: Make2, a: Z3_ast, b: Z3_ast) -> Result<Z3_ast, Failure> {
        // SAFETY: both are this context's; wrong sorts are an error, not a crash.
        let formula = unsafe { make(self.context, a, b) };
        self.keep(formula)
    }

    fn made(&self, term: Term, mode: Mode) -> Option<Z3_ast> {
        let made = match mode {
            Mode::Exact => &self.exact,
            Mode::Abstract => &self.abstracted,
        };
        made.get(term.index()).copied().flatten()
    }

    /// The formula of a term, made once for each mode.
    pub(super) fn formula(&mut self, terms: &Terms, term: Term, mode: Mode) -> Result<Z3_ast, Failure> {
        if let Some(made) = self.made(term, mode) {
            return Ok(made);
        }
        if self.exact.len() < terms.len() {
            self.exact.resize(terms.len(), None);
            self.abstracted.resize(terms.len(), None);
        }
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            if self.made(next, mode).is_some() {
                open.pop();
                continue;
            }
            let is_opaque = mode == Mode::Abstract && terms.is_nonlinear(next);
            let waiting = open.len();
            if !is_opaque {
                terms.operands(next, |operand| {
                    if self.made(operand, mode).is_none() {
                        open.push(operand);
                    }
                });
            }
            if open.len() > waiting {
                continue;
            }
            open.pop();
            let formula = if is_opaque {
                let sort = self.sort(terms.width(next))?;
                let name = self.symbol(&CString::new(format!("t{}", next.0)).unwrap_or_default())?;
                // SAFETY: name and sort are this context's.
                let formula = unsafe { Z3_mk_const(self.context, name, sort) };
                self.keep(formula)?
            } else {
                self.node(terms, next, mode)?
            };
            match mode {
                Mode::Exact => self.exact[next.index()] = Some(formula),
                Mode::Abstract => self.abstracted[next.index()] = Some(formula),
            }
        }
        self.made(term, mode).ok_or_else(|| Failure("a formula was not made".into()))
    }

    /// One node whose operands' formulas are there.
    fn node(&mut self, terms: &Terms, term: Term, mode: Mode) -> Result<Z3_ast, Failure> {
        let width = terms.width(term);
        let context = self.context;
        let of = |engine: &Engine, operand: Term| {
            engine.made(operand, mode).ok_or_else(|| Failure("an operand was not made".into()))
        };
        match terms.view(term) {
            View::Constant(value) => self.number(width, value),
            View::Variable(index) => {
                let sort = self.sort(width)?;
                // SAFETY: the model is read by these numbers.
                let formula = unsafe {
                    let name = Z3_mk_int_symbol(context, index as i32).ok_or_else(|| self.failure())?;
                    Z3_mk_const(context, name, sort)
                };
                self.keep(formula)
            }
            View::Sum(parts, constant) => self.sum(terms, width, parts, constant, mode),
            View::Product(factors) => {
                let mut product = of(self, factors[0])?;
                for &factor in &factors[1..] {
                    let factor = of(self, factor)?;
                    product = self.make(Z3_mk_bvmul, product, factor)?;
                }
                Ok(product)
            }
            View::Binary(op, a, b) => {
                let is_boolean = terms.width(a) == 1;
                let (a, b) = (of(self, a)?, of(self, b)?);
                let make: Make2 = match op {
                    Binary::And | Binary::Or if is_boolean => {
                        // SAFETY: two formulas are given.
                        let formula = unsafe {
                            match op {
                                Binary::And => Z3_mk_and(context, 2, [a, b].as_ptr()),
                                _ => Z3_mk_or(context, 2, [a, b].as_ptr()),
                            }
                        };
                        return self.keep(formula);
                    }
                    Binary::Xor if is_boolean => Z3_mk_xor,
                    Binary::And => Z3_mk_bvand,
                    Binary::Or => Z3_mk_bvor,
                    Binary::Xor => Z3_mk_bvxor,
                    Binary::Udiv => Z3_mk_bvudiv,
                    Binary::Sdiv => Z3_mk_bvsdiv,
                    Binary::Urem => Z3_mk_bvurem,
                    Binary::Srem => Z3_mk_bvsrem,
                    Binary::Shl => Z3_mk_bvshl,
                    Binary::Lshr => Z3_mk_bvlshr,
                    Binary::Ashr => Z3_mk_bvashr,
                    Binary::Eq => Z3_mk_eq,
                    Binary::Ult => Z3_mk_bvult,
                    Binary::Slt => Z3_mk_bvslt,
                };
                self.make(make, a, b)
            }
            View::Not(a) => {
                let a = of(self, a)?;
                // SAFETY: a boolean of this context.
                let formula = unsafe { Z3_mk_not(context, a) };
                self.keep(formula)
            }
            View::Ite(condition, a, b) => {
                let (condition, a, b) = (of(self, condition)?, of(self, a)?, of(self, b)?);
                // SAFETY: formulas of this context.
                let formula = unsafe { Z3_mk_ite(context, condition, a, b) };
                self.keep(formula)
            }
            View::Extract(a, low) => {
                let a = of(self, a)?;
                // SAFETY: bits within the operand.
                let bits = unsafe { Z3_mk_extract(context, low + width - 1, low, a) };
                let bits = self.keep(bits)?;
                if width > 1 {
                    return Ok(bits);
                }
                // One bit is a vector to Z3 and a boolean here.
                let one = unsafe {
                    let sort = Z3_get_sort(context, bits).ok_or_else(|| self.failure())?;
                    Z3_mk_unsigned_int64(context, 1, sort)
                };
                let one = self.keep(one)?;
                self.make(Z3_mk_eq, bits, one)
            }
            View::Zext(a) | View::Sext(a) => {
                let from = terms.width(a);
                let is_signed = matches!(terms.view(term), View::Sext(_));
                let a = of(self, a)?;
                if from == 1 {
                    let yes = self.number(width, if is_signed { super::bits::mask(width) } else { 1 })?;
                    let no = self.number(width, 0)?;
                    // SAFETY: formulas of this context.
                    let formula = unsafe { Z3_mk_ite(context, a, yes, no) };
                    return self.keep(formula);
                }
                // SAFETY: a bit-vector of this context.
                let formula = unsafe {
                    match is_signed {
                        true => Z3_mk_sign_ext(context, width - from, a),
                        false => Z3_mk_zero_ext(context, width - from, a),
                    }
                };
                self.keep(formula)
            }
        }
    }

    /// Positive coefficients are added, negative ones subtracted: fewer adders than a multiplication by -1.
    fn sum(
        &mut self,
        terms: &Terms,
        width: u32,
        parts: &[(Term, u64)],
        constant: u64,
        mode: Mode,
    ) -> Result<Z3_ast, Failure> {
        let mut positive = Vec::with_capacity(parts.len() + 1);
        let mut negative = Vec::new();
        for &(part, by) in parts {
            if let View::Zext(condition) = terms.view(part) {
                // A boolean times a number is the number or nothing.
                if let (1, Some(condition)) = (terms.width(condition), self.made(condition, mode)) {
                    let (yes, no) = (self.number(width, by)?, self.number(width, 0)?);
                    // SAFETY: formulas of this context.
                    let chosen = unsafe { Z3_mk_ite(self.context, condition, yes, no) };
                    positive.push(self.keep(chosen)?);
                    continue;
                }
            }
            let formula = self.made(part, mode).ok_or_else(|| Failure("a part was not made".into()))?;
            let times = signed(width, by);
            let is_negative = times < 0 && times != signed_min(width);
            let times = if is_negative { times.unsigned_abs() } else { by };
            let formula = match times {
                1 => formula,
                _ => {
                    let times = self.number(width, times)?;
                    self.make(Z3_mk_bvmul, times, formula)?
                }
            };
            if is_negative { &mut negative } else { &mut positive }.push(formula);
        }
        if constant != 0 || positive.is_empty() {
            positive.push(self.number(width, constant)?);
        }
        let mut sum = positive[0];
        for &more in &positive[1..] {
            sum = self.make(Z3_mk_bvadd, sum, more)?;
        }
        for &less in &negative {
            sum = self.make(Z3_mk_bvsub, sum, less)?;
        }
        Ok(sum)
    }
}
