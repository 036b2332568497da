//! Checkpoints: a copy of an open database, made of links where possible.
//!
//! ```sh
//! cargo run -p whitewater --example checkpoint
//! ```

use std::error::Error;
use std::path::Path;
use whitewater::DB;
use whitewater::checkpoint::Checkpoint;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let (live, copy) = (dir.path().join("live"), dir.path().join("2026-05-01"));
    let db = DB::open_default(&live)?;
    for key in 0..1_000 {
        db.put(format!("key {key:04}"), "before")?;
    }

    // Tables do not change once they are written, so on the same file system they are
    // linked, not copied. Writers go on meanwhile. The directory has its name only when
    // everything in it is complete and durable.
    Checkpoint::new(&db)?.create_checkpoint(&copy)?;
    db.put("key 0000", "after")?;

    // A checkpoint is a database. It can be opened, copied elsewhere, or opened in place
    // of the live one when that is lost.
    let restored = DB::open_default(&copy)?;
    assert_eq!(restored.get("key 0000")?.as_deref(), Some(&b"before"[..]));
    assert_eq!(restored.get("key 0999")?.as_deref(), Some(&b"before"[..]));
    assert_eq!(db.get("key 0000")?.as_deref(), Some(&b"after"[..]));
    println!("{} has {} files", copy.display(), files(&copy)?);
    Ok(())
}

fn files(path: &Path) -> Result<usize, std::io::Error> {
    Ok(std::fs::read_dir(path)?.count())
}
