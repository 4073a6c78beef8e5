//! The functions that specialization looks at, and what is known of them whatever the schedule: how they come back
//! if they do not synchronize, and whether they can synchronize at all.

use super::graph::{Act, Callee, FunctionId, Graph, Ways};
use covsched_core::SiteId;
use std::collections::{BTreeSet, HashMap};

/// A function that can be cloned.
#[derive(Debug)]
pub struct FunctionGraph {
    /// Its name in the module.
    pub name: String,
    /// Its pieces.
    pub graph: Graph,
    /// How it comes back without synchronizing.
    pub free: Ways,
    /// It, or what it calls by name, has a synchronization: a clone without is another function.
    pub may_synchronize: bool,
}

impl FunctionGraph {
    /// Of a function whose calls are not known yet.
    pub fn new(name: String, graph: Graph) -> FunctionGraph {
        FunctionGraph { name, graph, free: Ways::NONE, may_synchronize: false }
    }
}

/// The functions that are called in a schedule, and those that they call.
#[derive(Debug, Default)]
pub struct Program {
    functions: Vec<FunctionGraph>,
    /// What each derived site calls.
    callees: HashMap<(FunctionId, SiteId), Callee>,
}

impl Program {
    /// Of these functions; their calls name each other by number.
    pub fn new(functions: Vec<FunctionGraph>) -> Program {
        let mut program = Program { functions, callees: HashMap::new() };
        for (number, function) in (0..).zip(&program.functions) {
            for piece in function.graph.pieces() {
                if let Act::Calls { site, callee, .. } = piece.act {
                    program.callees.insert((FunctionId(number), site), callee);
                }
            }
        }
        program.find_out();
        program
    }

    /// Leaves calls as they are: what they come to is not what they name.
    pub fn leave_calls(&mut self, left: &BTreeSet<(FunctionId, SiteId)>) {
        for &(function, site) in left {
            self.functions[function.index()].graph.leave_call(site);
            self.callees.insert((function, site), Callee::Elsewhere);
        }
        self.find_out();
    }

    fn find_out(&mut self) {
        let callers = self.callers();
        for function in &mut self.functions {
            (function.free, function.may_synchronize) = (Ways::NONE, false);
        }
        for (id, callers) in (0..).map(FunctionId).zip(&callers) {
            for caller in callers {
                self.functions[caller.index()].graph.set_free(id, Ways::NONE);
            }
        }
        self.find_free_ways(&callers);
        self.find_synchronizing(&callers);
    }

    /// All functions.
    pub fn functions(&self) -> &[FunctionGraph] {
        &self.functions
    }

    /// A function.
    pub fn function(&self, id: FunctionId) -> &FunctionGraph {
        &self.functions[id.index()]
    }

    /// What a derived site in a function calls; `None` if it has no such site.
    pub fn callee(&self, function: FunctionId, site: SiteId) -> Option<Callee> {
        self.callees.get(&(function, site)).copied()
    }

    fn callers(&self) -> Vec<Vec<FunctionId>> {
        let mut callers = vec![Vec::new(); self.functions.len()];
        for (&(caller, _), callee) in &self.callees {
            if let Callee::Function(callee) = callee {
                callers[callee.index()].push(caller);
            }
        }
        for list in &mut callers {
            list.sort_unstable();
            list.dedup();
        }
        callers
    }

    /// The least solution: a recursion that always synchronizes before it ends does not come back without.
    fn find_free_ways(&mut self, callers: &[Vec<FunctionId>]) {
        let all = (0..self.functions.len() as u32).map(FunctionId);
        let mut work: Vec<FunctionId> = all.collect();
        while let Some(id) = work.pop() {
            let ways = self.functions[id.index()].graph.free_ways();
            if ways == self.functions[id.index()].free {
                continue;
            }
            self.functions[id.index()].free = ways;
            for &caller in &callers[id.index()] {
                self.functions[caller.index()].graph.set_free(id, ways);
                work.push(caller);
            }
        }
    }

    fn find_synchronizing(&mut self, callers: &[Vec<FunctionId>]) {
        let synchronizes = |function: &FunctionGraph| {
            function.graph.pieces().iter().any(|piece| matches!(piece.act, Act::Synchronizes(_)))
        };
        let all = (0..).map(FunctionId).zip(&self.functions);
        let mut work: Vec<FunctionId> = all.filter(|(_, f)| synchronizes(f)).map(|(id, _)| id).collect();
        while let Some(id) = work.pop() {
            if !std::mem::replace(&mut self.functions[id.index()].may_synchronize, true) {
                work.extend(&callers[id.index()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{Leave, Piece};
    use super::*;

    fn ret() -> Piece {
        Piece { leaves: Some(Leave::Returns), ..Piece::plain(&[]) }
    }

    fn sync(next: &[u32]) -> Piece {
        Piece { act: Act::Synchronizes(SiteId(1)), ..Piece::plain(next) }
    }

    fn call(callee: u32, next: &[u32]) -> Piece {
        let callee = Callee::Function(FunctionId(callee));
        Piece { act: Act::Calls { site: SiteId(2), callee, free: Ways::NONE }, ..Piece::plain(next) }
    }

    fn program(functions: Vec<Vec<Piece>>) -> Program {
        let named = |pieces| FunctionGraph::new("f".to_owned(), Graph::new(pieces));
        Program::new(functions.into_iter().map(named).collect())
    }

    fn known(program: &Program) -> Vec<(Ways, bool)> {
        program.functions().iter().map(|f| (f.free, f.may_synchronize)).collect()
    }

    #[test]
    fn a_function_comes_back_without_synchronizing_if_one_path_does() {
        let either = vec![Piece::plain(&[1, 2]), sync(&[2]), ret()];
        let always = vec![sync(&[1]), ret()];
        let never = vec![ret()];
        let callers = [0, 1, 2].map(|callee| vec![call(callee, &[1]), ret()]);
        let found = program([either, always, never].into_iter().chain(callers).collect());
        let expected = [(Ways::RETURNS, true), (Ways::NONE, true), (Ways::RETURNS, false)];
        assert_eq!(known(&found), [expected, expected].concat());
    }

    #[test]
    fn a_recursion_needs_a_path_without_the_call() {
        let endless = vec![call(0, &[1]), ret()];
        let ends = vec![Piece::plain(&[1, 2]), call(1, &[2]), ret()];
        // The recursion is entered before the synchronization, which is then always done.
        let synchronizes = vec![Piece::plain(&[1, 2]), call(2, &[2]), sync(&[3]), ret()];
        let found = program(vec![endless, ends, synchronizes]);
        assert_eq!(known(&found), [(Ways::NONE, false), (Ways::RETURNS, false), (Ways::NONE, true)]);
    }

    #[test]
    fn an_exception_is_a_way_back() {
        let throws = vec![Piece { may_unwind: true, ..Piece::plain(&[]) }];
        let catches = vec![Piece { is_invoke: true, ..call(0, &[1, 2]) }, sync(&[2]), ret()];
        let found = program(vec![throws, catches]);
        assert_eq!(known(&found), [(Ways::UNWINDS, false), (Ways::RETURNS, true)]);
    }
}
