//! Compaction filters and entities.

use super::{check, compact, options};
use std::ffi::CStr;
use whitewater::compaction_filter::{CompactionFilter, Decision, EntityDecision};
use whitewater::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use whitewater::{DB, WideColumn};

/// Does to an entity what its column `do` says.
struct Doing;

impl CompactionFilter for Doing {
    fn filter(&mut self, _: u32, _: &[u8], value: &[u8]) -> Decision {
        match value {
            b"remove" => Decision::Remove,
            _ => Decision::Keep,
        }
    }

    fn filter_entity(&mut self, _: u32, key: &[u8], columns: &[WideColumn<'_>]) -> EntityDecision {
        let told = columns.iter().find(|column| column.name == b"do");
        match told.map_or(&b""[..], |column| column.value) {
            b"remove" => EntityDecision::Remove,
            b"value" => EntityDecision::ChangeValue(key.to_vec()),
            b"columns" => {
                let pair = |name: &str, value: &[u8]| (name.as_bytes().to_vec(), value.to_vec());
                EntityDecision::ChangeEntity(vec![pair("z", b"1"), pair("key", key)])
            }
            b"twice" => EntityDecision::ChangeEntity(vec![(vec![], vec![]), (vec![], vec![])]),
            _ => EntityDecision::Keep,
        }
    }

    fn name(&self) -> &CStr {
        c"doing"
    }
}

struct Factory;

impl CompactionFilterFactory for Factory {
    type Filter = Doing;
    fn create(&mut self, _: CompactionFilterContext) -> Doing {
        Doing
    }
    fn name(&self) -> &CStr {
        c"factory"
    }
}

#[test]
fn a_filter_keeps_removes_and_changes_entities() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.set_compaction_filter_factory(Factory);
    let db = DB::open(&options, dir.path()).unwrap();
    for told in ["columns", "keep", "remove", "value"] {
        db.put_entity(told, [("do", told)]).unwrap();
    }
    db.put("plain", "remove").unwrap();
    compact(&db);
    check(
        &db,
        &[
            ("columns", &[("key", "columns"), ("z", "1")]),
            ("keep", &[("do", "keep")]),
            ("value", &[("", "value")]),
        ],
    );
    db.put_entity("twice", [("do", "twice")]).unwrap();
    let outcome = db.try_compact_range_opt(
        None::<&[u8]>,
        None::<&[u8]>,
        &whitewater::CompactOptions::default(),
    );
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("Wide columns out of order"), "{error}");
}

/// As RocksDB's `FilterV2` does, which knows no entities.
#[test]
fn a_function_keeps_entities() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.set_compaction_filter("all", |_, _, _| Decision::Remove);
    let db = DB::open(&options, dir.path()).unwrap();
    db.put_entity("a", [("", "v"), ("x", "1")]).unwrap();
    db.put("b", "v").unwrap();
    compact(&db);
    check(&db, &[("a", &[("", "v"), ("x", "1")])]);
}
