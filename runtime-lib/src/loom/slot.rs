//! What filters have for a slot.

use super::members::Member;

/// Does what is in the cell.
///
/// # Safety
/// A slot's cell, and its frame.
pub unsafe fn run(_: &Member, _cell: usize, _frame: *const u64) {}
