//! Typical questions, each proven or refuted within its limit; with --nocapture it also prints how fast.
