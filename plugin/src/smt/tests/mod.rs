//! Tests of the folder as a whole: against plain arithmetic, against Z3's own evaluation, against brute force.

mod lemmas;
mod programs;
mod prover;
mod small;
mod terms;
