//! Compares the documentation of setters with the tables of options.
//!
//! Each setter of an option that has a row in a table carries a paragraph with the
//! option's name, unit, range and default, and whether it changes while the database is
//! open. The paragraph is made from the row:
//!
//! ```sh
//! WHITEWATER_BLESS=1 cargo test -p whitewater --lib options::documentation
//! ```
//!
//! writes it. What has no row (objects, options of single calls) must name its default.

use crate::options::table::{OptionTable, Row};
use crate::options::{BY_STYLE, CfOptions, DbOptions};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};
use whitewater_storage::sst::TableOptions;

/// The first words of the paragraph.
const MARK: &str = "**Option `";

/// Columns of a line of documentation, with its indentation.
const COLUMNS: usize = 100;

/// Setters of several options, by an arithmetic that their documentation tells.
const PRESETS: &[&str] = &[
    "optimize_level_style_compaction",
    "optimize_universal_style_compaction",
    "optimize_for_point_lookup",
    "prepare_for_bulk_load",
    "set_env",
];

/// Options that can only be set from text: the `rocksdb` crate has no setters for them.
pub(super) const WITHOUT_SETTER: &[&str] = &[
    "memtable_max_range_deletions",
    "paranoid_memory_checks",
    "strict_max_successive_merges",
    "ignore_max_compaction_bytes_for_input",
    "bottommost_file_compaction_delay",
    "last_level_temperature",
    "block_protection_bytes_per_key",
    "uncache_aggressiveness",
    "sample_for_compression",
    "blob_file_starting_level",
];

/// Options of tables whose unit is bytes. (Rows of other tables name their unit.)
const TABLE_BYTES: &[&str] = &[
    "block_size",
    "metadata_block_size",
    "initial_auto_readahead_size",
    "max_auto_readahead_size",
];

/// Units as rows name them, and as the paragraph does.
const UNITS: &[(&str, &str)] = &[
    ("Bytes per second", "bytes per second"),
    ("Bytes", "bytes"),
    ("Microseconds", "microseconds"),
    ("Seconds", "seconds"),
    ("MiB", "MiB"),
    ("Files", "files"),
    ("Threads", "threads"),
    ("Steps of priority", "steps of priority"),
    ("Logarithm", "base-2 logarithm"),
];

/// A method of a builder of options.
struct Setter {
    name: String,
    /// Lines of its documentation, without `///`.
    docs: Vec<String>,
    /// Where these lines are in the file.
    at: std::ops::Range<usize>,
    body: String,
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/api/options")
        .join(file)
}

/// The public methods of the file `text` that change `self`.
fn setters(text: &str) -> Vec<Setter> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("    pub fn ") else {
            continue;
        };
        let end = (at..lines.len())
            .find(|end| lines[*end] == "    }" || (*end == at && lines[at].ends_with("{}")))
            .expect("a method ends");
        let body = lines[at..=end].join("\n");
        if !body.contains("&mut self") {
            continue;
        }
        let above = |accepts: &dyn Fn(&str) -> bool, from: usize| {
            (0..from)
                .rev()
                .take_while(|line| accepts(lines[*line]))
                .last()
                .unwrap_or(from)
        };
        let attributes = above(&|line| line.starts_with("    #["), at);
        let begin = above(&|line| line.trim_start().starts_with("///"), attributes);
        let docs = lines[begin..attributes].iter();
        found.push(Setter {
            name: rest.split(['(', '<']).next().expect("a name").to_owned(),
            docs: docs
                .map(|line| line.trim_start().trim_start_matches("///"))
                .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned())
                .collect(),
            at: begin..attributes,
            body,
        });
    }
    found
}

impl Setter {
    /// The fields that it sets, with what is in front of their names.
    fn fields(&self) -> Vec<(&str, &str)> {
        let mut fields = Vec::new();
        for line in self.body.lines() {
            let Some((place, _)) = line.trim().split_once(" = ") else {
                continue;
            };
            let Some(place) = place.strip_prefix("self.") else {
                continue;
            };
            for table in ["cf.table.", "table.", "db.", "cf."] {
                if let Some(field) = place.strip_prefix(table) {
                    fields.push((table, field.split('.').next().unwrap_or(field)));
                    break;
                }
            }
        }
        fields.dedup();
        fields
    }

