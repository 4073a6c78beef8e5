//! Tests of the folder as a whole: against plain arithmetic, against Z3's own evaluation, against brute force.

mod equalities;
mod fast;
mod lemmas;
mod programs;
mod prover;
mod scale;
mod small;
mod terms;
mod typical;
