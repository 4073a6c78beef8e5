//! Questions of which all must hold: once one of them does not, nobody needs the answers of the others.

use std::sync::atomic::{AtomicBool, Ordering};

/// Which groups want to know each question, and which of them are lost. Shared by all workers: they may see late that a
/// group is lost, and have asked for nothing then.
pub(super) struct Groups {
    lost: Vec<AtomicBool>,
    /// Of each question.
    wanting: Vec<Vec<usize>>,
}

impl Groups {
    /// So many groups, and no question yet.
    pub fn new(groups: usize) -> Groups {
        Groups { lost: (0..groups).map(|_| AtomicBool::new(false)).collect(), wanting: Vec::new() }
    }

    /// So many questions, each of which counts for itself.
    pub fn apart(questions: usize) -> Groups {
        let mut groups = Groups::new(questions);
        groups.wanting = (0..questions).map(|question| vec![question]).collect();
        groups
    }

    /// A group wants to know a question, which may be the next new one.
    pub fn want(&mut self, question: usize, group: usize) {
        if question == self.wanting.len() {
            self.wanting.push(Vec::new());
        }
        self.wanting[question].push(group);
    }

    /// A group is lost.
    pub fn lose(&self, group: usize) {
        self.lost[group].store(true, Ordering::Relaxed);
    }

    /// Whether it is.
    pub fn is_lost(&self, group: usize) -> bool {
        self.lost[group].load(Ordering::Relaxed)
    }

    /// A question does not hold, or nobody knows.
    pub fn fails(&self, question: usize) {
        self.wanting[question].iter().for_each(|&group| self.lose(group));
    }

    /// Nobody wants to know any more.
    pub fn is_moot(&self, question: usize) -> bool {
        self.wanting[question].iter().all(|&group| self.is_lost(group))
    }
}
