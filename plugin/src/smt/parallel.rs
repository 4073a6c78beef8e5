//! Independent work on all cores: each worker owns its Z3 context and takes the next job from a common counter.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs all jobs and returns their results in the jobs' order.
pub(super) fn each<W: Send, J: Sync, R: Send>(
    workers: &mut [W],
    jobs: &[J],
    run: impl Fn(&mut W, &J) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = |worker: &mut W| {
        let mut done = Vec::new();
        while let Some(job) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, job))
        } {
            done.push((job.0, run(worker, job.1)));
        }
        done
    };
    let count = workers.len().min(jobs.len());
    let mut done: Vec<(usize, R)> = match &mut workers[..count] {
        [] => Vec::new(),
        [only] => take(only),
        several => std::thread::scope(|scope| {
            let threads: Vec<_> = several.iter_mut().map(|worker| scope.spawn(|| take(worker))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().flat_map(join).collect()
        }),
    };
    done.sort_unstable_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..1000).collect();
        let mut workers = [0u64; 3];
        let results = super::each(&mut workers, &jobs, |worker, job| {
            *worker += 1;
            job * 2
        });
        assert_eq!(results, jobs.iter().map(|job| job * 2).collect::<Vec<_>>());
        assert_eq!(workers.iter().sum::<u64>(), 1000);
        let none: Vec<u64> = super::each(&mut workers, &[0u64; 0], |_, job| *job);
        assert!(none.is_empty());
    }
}
