//! Bulk loading: tables made outside the database, taken in at once.
//!
//! ```sh
//! cargo run -p whitewater --example bulk_ingest
//! ```
//!
//! Sorted data that is loaded as tables goes through no log and no memtable, and is not
//! compacted on its way down.

use std::error::Error;
use std::path::PathBuf;
use whitewater::{DB, IngestExternalFileOptions, Options, SstFileWriter};

const TABLES: u32 = 4;
const KEYS: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let mut options = Options::default();
    options.create_if_missing(true);

    // Each table has a range of its own, so that threads or machines can share the work.
    // Within a table, keys must be added in ascending order.
    let mut tables = Vec::new();
    for table in 0..TABLES {
        let path: PathBuf = dir.path().join(format!("{table}.sst"));
        let mut writer = SstFileWriter::create(&options);
        writer.open(&path)?;
        for key in 0..KEYS {
            writer.put(format!("{table}/{key:06}"), key.to_string())?;
        }
        writer.finish()?;
        println!("{}: {} bytes", path.display(), writer.file_size());
        tables.push(path);
    }

    let db = DB::open(&options, dir.path().join("db"))?;
    db.put("0/000000", "older")?;

    // All tables become visible together, and are durable when the call returns. Moving
    // spares a copy where both directories are on one file system.
    let mut ingestion = IngestExternalFileOptions::default();
    ingestion.set_move_files(true);
    db.ingest_external_file_opts(&ingestion, tables.clone())?;

    assert!(tables.iter().all(|path| !path.exists()));
    assert_eq!(db.get("0/000000")?.as_deref(), Some(&b"0"[..]));
    assert_eq!(db.get("3/009999")?.as_deref(), Some(&b"9999"[..]));
    let entries = db.iterator(whitewater::IteratorMode::Start).count();
    assert_eq!(entries, (TABLES * KEYS) as usize);
    Ok(())
}
