//! Writes initial inputs for the fuzz targets.
//!
//! ```sh
//! cargo run -p whitewater-storage --features fuzzing --example fuzz_seeds -- fuzz/corpus DATABASE...
//! ```
//!
//! splits the files of the databases into inputs. Inputs are named by their hash, so that each
//! exists only once. Of the inputs that one database gives for a target, only the shortest few are
//! kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs, io};
use twox_hash::XxHash64;
use whitewater_storage::fuzzing::seeds;

/// How many inputs are kept per target and database.
const KEPT: usize = 4;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let Some(corpus) = arguments.next() else {
        return Err(io::Error::other("usage: fuzz_seeds CORPUS DATABASE..."));
    };
    let mut written = 0;
    for database in arguments {
        let mut inputs: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
        for file in fs::read_dir(&database)? {
            let path = file?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            for (target, input) in seeds::of_file(&name, &fs::read(&path)?) {
                inputs.entry(target).or_default().push(input);
            }
        }
        for (target, mut found) in inputs {
            let dir = Path::new(&corpus).join(target);
            fs::create_dir_all(&dir)?;
            found.sort_by_key(Vec::len);
            for input in found.iter().take(KEPT) {
                let hash = XxHash64::oneshot(0, input);
                fs::write(dir.join(format!("{hash:016x}")), input)?;
                written += 1;
            }
        }
    }
    println!("{written} inputs");
    Ok(())
}
