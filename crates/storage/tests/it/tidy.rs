//! Rules of the source tree.
//!
//! The files of `sst` stand on floors: a file imports only from lower floors, and from its own
//! room. The rules for all crates are in whitewater's test of this name.
//!
//! The scan for imports is a simple one. It takes the paths that start with `crate::` or `super::`,
//! in `use` declarations and elsewhere, and leaves out comments, files named `tests.rs` and
//! everything from `mod tests {` on: tests may use what they need.

use crate::source_files::{module_of, rust_files};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The floors of `sst`, lowest first. A floor has rooms; a file belongs to the longest room that
/// its module path begins with. Rooms of one floor do not import from each other.
const FLOORS: &[&[&str]] = &[
    &["events"],
    &["format::handle", "format::hash64", "format::metaindex"],
    &["format::footer", "format::data_block_hash_index"],
    &["format::block"],
    &["format::block_builder", "format::index_format"],
    &["format::properties"],
    &["format::plain", "format::cuckoo"],
    &["compress", "filter"],
    &["options::io_priority", "options::auto_readahead"],
    &[
        "options::index_type",
        "options::read_limits",
        "options::caching",
    ],
    &[
        "options::table_options",
        "options::table_format",
        "options::read_options",
    ],
    &["options::table_builder_options"],
    // `read` and `write` do not import from each other: see `WINGS`.
    &[
        "read::read_buffer",
        "read::readahead",
        "read::index_prefix_array",
        "write::cache_warmer",
        "write::entry_check",
        "write::page_fit",
        "write::plain_index",
        "write::cuckoo_places",
    ],
    &[
        "read::block_file",
        "read::key_samples",
        "read::table_filter",
        "write::block_sink",
        "write::bare_file",
    ],
    &["read::plain_data", "read::cuckoo_data", "read::directory"],
    &[
        "read::block_run",
        "read::pinned_value",
        "read::table",
        "write::data_blocks",
        "write::index_builder",
        "write::hash_index_builder",
    ],
    &[
        "read::table_blocks",
        "read::index_cursor",
        "read::filter_reader",
        "read::metadata_pinning",
        "read::evict",
        "write::table_properties",
    ],
    &[
        "read::get",
        "read::table_iter",
        "read::size_estimates",
        "read::block_list",
        "read::open",
        "write::table_builder",
        "write::plain_builder",
        "write::cuckoo_builder",
    ],
    &["read::verify", "write::any_builder"],
    &["fuzzing"],
];

/// Folders that import nothing from each other, whatever their floors.
const WINGS: [&str; 2] = ["read", "write"];

