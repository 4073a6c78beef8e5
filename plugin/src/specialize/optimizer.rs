//! What is done to a specialized program before the optimizer sees it, when it is compiled.
//!
//! LLVM's propagation of constants between functions (IPSCCP) keeps one range for a variable of the module. A counter is
//! one store in a loop; in a specialized program it is a store for each round, each of which makes the range one larger
//! and lets the pass look at all loads again: quadratic, 24 of 37 seconds for a program that counts to 10,000. So
//! variables with very many stores are taken from it (`llvm.compiler.used`). Nothing is lost: such a variable
//! is no constant.
//!
//! Assumes stay: they stand behind a guard with the same condition, and were measured to take no time.

use super::driver::FLAG;
use crate::ir::Module;

/// More stores than programs have that are not specialized; fewer take no time.
const MOST_STORES: usize = 500;

/// Prepares a specialized module for the optimizer; others stay as they are. Returns whether the module changed.
pub fn prepare(module: Module<'_>) -> bool {
    module.has_flag(FLAG) && module.keep_stored(MOST_STORES) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::complaints;

    /// A module with a counter, which so many stores write, and another variable, which one does.
    fn counting(stores: usize) -> String {
        let mut ir = "@counter = internal global i32 0\n@other = internal global i32 0\n".to_owned();
        ir += "define void @f() {\n  store i32 1, ptr @other\n";
        for number in 0..stores {
            ir += &format!("  store i32 {number}, ptr @counter\n");
        }
        ir + "  ret void\n}\n"
    }

    #[test]
    fn a_counter_of_a_specialized_program_is_kept_from_the_optimizer() {
        complaints(&counting(MOST_STORES + 1), |module| {
            assert!(!prepare(module), "it is not specialized");
            module.set_flag(FLAG);
            assert!(prepare(module));
            assert_eq!(module.keep_stored(0), 2, "the module's own list is no store");
        });
    }

    #[test]
    fn a_variable_with_few_stores_is_left_alone() {
        complaints(&counting(MOST_STORES), |module| {
            module.set_flag(FLAG);
            assert!(!prepare(module));
        });
    }
}
