//! Bounds and recurrences hold in runs: random nests of two loops over small integers, executed in the view itself.

use super::LAYOUT;
use crate::ir::code::{
    Binary, BlockId, Cast, Code, Compare, FuncId, LoopId, Nary, Op, Operand, Scev, Summaries, Ty,
};
use crate::testing::complaints;

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn any<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const TESTS: [&str; 8] = ["ult", "ule", "slt", "sle", "sgt", "ugt", "ne", "sge"];
const STEPS: [&str; 8] = ["1", "1", "2", "3", "-1", "-1", "-2", "-3"];
const WRAPS: [&str; 4] = ["", "nsw", "nuw", "nuw nsw"];
const WIDTHS: [&str; 3] = ["i8", "i8", "i16"];

/// `for (i = ...) for (j = ...)`, where the inner loop may depend on the outer counter, and either may end early.
fn nest(numbers: &mut Numbers, number: usize) -> String {
    let (outer, inner) = (numbers.any(&WIDTHS), numbers.any(&WIDTHS));
    let extend = if outer == inner {
        format!("%k = xor {outer} %i, 0")
    } else if inner == "i16" {
        format!("%k = {} i8 %i to i16", numbers.any(&["zext", "sext"]))
    } else {
        "%k = trunc i16 %i to i8".into()
    };
    let change = ["add", "sub", "mul"][numbers.below(3)];
    let (n, m) = (format!("%n.{outer}"), format!("%m.{inner}"));
    let starts = ["0", "%k", "%k1", m.as_str(), "5"];
    let limits = [m.as_str(), "%k", "%k1", "10", "-7"];
    let own_limits = [n.as_str(), n.as_str(), "12", "-4"];
    format!(
        "define void @f{number}(i8 %n.i8, i16 %n.i16, i8 %m.i8, i16 %m.i16) {{
         entry:
           br label %outer
         outer:
           %i = phi {outer} [ {}, %entry ], [ %i1, %outer.next ]
           {extend}
           %k1 = {change} {inner} %k, {}
           %c = icmp {} {outer} %i, {}
           br i1 %c, label %inner, label %end
         inner:
           %j = phi {inner} [ {}, %outer ], [ %j1, %body ]
           %l = phi {inner} [ %k1, %outer ], [ %l1, %body ]
           %d = icmp {} {inner} %j, {}
           br i1 %d, label %body, label %outer.next
         body:
           %j1 = add {} {inner} %j, {}
           %l1 = add {inner} %l, %k
           %e = icmp {} {inner} %l, {}
           br i1 %e, label %inner, label %outer.next
         outer.next:
           %i1 = add {} {outer} %i, {}
           br label %outer
         end:
           ret void
         }}\n",
        numbers.any(&["0", "1", n.as_str()]),
        numbers.any(&["1", "2", "-1"]),
        numbers.any(&TESTS),
        numbers.any(&own_limits),
        numbers.any(&starts),
        numbers.any(&TESTS),
        numbers.any(&limits),
        numbers.any(&WRAPS),
        numbers.any(&STEPS),
        numbers.any(&TESTS),
        numbers.any(&limits),
        numbers.any(&WRAPS),
        numbers.any(&STEPS),
    )
}

fn cut(value: u64, width: u32) -> u64 {
    value & (u64::MAX >> (64 - width))
}

fn signed(value: u64, width: u32) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

/// A run of a function. Ends without a verdict where the program would be undefined, or does not end.
struct Run<'c> {
    code: &'c Code<'c>,
    values: Vec<u64>,
    /// How often each loop came back to its header since it was entered, and how often it may.
    loops: Vec<(u64, Option<u64>)>,
    /// Starts and steps of a loop's recurrences, as of when it was entered.
    growth: Vec<Vec<(u64, u64)>>,
    checks: usize,
    /// What did not hold. It counts if the run ends well: bounds may rest on overflow that would be undefined later on.
    wrong: Vec<String>,
}

