//! What is changed, what is left alone, and that programs do the same afterwards.

mod copy;
