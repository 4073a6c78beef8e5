//! What is there before anything runs: variables' initializers, main, constructors, what unknown code may reach.

use super::locations::LocationId;
use super::memory::ObjectId;
use super::solver::Solver;
use crate::ir::code::{FuncId, GlobalData, GlobalId, Initial, Operand, Ty};

/// LLVM's lists of functions to run before and after main.
pub const CONSTRUCTORS: &str = "llvm.global_ctors";
const DESTRUCTORS: &str = "llvm.global_dtors";

/// What unknown code may not have defined, but calls if the program does.
const REPLACED: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "_Znwm",
    "_Znam",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
];

impl Solver<'_, '_> {
    /// What is there before anything runs: variables' initializers, main, constructors, what unknown code may reach.
    pub fn begin(&mut self) {
        self.escaped.insert(ObjectId::EXTERNAL.0);
        for special in [LocationId::LIBRARY, LocationId::ENVIRONMENT] {
            let object = self.memory.location(special).object;
            let into = self.inside_of(object);
            self.graph.insert(into, special);
            // Unknown code may touch it, but stores nothing there that a program looks for.
            self.escaped.insert(object.0);
        }
        let code = self.code;
        let main = code.functions.iter().position(|function| {
            function.name == "main" && !function.is_internal && !function.blocks.is_empty()
        });
        for (index, global) in code.globals.iter().enumerate() {
            let object = self.object_of_global(GlobalId(index as u32));
            for &(offset, operand) in &global.pointers {
                if let Some(node) = self.operand(operand) {
                    let word = self.word_of(object, offset / 8);
                    self.graph.connect(node, word);
                    if offset % 8 != 0 {
                        let next = self.word_of(object, offset / 8 + 1);
                        self.graph.connect(node, next);
                    }
                }
            }
            let is_elsewhere = is_elsewhere(global);
            if is_elsewhere {
                if ["stdin", "stdout", "stderr"].contains(&global.name.as_str()) {
                    let into = self.inside_of(object);
                    self.graph.insert(into, LocationId::LIBRARY);
                    self.escaped.insert(object.0);
                    continue;
                }
                let into = self.inside_of(object);
                self.graph.insert(into, LocationId::EXTERNAL);
            }
            // The linker's own lists, and what is kept for its sake.
            let is_list = global.name.starts_with("llvm.") && !is_list_of_functions(&global.name);
            if is_elsewhere || is_list || (main.is_none() && !global.is_internal) {
                self.let_escape(object);
            }
        }
        for function in self.listed(CONSTRUCTORS).into_iter().chain(main.map(|index| FuncId(index as u32))) {
            self.activate(function);
            for &parameter in &code.function(function).parameters {
                if let Some(node) =
                    self.values[parameter.index()].filter(|_| code.value(parameter).ty == Ty::Ptr)
                {
                    self.graph.insert(node, LocationId::ENVIRONMENT);
                }
            }
        }
        for function in self.listed(DESTRUCTORS) {
            self.activate(function);
            self.floating.push(function);
        }
        for (index, function) in code.functions.iter().enumerate() {
            let is_found = !function.is_internal && !function.blocks.is_empty();
            if is_found && (main.is_none() || REPLACED.contains(&function.name.as_str())) {
                self.let_escape(self.object_of_function(FuncId(index as u32)));
            }
        }
    }

    /// The functions in a list of LLVM's: entries are a priority, a function, and an object.
    pub fn listed(&self, name: &str) -> Vec<FuncId> {
        let lists = self.code.globals.iter().filter(|global| global.name == name);
        let pointers = lists.flat_map(|list| &list.pointers);
        let functions = pointers.filter_map(|&(offset, operand)| match operand {
            Operand::Function(function) if offset % 24 == 8 => Some(function),
            _ => None,
        });
        functions.filter(|&function| !self.code.function(function).blocks.is_empty()).collect()
    }
}

fn is_list_of_functions(name: &str) -> bool {
    name == CONSTRUCTORS || name == DESTRUCTORS
}

/// Virtual tables of libraries that hold destructors without any effect, and functions that are not there. A class of the
/// program whose base has one holds it only until its own constructor begins.
const EMPTY_TABLES: &[&str] = &["_ZTVNSt6thread6_StateE"];

/// Whether a variable is another module's.
pub fn is_elsewhere(global: &GlobalData) -> bool {
    !EMPTY_TABLES.contains(&global.name.as_str())
        && !global.is_internal
        && global.initial == Initial::Unknown
        && global.pointers.is_empty()
}