impl Run<'_> {
    fn width(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Int { width, .. } => width,
            Operand::Value(id) => match self.code.value(id).ty {
                Ty::Int(width) => width,
                ty => panic!("{ty:?} is no integer"),
            },
            _ => panic!("{operand:?} is no integer"),
        }
    }

    fn get(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Int { value, .. } => value,
            Operand::Value(id) => self.values[id.index()],
            _ => panic!("{operand:?} is no integer"),
        }
    }

    /// Value and width.
    fn scev(&self, scev: &Scev) -> (u64, u32) {
        match scev {
            Scev::Operand(operand) => (self.get(*operand), self.width(*operand)),
            Scev::Nary(op, parts) => {
                let parts: Vec<(u64, u32)> = parts.iter().map(|part| self.scev(part)).collect();
                let width = parts[0].1;
                assert!(parts.iter().all(|part| part.1 == width), "widths differ in {scev:?}");
                let of = |a: u64, b: u64| match op {
                    Nary::Add => cut(a.wrapping_add(b), width),
                    Nary::Mul => cut(a.wrapping_mul(b), width),
                    Nary::UMax => a.max(b),
                    Nary::UMin => a.min(b),
                    Nary::SMax => cut(signed(a, width).max(signed(b, width)) as u64, width),
                    Nary::SMin => cut(signed(a, width).min(signed(b, width)) as u64, width),
                };
                (parts.iter().map(|part| part.0).reduce(of).unwrap_or(0), width)
            }
            Scev::UDiv(a, b) => {
                let ((a, width), (b, other)) = (self.scev(a), self.scev(b));
                assert_eq!(width, other);
                (a.checked_div(b).unwrap_or(0), width)
            }
            Scev::Cast(op, a, to) => {
                let (value, from) = self.scev(a);
                (if *op == Cast::SExt { cut(signed(value, from) as u64, *to) } else { cut(value, *to) }, *to)
            }
        }
    }

    /// `None` if it is undefined.
    fn compute(&self, op: &Op, width: u32) -> Option<u64> {
        match op {
            Op::Binary { op, a, b, nsw, nuw } => {
                let (x, y) = (self.get(*a), self.get(*b));
                let (sx, sy) = (signed(x, width), signed(y, width));
                let (unsigned, exact) = match op {
                    Binary::Add => (x + y, sx + sy),
                    Binary::Sub => (x.wrapping_sub(y), sx - sy),
                    Binary::Mul => (x * y, sx * sy),
                    Binary::Xor => (x ^ y, sx ^ sy),
                    _ => panic!("{op:?} is not in the nests"),
                };
                let result = cut(unsigned, width);
                let overflows = (*nsw && exact != signed(result, width)) || (*nuw && unsigned != result);
                (!overflows).then_some(result)
            }
            Op::Compare { op, a, b } => {
                let width = self.width(*a);
                let (x, y) = (self.get(*a), self.get(*b));
                let (sx, sy) = (signed(x, width), signed(y, width));
                Some(u64::from(match op {
                    Compare::Eq => x == y,
                    Compare::Ne => x != y,
                    Compare::Ult => x < y,
                    Compare::Ule => x <= y,
                    Compare::Ugt => x > y,
                    Compare::Uge => x >= y,
                    Compare::Slt => sx < sy,
                    Compare::Sle => sx <= sy,
                    Compare::Sgt => sx > sy,
                    Compare::Sge => sx >= sy,
                }))
            }
            Op::Cast { op, a } => {
                let value = self.get(*a);
                let value = if *op == Cast::SExt { signed(value, self.width(*a)) as u64 } else { value };
                Some(cut(value, width))
            }
            _ => panic!("{op:?} is not in the nests"),
        }
    }

    fn phis(&mut self, block: BlockId, from: BlockId) {
        let of = |inst| match &self.code.inst(inst).op {
            Op::Phi(ways) => {
                let way = ways.iter().find(|way| way.0 == from).expect("one way each");
                Some((self.code.inst(inst).result.expect("a register").index(), self.get(way.1)))
            }
            _ => None,
        };
        let new: Vec<(usize, u64)> = self.code.insts_of(block).map_while(of).collect();
        new.into_iter().for_each(|(register, value)| self.values[register] = value);
    }

    /// Control comes to a loop's header.
    fn at_header(&mut self, id: LoopId, from: BlockId) {
        let data = &self.code.loops[id.index()];
        if data.blocks.contains(&from) {
            let (times, most) = &mut self.loops[id.index()];
            *times += 1;
            if most.is_some_and(|most| *times > most) {
                self.wrong.push(format!("l{} goes back more than {most:?} times", id.0));
            }
        } else {
            let most = data.most_backedges.as_ref().map(|most| self.scev(most).0);
            self.loops[id.index()] = (0, most);
            self.growth[id.index()] =
                data.recurrences.iter().map(|r| (self.scev(&r.start).0, self.scev(&r.step).0)).collect();
        }
        self.phis(data.header, from);
        let times = self.loops[id.index()].0;
        for (recurrence, &(start, step)) in data.recurrences.iter().zip(&self.growth[id.index()]) {
            let width = self.width(Operand::Value(recurrence.value));
            let expected = cut(start.wrapping_add(step.wrapping_mul(times)), width);
            let value = self.values[recurrence.value.index()];
            if value != expected {
                self.wrong.push(format!("%{} is {value}, not {expected}", recurrence.value.0));
            }
            self.checks += 1;
        }
    }

    fn ends_well(&mut self, function: FuncId, arguments: &[u64]) -> bool {
        let data = self.code.function(function);
        for (parameter, &argument) in data.parameters.iter().zip(arguments) {
            self.values[parameter.index()] = argument;
        }
        let mut at = BlockId(data.blocks.start);
        for _ in 0..20_000 {
            for inst in self.code.insts_of(at).map(|id| self.code.inst(id)) {
                let Some(result) = inst.result else { continue };
                if matches!(inst.op, Op::Phi(_)) {
                    continue;
                }
                let width = self.width(Operand::Value(result));
                let Some(value) = self.compute(&inst.op, width) else { return false };
                self.values[result.index()] = value;
            }
            let last = self.code.insts_of(at).last().expect("a terminator");
            let block = self.code.block(at);
            let next = match self.code.inst(last).op {
                Op::Branch(Some(condition)) => block.next[usize::from(self.get(condition) == 0)],
                Op::Branch(None) => block.next[0],
                _ => return true,
            };
            match self.code.block(next).in_loop {
                Some(id) if self.code.loops[id.index()].header == next => self.at_header(id, at),
                _ => self.phis(next, at),
            }
            at = next;
        }
        false
    }
}

