//! Open a database, write, read, scan, and open it again.
//!
//! ```sh
//! cargo run -p whitewater --example basic
//! ```

use std::error::Error;
use whitewater::{DB, IteratorMode, Options};

fn main() -> Result<(), Box<dyn Error>> {
    // The directory and what is in it go when `dir` is dropped.
    let dir = tempfile::tempdir()?;
    let mut options = Options::default();
    options.create_if_missing(true);

    let db = DB::open(&options, dir.path())?;
    db.put("danube", "2850 km")?;
    db.put("rhine", "1233 km")?;
    db.put("volga", "3530 km")?;
    db.delete("rhine")?;

    assert_eq!(db.get("danube")?.as_deref(), Some(&b"2850 km"[..]));
    assert_eq!(db.get("rhine")?, None);

    // A pinned value is not copied: it borrows from the memtable or the block cache.
    let volga = db.get_pinned("volga")?.expect("written above");
    assert_eq!(&*volga, b"3530 km");
    drop(volga);

    // Only one process, and in it one `DB`, has a database open.
    drop(db);
    let db = DB::open(&options, dir.path())?;
    let mut rivers = Vec::new();
    for entry in db.iterator(IteratorMode::Start) {
        let (key, value) = entry?;
        println!("{}: {}", key.escape_ascii(), value.escape_ascii());
        rivers.push(key);
    }
    assert_eq!(rivers, [Box::from(*b"danube"), Box::from(*b"volga")]);
    Ok(())
}