    fn paragraphs(&self) -> impl Iterator<Item = String> {
        self.docs
            .split(|line| line.is_empty())
            .map(|lines| lines.join(" "))
    }

    /// What it says about itself, without the paragraphs that are made from rows.
    fn prose(&self) -> String {
        let own = self.paragraphs().filter(|text| !text.starts_with(MARK));
        own.collect::<Vec<_>>().join("\n")
    }
}

/// The rows of all tables, with what is in front of their names in setters.
fn rows() -> Vec<(&'static str, Row)> {
    let mut rows = Vec::new();
    rows.extend(DbOptions::rows().into_iter().map(|row| ("db.", row)));
    rows.extend(CfOptions::rows().into_iter().map(|row| ("cf.", row)));
    rows.extend(TableOptions::rows().into_iter().map(|row| ("table.", row)));
    rows
}

/// RocksDB's name of an option.
fn public_name(name: &str) -> &str {
    match name {
        "memtable" => "memtable_factory",
        "wal_ttl_seconds" => "WAL_ttl_seconds",
        "wal_size_limit_mb" => "WAL_size_limit_MB",
        name => name,
    }
}

fn unit(table: &str, name: &str) -> Option<&'static str> {
    let docs = match table {
        "db." => DbOptions::DOCS,
        "cf." => CfOptions::DOCS,
        _ => return TABLE_BYTES.contains(&name).then_some("bytes"),
    };
    let (_, docs) = docs.iter().find(|(row, _)| *row == name)?;
    let docs = docs
        .replace("\"\ndoc = \"", "")
        .replace("\"\ndoc = r\"", "");
    let named = |(unit, _): &&(&str, &str)| docs.contains(&format!(". {unit}"));
    UNITS.iter().find(named).map(|(_, unit)| *unit)
}

/// A number as people say it, in the unit of its option.
fn told(number: &str, unit: Option<&str>) -> String {
    let bytes = matches!(unit, Some("bytes" | "bytes per second"));
    let Some(n) = number.parse::<u64>().ok().filter(|n| bytes && *n > 0) else {
        return number.to_owned();
    };
    for (shift, suffix) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if n % (1 << shift) == 0 {
            return format!("{} {suffix}", n >> shift);
        }
    }
    number.to_owned()
}

/// Whether `end` is the largest number of a type, which is no limit.
fn is_unlimited(end: &str) -> bool {
    let largest = [
        i32::MAX.to_string(),
        u64::MAX.to_string(),
        f64::MAX.to_string(),
    ];
    largest.contains(&end.to_owned())
}

fn default(row: &Row, unit: Option<&str>) -> String {
    if row.default == BY_STYLE.to_string() {
        return "by the compaction style".to_owned();
    }
    if row.default.is_empty() {
        return "none".to_owned();
    }
    let text = told(&row.default, unit);
    let plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if plain || row.default == "nullptr" {
        text.replace("nullptr", "none")
    } else {
        format!("`{text}`")
    }
}

/// The paragraph of a row. No number is followed by a full stop: at the beginning of a line
/// it would begin a numbered list.
fn facts(table: &str, row: &Row) -> String {
    let unit = unit(table, row.name);
    let name = public_name(row.name);
    let mut text = format!("{MARK}{name}`**: ");
    let changes = if row.changes_live {
        "can be changed while the database is open."
    } else {
        "fixed while the database is open."
    };
    if row.default.starts_with('{') {
        return text + "several parts, each with a default of its own; " + changes;
    }
    if let Some(unit) = unit {
        text += unit;
        text += ", ";
    }
    let range = row.accepted.as_ref().or(row.moved_into.as_ref());
    if let Some((low, high)) = range {
        let low = if low == &f64::MIN_POSITIVE.to_string() {
            "above 0".to_owned()
        } else {
            told(low, unit)
        };
        match is_unlimited(high) {
            true if low.starts_with("above") => text += &low,
            true => {
                let _ = write!(text, "{low} or more");
            }
            false => {
                let _ = write!(text, "{low} to {}", told(high, unit));
            }
        }
        let others = match row.accepted {
            Some(_) => "others are refused",
            None => "others are moved inside",
        };
        let _ = write!(text, " ({others}), ");
    }
    let _ = write!(text, "default {}; ", default(row, unit));
    text + changes
}

