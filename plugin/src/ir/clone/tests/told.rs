//! What a node can be told: other callees, flags, pointers that are checked, threads that are started.

use super::super::*;
use super::{function, text_of};
use crate::testing::complaints;
