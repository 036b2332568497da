//! Tables that are being ingested, and jobs beside them.

use crate::db::Engine;
use crate::{DB, IngestExternalFileOptions, Options, SstFileWriter};
use bytes::Bytes;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::fs::mem::MemFs;

/// The tables of an ingestion are there for readers before their numbers are visible. Who takes a
/// snapshot then does not see them. So a compaction that takes them must not have asked for the
/// snapshots before: it would drop what the tables hide.
#[test]
fn no_compaction_begins_before_an_ingested_table_is_visible() {
    let seen: Arc<Mutex<Vec<(bool, bool)>>> = Arc::default();
    let engine: Arc<Mutex<Option<Arc<Engine>>>> = Arc::default();
    let snapshot = Arc::new(Mutex::new(None));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(MemFs::new()));
    options.set_level_zero_file_num_compaction_trigger(2);
    let of_hook = (seen.clone(), engine.clone(), snapshot.clone());
    options.set_failpoints(move |point, _| {
        let (seen, engine, snapshot) = &of_hook;
        let engine = engine.lock().clone();
        if let (crate::Point::Ingesting, Some(engine)) = (point, engine) {
            *snapshot.lock() = Some(engine.snapshot());
            let state = engine.lock_state();
            let cf = &state.cfs[&0];
            seen.lock()
                .push((cf.levels.is_due(), cf.wants_compaction()));
        }
    });
    let db = DB::open(&options, "/db").unwrap();
    *engine.lock() = Some(db.engine().clone());
    db.put("k", "old").unwrap();
    db.flush().unwrap();
    let mut writer = SstFileWriter::create(&options);
    let path = Path::new("/db/outside.sst");
    writer.open(path).unwrap();
    writer.put("k", "new").unwrap();
    writer.finish().unwrap();
    let how = IngestExternalFileOptions::default();
    db.ingest_external_file_opts(&how, vec![path]).unwrap();
    assert_eq!(*seen.lock(), [(true, false)], "due, and held back");
    *engine.lock() = None;
    db.wait_for_compact(&crate::WaitForCompactOptions::default())
        .unwrap();
    let tables = db.engine().default_cf().pin_owned();
    assert_eq!(tables.version.num_files(0), 0, "compacted afterwards");
    drop(tables);
    let spec = crate::options::read::ReadSpec {
        snapshot: snapshot.lock().take().map(Arc::new),
        ..Default::default()
    };
    let engine = db.engine();
    let found = engine
        .get::<Bytes>(engine.default_cf(), b"k", &spec)
        .unwrap();
    assert_eq!(found.as_deref(), Some(&b"old"[..]));
    assert_eq!(db.get("k").unwrap().as_deref(), Some(&b"new"[..]));
}
