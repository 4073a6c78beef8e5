//! What a translation unit carries besides its code: its site table, the registration that makes the linked
//! object's tables known to the runtime, and its bitcode.
//!
//! The bitcode is the module as it is right after the calls were replaced, table included, so that what is recorded
//! and what is analysed later name the same sites. Under LTO a merged module in which some units kept theirs does
//! not get another copy of everything: a limit.

use crate::epoch;
use crate::instrument::apply::{Declarations, REGISTER};
use crate::instrument::plan::Plan;
use crate::ir::{Location, Module, Severity};
use crate::parameters::InstrumentOptions;
use crate::report::limits::{Limit, Limits};
use covsched_core::rawlog::Plain;
use covsched_core::site::{
    BitcodeHeader, Registration, SiteKind, TableBuilder, BITCODE_MAGIC, BITCODE_SECTION, SECTION,
    UNIT_HAS_BITCODE, UNIT_HAS_EPOCHS, VERSION,
};
use std::mem::size_of;

/// The module flag of a module that the pass has seen.
pub const FLAG: &str = "covsched";

/// Adds what belongs to the unit. `first_time`: no part of the module was instrumented before.
pub fn finish<'m>(
    module: Module<'m>,
    plan: &Plan<'m>,
    first_time: bool,
    options: InstrumentOptions,
    limits: &mut Limits<'m>,
) {
    let unit = module.source_name();
    let keep_bitcode = first_time && !options.no_bitcode;
    if !first_time && !options.no_bitcode && !plan.sites.is_empty() {
        limits.note(Limit::LateBitcode, Location::default(), &unit);
    }
    module.set_flag(FLAG);
    // A unit without sites has a table too: it tells "compiled with covsched" from "not".
    let mut hash = 0;
    if first_time || !plan.sites.is_empty() {
        let mut table = TableBuilder::default();
        plan.sites.iter().for_each(|site| table.push(site));
        let has_epochs =
            module.has_flag(epoch::FLAG) || plan.sites.iter().any(|site| site.kind == SiteKind::Epoch);
        let epochs = if has_epochs { UNIT_HAS_EPOCHS } else { 0 };
        let bitcode = if keep_bitcode { UNIT_HAS_BITCODE } else { 0 };
        let (bytes, table_hash) = table.finish(&unit, epochs | bitcode);
        module.add_section_data("covsched.sites", SECTION, &bytes, true);
        hash = table_hash;
    }
    match Declarations::new(module).marker(REGISTER) {
        Ok(register) => {
            module.add_registration(SECTION, register, VERSION, size_of::<Registration>() as u32);
        }
        Err(error) => module.report(Severity::Error, &format!("covsched: {error}")),
    }
    if keep_bitcode {
        let part = bitcode_part(&unit, hash, &module.bitcode());
        module.add_section_data("covsched.bitcode", BITCODE_SECTION, &part, false);
    }
}

/// Lays a unit's bitcode out as `BitcodeHeader` says.
pub fn bitcode_part(unit: &str, table_hash: u64, bitcode: &[u8]) -> Vec<u8> {
    let size = (size_of::<BitcodeHeader>() + unit.len() + bitcode.len()).next_multiple_of(8);
    let header = BitcodeHeader {
        magic: BITCODE_MAGIC,
        version: VERSION,
        name_len: unit.len() as u32,
        bitcode_len: bitcode.len() as u64,
        size: size as u64,
        table_hash,
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(unit.as_bytes());
    bytes.extend_from_slice(bitcode);
    bytes.resize(size, 0);
    bytes
}