/// `text` as lines of documentation.
fn wrapped(text: &str) -> Vec<String> {
    let width = COLUMNS - "    /// ".len();
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Puts `paragraphs` behind the first paragraph of `docs`, in place of earlier ones.
fn with_facts(docs: &[String], paragraphs: &[String]) -> Vec<String> {
    let blocks: Vec<&[String]> = docs.split(|line| line.is_empty()).collect();
    let mut kept: Vec<Vec<String>> = Vec::new();
    for block in blocks {
        if !block.first().is_some_and(|line| line.starts_with(MARK)) {
            kept.push(block.to_vec());
        }
    }
    let facts: Vec<_> = paragraphs.iter().map(|text| wrapped(text)).collect();
    kept.splice(1..1, facts);
    kept.join(&String::new())
}

fn is_blessing() -> bool {
    env::var_os("WHITEWATER_BLESS").is_some()
}

// Long: each kind of line of the documentation, one after the other.
#[test]
fn setters_say_what_the_table_says() {
    let rows = rows();
    let mut wrong = Vec::new();
    let mut documented = Vec::new();
    for file in [
        "blob.rs",
        "cache.rs",
        "compaction.rs",
        "compression.rs",
        "database.rs",
        "family.rs",
        "hints.rs",
        "logger.rs",
        "per_call.rs",
        "table.rs",
    ] {
        let text = fs::read_to_string(source(file)).expect("the sources are here");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for setter in setters(&text).iter().rev() {
            if PRESETS.contains(&setter.name.as_str()) {
                continue;
            }
            let of_setter = setter.fields().into_iter().filter_map(|(table, field)| {
                let table = table.trim_start_matches("cf.table").trim_start_matches('.');
                let table = if table.is_empty() { "table." } else { table };
                rows.iter()
                    .find(|(t, row)| *t == table && row.name == field)
            });
            let paragraphs: Vec<_> = of_setter
                .map(|(table, row)| {
                    documented.push((*table, row.name));
                    facts(table, row)
                })
                .collect();
            if paragraphs.is_empty() {
                let prose = setter.prose().to_lowercase();
                if !prose.contains("default") {
                    wrong.push(format!("{file}: {} names no default", setter.name));
                }
                continue;
            }
            let told: Vec<_> = setter
                .paragraphs()
                .filter(|text| text.starts_with(MARK))
                .collect();
            if told == paragraphs {
                continue;
            }
            if is_blessing() {
                let docs = with_facts(&setter.docs, &paragraphs);
                let docs = docs.iter().map(|line| {
                    if line.is_empty() {
                        "    ///".to_owned()
                    } else {
                        format!("    /// {line}")
                    }
                });
                lines.splice(setter.at.clone(), docs.collect::<Vec<_>>());
            } else {
                wrong.push(format!(
                    "{file}: {} does not say: {paragraphs:?}",
                    setter.name
                ));
            }
        }
        if is_blessing() {
            fs::write(source(file), lines.join("\n") + "\n").expect("the source can be written");
        }
    }
    assert!(
        wrong.is_empty(),
        "run with WHITEWATER_BLESS=1:\n{}",
        wrong.join("\n")
    );
    let without: Vec<_> = rows
        .iter()
        .filter(|(table, row)| !documented.contains(&(*table, row.name)))
        .map(|(_, row)| row.name)
        .collect();
    assert_eq!(without, WITHOUT_SETTER);
}
