//! A clone's time grows with its nodes.

use super::super::*;
use super::product::straighten;
use super::{function, sync_site, Program};
use crate::testing::complaints;
use std::time::Instant;

/// A function as real ones are: some twenty pieces an iteration, registers and memory, debug info.
const SOURCE: &str = "
int f(int n, int *data);
int (*choice)(int, int *) = f;
int main(int argc, char **argv) { int data[64] = {0}; return choice(argc, data); }
__attribute__((noinline)) int work(int x) { return x * 3; }
int f(int n, int *data) {
  int sum = 0, most = 0, kept = n, last = 1;
  for (int i = 0; i < n; ++i) {
    int local[4];
    local[i & 3] = work(i);
    covsched_sync(1);
    for (int j = 0; j < 4; ++j) if (data[j] > most) most = data[j]; else kept += local[j];
    if (sum & 1) sum += most; else sum -= kept;
    switch (last & 7) { case 0: sum++; break; case 1: sum ^= 5; break; case 2: kept--; break; default: last += sum; }
    data[i & 63] = sum + last;
    covsched_sync(2);
    last = last * 3 + kept;
  }
  return sum + most + kept + last;
}
";

/// Makes a clone with this many synchronizations. Gives the nodes and the engine's seconds.
fn measure(program: &Program, count: usize) -> (u64, f64) {
    let mut result = (0, 0.0);
    complaints(&program.ir, |module| {
        let start = Instant::now();
        let template =
            Template::of(function(module, "f"), |call| sync_site(call).is_some()).expect("no limit");
        let prepared = start.elapsed();
        let items: Vec<u64> = (0..count).map(|number| number as u64 % 2 + 1).collect();
        let body = straighten(&template, module, &items, Guards::Trap);
        let start = Instant::now();
        let clone = template.declare_clone("f.t1.0", Identity::Frame { thread: 1, frame: 0 }, false);
        let made = template.make_clone(clone, &body);
        result = (made.nodes, (prepared + start.elapsed()).as_secs_f64());
    });
    result
}

#[test]
fn time_grows_with_what_is_cloned() {
    for level in ["-O0", "-O1"] {
        let program = Program::new(SOURCE, false, level);
        let most = if std::env::var_os("COVSCHED_TEST_LONG").is_some() { 100_000 } else { 10_000 };
        let mut times = Vec::new();
        for count in [100, 1_000, 10_000, 100_000].into_iter().filter(|&count| count <= most) {
            // The best of three: other processes only make it slower.
            let runs = [(); 3].map(|()| measure(&program, count));
            let nodes = runs[0].0;
            let seconds = runs.iter().map(|run| run.1).fold(f64::INFINITY, f64::min);
            println!("{level}: {count} synchronizations, {nodes} nodes, {seconds:.3} s");
            times.push(seconds / count as f64);
        }
        // Quadratic time would be ten times as much for each step.
        let (first, last) = (times[1], times[times.len() - 1]);
        assert!(last < first * 6.0 + 1e-5, "{times:?}");
    }
}
