//! Tests of the folder as a whole: against plain arithmetic, against Z3's own evaluation, against brute force.

mod fast;
mod lemmas;
mod measure;
mod programs;
mod prover;
mod small;
mod terms;