#[test]
fn bounds_and_recurrences_hold_in_runs() {
    let mut numbers = Numbers(6);
    let ir: String = (0..1000).map(|number| nest(&mut numbers, number)).collect();
    complaints(&format!("{LAYOUT}{ir}"), |module| {
        let code = Code::of(module, &Summaries::default());
        super::check(&code);
        let (mut checks, mut inner_bounds) = (0, 0);
        for function in (0..code.functions.len() as u32).map(FuncId) {
            for _ in 0..20 {
                let arguments = [255, 65535, 255, 65535].map(|most| {
                    if numbers.below(2) == 0 {
                        numbers.below(20) as u64
                    } else {
                        most - numbers.below(200) as u64
                    }
                });
                let mut run = Run {
                    code: &code,
                    values: vec![0; code.values.len()],
                    loops: vec![(0, None); code.loops.len()],
                    growth: vec![Vec::new(); code.loops.len()],
                    checks: 0,
                    wrong: Vec::new(),
                };
                if !run.ends_well(function, &arguments) {
                    continue;
                }
                assert_eq!(run.wrong.first(), None, "{}({arguments:?})", code.function(function).name);
                checks += run.checks;
            }
        }
        for data in &code.loops {
            inner_bounds += usize::from(data.parent.is_some() && data.most_backedges.is_some());
        }
        assert!(checks > 10_000 && inner_bounds > 300, "{checks} checks, {inner_bounds} bounds");
    });
}
