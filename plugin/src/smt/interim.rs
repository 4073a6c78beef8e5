#![allow(missing_docs)]
use super::z3::*;
use super::{Term, Terms};
use std::time::Duration;
#[derive(Clone, Debug, PartialEq, Eq, Hash)] pub enum Goal { Equal(Term, Term), Different(Term, Term), Disjoint { a: Term, a_bytes: u64, b: Term, b_bytes: u64 }, Holds(Term) }
#[derive(Clone, Debug)] pub struct Question { pub context: Vec<Term>, pub goal: Goal }
#[derive(Clone, Debug)] pub enum Answer { Proven { guards: Vec<u32> }, Unreachable { guards: Vec<u32> }, Refuted, Unknown(Why) }
#[derive(Clone, Debug, Default)] pub struct Facts { pub always: Vec<Term>, pub guards: Vec<Term> }
#[derive(Clone, Debug)] pub struct Candidate { pub context: Vec<Term>, pub value: Term }
#[derive(Clone, Debug)] pub struct Constant { pub value: u64, pub with_guards: bool }
pub enum Consistency { Yes, No { core: Vec<usize> }, Unknown }
pub struct Limits { pub query: Duration, pub total: Duration }
#[derive(Clone, Copy, Default)] pub struct Stats { pub queries: u64, pub unknown: u64, pub fast: u64 }
pub struct Prover { limits: Limits, stats: Stats }
struct Open { engine: Engine, solver: SolverId, literals: Vec<Literal> }
impl Open {
    fn new(terms: &Terms, facts: &Facts) -> Result<Open, Failure> {
        let mut engine = Engine::new()?;
        let solver = engine.solver(Procedure::Incremental, Mode::Exact)?;
        for &f in &facts.always { engine.assert(solver, terms, f, None)?; }
        let mut literals = vec![];
        for &f in &facts.guards { let l = engine.literal()?; engine.assert(solver, terms, f, Some(l))?; literals.push(l); }
        Ok(Open { engine, solver, literals })
    }
}
impl Prover {
    pub fn new(limits: Limits) -> Prover { Prover { limits, stats: Stats::default() } }
    pub fn stats(&self) -> Stats { self.stats }
    pub fn ask(&mut self, terms: &Terms, facts: &Facts, questions: &[Question]) -> Vec<Answer> {
        let mut open = None;
        questions.iter().map(|q| { 
            let mut terms2;
            let negated = { terms2 = terms.clone(); match q.goal {
                Goal::Equal(a, b) => terms2.ne(a, b), Goal::Different(a, b) => terms2.eq(a, b), Goal::Holds(t) => terms2.not(t),
                Goal::Disjoint { a, a_bytes, b, b_bytes } => {
                    let d = terms2.sub(a, b); let n = terms2.constant(64, b_bytes); let x = terms2.ult(d, n);
                    let e = terms2.sub(b, a); let m = terms2.constant(64, a_bytes); let y = terms2.ult(e, m); terms2.or(x, y) } } };
            self.stats.queries += 1;
            if terms2.as_constant(negated) == Some(0) { self.stats.fast += 1; return Answer::Proven { guards: vec![] }; }
            if terms2.as_constant(negated) == Some(1) { self.stats.fast += 1; return Answer::Refuted; }
            // fresh per question
            let o: Result<Open, Failure> = (|| Open::new(&terms2, facts))();
            open = Some(());
            let _ = &open;
            let mut o = match o { Ok(o) => o, Err(f) => return Answer::Unknown(f.into()) };
            for &c in &q.context { if let Err(f) = o.engine.assert(o.solver, &terms2, c, None) { return Answer::Unknown(f.into()); } }
            if let Err(f) = o.engine.assert(o.solver, &terms2, negated, None) { return Answer::Unknown(f.into()); }
            match o.engine.check(o.solver, &o.literals.clone(), self.limits.query) {
                Outcome::Sat => Answer::Refuted,
                Outcome::Unsat => { let core = o.engine.core(o.solver).unwrap_or_default();
                    Answer::Proven { guards: core.iter().filter_map(|l| o.literals.iter().position(|m| m == l)).map(|i| i as u32).collect() } }
                Outcome::Unknown(w) => { self.stats.unknown += 1; Answer::Unknown(w) }
            } }).collect()
    }
    pub fn find_constants(&mut self, terms: &Terms, facts: &Facts, c: &[Candidate]) -> Vec<Option<Constant>> {
        let Ok(mut o) = Open::new(terms, facts) else { return vec![None; c.len()] };
        let literals = o.literals.clone();
        let mut seen: Vec<Option<u64>> = vec![None; c.len()];
        let mut alive = vec![true; c.len()];
        for i in 0..c.len() {
            if !alive[i] { continue; }
            loop {
                o.engine.push(o.solver).ok();
                for &t in &c[i].context { o.engine.assert(o.solver, terms, t, None).ok(); }
                if let Some(v) = seen[i] { o.engine.assert_one_differs(o.solver, terms, &[Differs { context: &[], value: Some((c[i].value, v)) }]).ok(); }
                self.stats.queries += 1;
                let out = o.engine.check(o.solver, &literals, self.limits.query);
                match out {
                    Outcome::Sat => {
                        let m = o.engine.model(o.solver, terms).unwrap_or_default();
                        let get = |t: Term| m.get(&t).copied().unwrap_or(0);
                        for j in i..c.len() {
                            if !alive[j] || c[j].context.iter().any(|&t| terms.eval(t, &get) == 0) { continue; }
                            let v = terms.eval(c[j].value, &get);
                            match seen[j] { None => seen[j] = Some(v), Some(o) if o != v => alive[j] = false, _ => {} }
                        }
                        if seen[i].is_none() { alive[i] = false; }
                    }
                    Outcome::Unsat => { if seen[i].is_none() { alive[i] = false; } o.engine.pop(o.solver).ok(); break; }
                    Outcome::Unknown(_) => { self.stats.unknown += 1; alive[i] = false; }
                }
                o.engine.pop(o.solver).ok();
                if !alive[i] { break; }
            }
        }
        (0..c.len()).map(|i| seen[i].filter(|_| alive[i]).map(|value| Constant { value, with_guards: true })).collect()
    }
    pub fn consistent(&mut self, terms: &Terms, facts: &Facts) -> Consistency {
        let Ok(mut o) = Open::new(terms, facts) else { return Consistency::Unknown };
        match o.engine.check(o.solver, &o.literals.clone(), self.limits.query) {
            Outcome::Sat => Consistency::Yes, Outcome::Unknown(_) => Consistency::Unknown,
            Outcome::Unsat => { let core = o.engine.core(o.solver).unwrap_or_default();
                Consistency::No { core: core.iter().filter_map(|l| o.literals.iter().position(|m| m == l)).map(|i| i + facts.always.len()).collect() } }
        }
    }
}
