//! Copies for one call each, and locals in registers.
