//! interim

use crate::analysis::calls::{Calls, Meaning};
use crate::ir::unroll::{Remark, Unrolled};
use crate::ir::Module;
use crate::parameters::UnrollOptions;

/// interim
pub fn unroll(module: Module<'_>, options: UnrollOptions) -> bool {
    let calls = Calls::of(module);
    let mut changed = false;
    for body in calls.bodies() {
        let mut headers: Vec<u32> = body.calls.iter().filter(|c| calls.meaning(c) != Meaning::Nothing)
            .filter_map(|c| c.inst.loop_of()).collect();
        headers.sort();
        headers.dedup();
        if headers.is_empty() { continue; }
        for done in body.facts.function.unroll_loops(&headers, options.factor, "covsched_epoch_marker") {
            eprintln!("{} {:?} {}", body.facts.name, done.location, done.what.describe());
            let kind = if matches!(done.what, Unrolled::Left(_)) { Remark::Missed } else { Remark::Done };
            body.facts.function.remark(Some(&done), kind, &done.what.describe());
            changed |= kind == Remark::Done;
        }
    }
    changed
}
