//! The interprocedural control-flow graph of a program, and what can be reached on it.
