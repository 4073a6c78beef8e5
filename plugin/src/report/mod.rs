//! What the passes tell the user.

pub mod limits;
