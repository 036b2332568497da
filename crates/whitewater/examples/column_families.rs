//! Column families: a table of users and its index, with options of their own.
//!
//! ```sh
//! cargo run -p whitewater --example column_families
//! ```

use std::error::Error;
use whitewater::{
    ColumnFamilyDescriptor, DBWithThreadMode, Options, SingleThreaded, SliceTransform, WriteBatch,
};

/// `whitewater::DB`, unless the Cargo feature `multi-threaded-cf` makes that the form whose
/// column families can be created and dropped through a shared reference.
type DB = DBWithThreadMode<SingleThreaded>;

fn open(path: &std::path::Path) -> Result<DB, whitewater::Error> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);

    // Few bytes each, so small memtables are enough.
    let mut of_index = Options::default();
    of_index.set_write_buffer_size(4 << 20);
    of_index.set_prefix_extractor(SliceTransform::create_fixed_prefix(5));

    DB::open_cf_descriptors(
        &options,
        path,
        [
            ColumnFamilyDescriptor::new("users", Options::default()),
            ColumnFamilyDescriptor::new("by_city", of_index),
        ],
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let mut db = open(dir.path())?;
    let users = db.cf_handle("users").expect("created by opening");
    let by_city = db.cf_handle("by_city").expect("created by opening");

    // One batch keeps the two in step.
    for (id, name, city) in [
        ("1", "ada", "paris"),
        ("2", "bea", "paris"),
        ("3", "cyd", "turin"),
    ] {
        let mut batch = WriteBatch::default();
        batch.put_cf(users, id, name);
        batch.put_cf(by_city, format!("{city}/{id}"), "");
        db.write(batch)?;
    }

    let mut in_paris = Vec::new();
    for entry in db.prefix_iterator_cf(by_city, "paris") {
        let (key, _) = entry?;
        let id = &key["paris/".len()..];
        let name = db.get_cf(users, id)?.expect("in step with the index");
        in_paris.push(String::from_utf8(name)?);
    }
    println!("in Paris: {in_paris:?}");
    assert_eq!(in_paris, ["ada", "bea"]);

    // Column families come and go while the database is open.
    db.create_cf("sessions", &Options::default())?;
    db.drop_cf("by_city")?;
    drop(db);
    let mut names = DB::list_cf(&Options::default(), dir.path())?;
    names.sort();
    assert_eq!(names, ["default", "sessions", "users"]);
    Ok(())
}
