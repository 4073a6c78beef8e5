//! Tables as the plugin writes them are read back; any other bytes are an error.

use super::*;
use proptest::prelude::*;

fn sites() -> impl Strategy<Value = Vec<Site>> {
    let name = "[^\0]{0,12}";
    let site = (any::<u64>(), 0u8..4, name, any::<(u32, u32)>(), name, name);
    let site = site.prop_map(|(id, kind, file, (line, column), function, callee)| Site {
        id: SiteId(id),
        kind: SiteKind::from_index(kind).unwrap(),
        file,
        line,
        column,
        function,
        callee,
    });
    proptest::collection::vec(site, 0..20)
}

fn table(unit: &str, sites: &[Site], has_bitcode: bool) -> Vec<u8> {
    let mut builder = TableBuilder::default();
    sites.iter().for_each(|site| builder.push(site));
    builder.finish(unit, if has_bitcode { UNIT_HAS_BITCODE } else { UNIT_HAS_EPOCHS }).0
}

#[test]
fn ids_tell_kinds_files_callees_and_ordinals_apart() {
    let ids = [
        site_id("f", "", SiteKind::True, "g", 0),
        site_id("f", "", SiteKind::True, "g", 1),
        site_id("f", "", SiteKind::Derived, "g", 0),
        site_id("f", "a.c", SiteKind::True, "g", 0),
        site_id("f", "", SiteKind::True, "h", 0),
        site_id("g", "", SiteKind::True, "g", 0),
    ];
    for (i, id) in ids.iter().enumerate() {
        assert!(!ids[..i].contains(id));
    }
}

#[test]
fn damage_is_named() {
    let site = Site {
        id: SiteId(1),
        kind: SiteKind::Entry,
        file: "a.c".into(),
        line: 1,
        column: 1,
        function: "main".into(),
        callee: String::new(),
    };
    let mut bytes = table("a.c", &[site], false);
    let end = bytes.len();
    bytes[end - 9] ^= 1;
    assert_eq!(UnitTable::read_section(&bytes), Err(TableError::BadHash("a.c".into())));
    assert_eq!(UnitTable::read_section(b"CVSITES?and more bytes"), Err(TableError::NotATable(0)));
}

proptest! {
    #[test]
    fn tables_are_read_back(units in proptest::collection::vec(("[^\0]{0,9}", sites(), any::<bool>()), 0..4), padding in 0usize..3) {
        let mut section = Vec::new();
        for (unit, sites, has_bitcode) in &units {
            section.extend(table(unit, sites, *has_bitcode));
            // Linkers may pad.
            section.resize(section.len() + 8 * padding, 0);
        }
        let read = UnitTable::read_section(&section).unwrap();
        prop_assert!(read.iter().all(|table| table.has_epochs != table.has_bitcode));
        let read: Vec<_> = read.into_iter().map(|table| (table.unit, table.sites, table.has_bitcode)).collect();
        let headers: Vec<u64> = Tables::new(&section).map(|(header, _)| mix(header.hash)).collect();
        prop_assert_eq!(program_id(&section).0, headers.into_iter().fold(0, u64::wrapping_add));
        prop_assert_eq!(read, units);
    }

    #[test]
    fn any_bytes_are_tables_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = UnitTable::read_section(&bytes);
        let mut headed = MAGIC.to_vec();
        headed.extend(VERSION.to_le_bytes());
        headed.extend(&bytes);
        let _ = UnitTable::read_section(&headed);
        let _ = program_id(&headed);
    }

    #[test]
    fn changed_tables_are_tables_or_an_error(sites in sites(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = table("unit.c", &sites, true);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let _ = UnitTable::read_section(&bytes);
    }
}
