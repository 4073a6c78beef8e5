//! The runtime from outside: the archive is built, C and C++ programs are linked with it and run, and their
//! recordings are read with core's types. The programs call hooks by hand, so no plugin is needed.

mod epochs;
mod link;
mod loomed;
mod loomed_faults;
mod loomed_waits;
mod record;
mod support;
