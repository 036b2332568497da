//! What the first thread prints along with its progress lines
//! (`--stats_per_interval`, `--show_table_properties`).

use std::fmt::Write as _;

use super::engine::Engine;
use super::worker::Shared;

/// The current statistics of the engine, and the properties of its tables. As in
/// RocksDB, if there are several column families, each has its own.
pub fn text<E: Engine>(engine: &E, shared: &Shared<'_>) -> String {
    let mut text = String::new();
    let families = shared.families.names();
    for name in &families {
        let Ok(family) = engine.family(name) else {
            continue;
        };
        let property = |name: &str| engine.property_in(&family, name);
        if let Some(stats) = property("rocksdb.cfstats") {
            let _ = writeln!(text, "{stats}");
        }
        levels(&mut text, shared, property);
    }
    if families.is_empty() {
        let property = |name: &str| engine.property(name);
        text += &property("rocksdb.stats").unwrap_or_default();
        for (name, end) in [
            ("num-running-compactions", "\n"),
            ("num-running-flushes", "\n\n"),
        ] {
            if let Some(count) = property(&format!("rocksdb.{name}")) {
                let _ = write!(text, "{name}: {count}{end}");
            }
        }
        levels(&mut text, shared, property);
    }
    text
}

/// Adds the properties of the tables of each level that has tables.
fn levels(text: &mut String, shared: &Shared<'_>, property: impl Fn(&str) -> Option<String>) {
    if !shared.flags.show_table_properties {
        return;
    }
    for level in 0..shared.flags.num_levels {
        let name = format!("rocksdb.aggregated-table-properties-at-level{level}");
        if let Some(tables) = property(&name).filter(|tables| !tables.contains("# entries=0")) {
            let _ = writeln!(text, "Level[{level}]: {tables}");
        }
    }
}
