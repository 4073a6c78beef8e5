//! covsched's data model. It knows neither LLVM nor pthreads.
//!
//! - [`hooks`]: the one table of synchronization calls and of the hooks that replace them
//! - [`site`]: site ids and the site tables that travel in a linker section
//! - [`library`]: library calls that never synchronize
//! - [`loom`]: filters for live processes: what pass, runtime and controller share
//! - [`rawlog`]: what the runtime writes while it records
//! - [`options`]: what `COVSCHED_OPTIONS` says
//! - [`plan`]: what the runtime follows while it enforces a schedule
//! - [`schedule`] (std): schedules, their text, their invariants, their legality, their orders and plans
//! - [`stamp`] (std): what a specialized program was made for
#![cfg_attr(not(feature = "std"), no_std)]

pub mod hash;
pub mod hooks;
pub mod ids;
pub mod library;
pub mod loom;
pub mod options;
pub mod plan;
pub mod rawlog;
#[cfg(feature = "std")]
pub mod schedule;
pub mod site;
#[cfg(feature = "std")]
pub mod stamp;

pub use ids::{Clock, ProgramId, Seq, SiteId, ThreadId};