/// An import of one file of `sst` by another.
#[derive(Debug)]
struct Import {
    file: PathBuf,
    line: usize,
    /// Module paths below `sst`.
    from: String,
    to: String,
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The lines of `source` that are product code, without comments.
fn code_lines(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source
        .lines()
        .take_while(|line| *line != "mod tests {")
        .enumerate()
        .map(|(i, line)| (i + 1, line.split("//").next().unwrap_or_default()))
}

/// The module paths from the crate's root that `line`, which stands in `module`, names.
fn paths_in(module: &[String], line: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    // A visibility names no import.
    let line = line.replace("pub(super)", "");
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for path in line.split(|c| !is_path(c)) {
        let mut names: Vec<&str> = path.split("::").filter(|name| !name.is_empty()).collect();
        let mut base = match names.first() {
            Some(&"crate") => Vec::new(),
            Some(&"super") => module.to_vec(),
            _ => continue,
        };
        while names.first() == Some(&"super") {
            base.pop();
            names.remove(0);
        }
        let names = names.into_iter().filter(|name| *name != "crate");
        base.extend(names.map(str::to_owned));
        paths.push(base);
    }
    paths
}

/// All imports of one file of `sst` by another.
fn imports(src: &Path) -> Vec<Import> {
    let mut imports = Vec::new();
    for file in rust_files(&src.join("sst")) {
        if file.ends_with("tests.rs") || file.ends_with("sst/mod.rs") {
            continue;
        }
        let module = module_of(file.strip_prefix(src).expect("below the sources"));
        let source = fs::read_to_string(&file).expect("a source");
        for (line, code) in code_lines(&source) {
            for path in paths_in(&module, code) {
                if path.first().is_some_and(|name| name == "sst") {
                    imports.push(Import {
                        file: file.clone(),
                        line,
                        from: module[1..].join("::"),
                        to: path[1..].join("::"),
                    });
                }
            }
        }
    }
    imports
}

/// Whether `path` is `room` or in it.
fn is_in(path: &str, room: &str) -> bool {
    path.strip_prefix(room)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Floor and room of a module path.
fn place(path: &str) -> Option<(usize, &'static str)> {
    let rooms = FLOORS.iter().enumerate();
    rooms
        .flat_map(|(floor, rooms)| rooms.iter().map(move |room| (floor, *room)))
        .filter(|(_, room)| is_in(path, room))
        .max_by_key(|(_, room)| room.len())
}

/// What is wrong with `import`, if anything is.
fn complaint(import: &Import) -> Option<String> {
    let Import {
        file,
        line,
        from,
        to,
    } = import;
    let Some((from_floor, from_room)) = place(from) else {
        return Some(format!("{}: {from} has no floor", file.display()));
    };
    let at = format!("{}:{line}: {from} imports {to}", file.display());
    let Some((to_floor, to_room)) = place(to) else {
        return Some(format!("{at}, which has no floor: name the file itself"));
    };
    let wing = |path: &str| WINGS.into_iter().find(|wing| is_in(path, wing));
    if let (Some(own), Some(other)) = (wing(from), wing(to))
        && own != other
    {
        return Some(format!(
            "{at}: `{own}` and `{other}` do not know each other"
        ));
    }
    if to_floor > from_floor {
        return Some(format!("{at}, which is on a higher floor"));
    }
    if to_floor == from_floor && to_room != from_room {
        return Some(format!("{at}, another room of the same floor"));
    }
    None
}

#[test]
fn files_of_tables_import_from_lower_floors_only() {
    let imports = imports(&src());
    assert!(imports.len() > 100, "the scan finds {}", imports.len());
    let complaints: Vec<String> = imports.iter().filter_map(complaint).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Every file has a floor, and every room a file: the table above cannot grow stale.
#[test]
fn floors_and_files_of_tables_are_the_same() {
    let src = src();
    let mut files_in: BTreeMap<&str, usize> = BTreeMap::new();
    for file in rust_files(&src.join("sst")) {
        let file = file.strip_prefix(&src).expect("below the sources");
        let module = module_of(file)[1..].join("::");
        if let Some((_, room)) = place(&module) {
            *files_in.entry(room).or_default() += 1;
        } else {
            let is_folder = file.ends_with("mod.rs");
            assert!(is_folder, "{} has no floor", file.display());
        }
    }
    for room in FLOORS.iter().copied().flatten() {
        assert!(files_in.contains_key(room), "no file for {room}");
    }
}

#[test]
fn imports_upward_are_found() {
    let import = |from: &str, to: &str| Import {
        file: PathBuf::from("some.rs"),
        line: 7,
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let found = |from, to| complaint(&import(from, to)).unwrap_or_default();
    let said = found("events", "read::get::TableValue");
    assert!(
        said.contains("some.rs:7") && said.contains("higher floor"),
        "{said}"
    );
    let said = found("read::open", "write::cache_warmer");
    assert!(said.contains("do not know each other"), "{said}");
    let said = found("read::get", "read::open::open");
    assert!(said.contains("another room"), "{said}");
    let said = found("read::get", "Table");
    assert!(said.contains("has no floor"), "{said}");
    assert_eq!(
        found("compress::lz4", "compress::dictionary::Dictionary"),
        ""
    );
    assert_eq!(found("write::data_blocks::parallel", "events"), "");

    let module = ["sst", "read", "get"].map(str::to_owned);
    let names = |line| -> Vec<String> {
        let paths = paths_in(&module, line);
        paths.iter().map(|path| path.join("::")).collect()
    };
    assert_eq!(names("use super::open::open;"), ["sst::read::open::open"]);
    assert_eq!(
        names("f(crate::sst::a::B, super::super::c())"),
        ["sst::a::B", "sst::c"]
    );
    assert_eq!(code_lines("a // b\nmod tests {\nc").count(), 1);
}
