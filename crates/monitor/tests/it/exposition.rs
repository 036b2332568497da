//! `/metrics` is what Prometheus reads, by a strict parser of the text format, and its figures are
//! those of the database.

use crate::client::{builder, filled, get, options};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use whitewater::properties;
use whitewater::statistics::{StatsLevel, Ticker};

/// A series: its name and its labels, in order.
type Series = (String, BTreeMap<String, String>);

/// The samples of a text, and the type of each metric.
#[derive(Debug, Default)]
struct Exposition {
    samples: BTreeMap<Series, f64>,
    types: BTreeMap<String, String>,
}

impl Exposition {
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found = self.samples.iter().find(|((found, have), _)| {
            found == name
                && labels
                    .iter()
                    .all(|(k, v)| have.get(*k).is_some_and(|h| h == v))
        });
        *found.unwrap_or_else(|| panic!("{name} {labels:?}")).1
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parses labels up to the closing brace, and returns what is behind it.
fn labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    while !rest.starts_with('}') {
        let (name, behind) = rest.split_once("=\"").expect("a label's value is quoted");
        assert!(is_name(name) && !name.starts_with("__"), "{name}");
        let (mut value, mut end, mut chars) = (String::new(), None, behind.char_indices());
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    end = Some(at);
                    break;
                }
                '\\' => value.push(match chars.next().expect("an escaped character").1 {
                    'n' => '\n',
                    other @ ('\\' | '"') => other,
                    other => panic!("\\{other} is no escape"),
                }),
                c => value.push(c),
            }
        }
        rest = &behind[end.expect("a closing quote") + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
        assert!(
            labels.insert(name.to_owned(), value).is_none(),
            "{name} is there twice"
        );
    }
    (labels, &rest[1..])
}

fn parse(text: &str) -> Exposition {
    let mut found = Exposition::default();
    let mut current = String::new();
    let mut done = BTreeSet::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, _) = help.split_once(' ').expect("a text");
            assert!(is_name(name), "{name}");
            assert!(done.insert(name.to_owned()), "{name} is in two places");
            name.clone_into(&mut current);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert_eq!(name, current);
            assert!(["counter", "gauge", "summary"].contains(&kind), "{kind}");
            assert!(
                found
                    .types
                    .insert(name.to_owned(), kind.to_owned())
                    .is_none()
            );
        } else {
            let end = line.find(['{', ' ']).expect("a value");
            let name = &line[..end];
            let (labels, value) = match line[end..].strip_prefix('{') {
                Some(rest) => labels(rest),
                None => (BTreeMap::new(), &line[end..]),
            };
            let parts = [
                current.clone(),
                format!("{current}_sum"),
                format!("{current}_count"),
            ];
            let summary = found
                .types
                .get(&current)
                .is_some_and(|kind| kind == "summary");
            let own = if summary { &parts[..] } else { &parts[..1] };
            assert!(
                own.iter().any(|own| own == name),
                "{name} is not of {current}"
            );
            let value: f64 = value.strip_prefix(' ').unwrap().parse().expect(line);
            assert!(value.is_finite(), "{line}");
            let series = (name.to_owned(), labels);
            assert!(found.samples.insert(series, value).is_none(), "{line}");
        }
    }
    found
}

#[test]
fn metrics_are_well_formed_under_all_names() {
    let (_dir, db) = filled(&options());
    let label = "a \"label\" with \\ and \n in it";
    let (_other_dir, other) = filled(&options());
    let builder = builder().add(&db).add_as(label, &other);
    let monitor = builder.listen("127.0.0.1:0").unwrap();
    for (names, prefixes) in [
        ("", &["whitewater_"][..]),
        ("?names=whitewater", &["whitewater_"]),
        ("?names=rocksdb", &["rocksdb_"]),
        ("?names=both", &["rocksdb_", "whitewater_"]),
    ] {
        let answer = get(monitor.address(), &format!("/metrics{names}"));
        let kind = answer.header("content-type").unwrap();
        assert!(kind.starts_with("text/plain; version=0.0.4"));
        let found = parse(&answer.body);
        assert!(
            found.samples.len() > 400,
            "{names}: {}",
            found.samples.len()
        );
        for name in found.types.keys() {
            assert!(
                prefixes.iter().any(|prefix| name.starts_with(prefix)),
                "{name}"
            );
        }
        let labels: BTreeSet<_> = found
            .samples
            .keys()
            .map(|(_, labels)| &labels["db"])
            .collect();
        assert_eq!(labels.len(), 2);
        assert!(labels.contains(&label.to_owned()));
    }
    assert_eq!(get(monitor.address(), "/metrics?names=mine").status, 400);
}

#[test]
fn metrics_equal_tickers_and_properties() {
    let options = options();
    let (_dir, db) = filled(&options);
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    // The first look opens tables, which is counted.
    get(monitor.address(), "/metrics");
    let found = parse(&get(monitor.address(), "/metrics?names=both").body);
    for ticker in Ticker::iter().filter(|ticker| ticker.is_collected()) {
        let bare = ticker
            .name()
            .replace("rocksdb.", "")
            .replace("whitewater.", "");
        let name = bare.replace(['.', '-'], "_");
        let count = options.get_ticker_count(*ticker) as f64;
        assert_eq!(
            found.value(&format!("whitewater_{name}_total"), &[]),
            count,
            "{name}"
        );
        assert_eq!(
            found.value(&format!("rocksdb_{name}"), &[]),
            count,
            "{name}"
        );
    }
    let default = [("cf", "default")];
    for (name, property) in [
        (
            "num_entries_active_mem_table",
            properties::NUM_ENTRIES_ACTIVE_MEM_TABLE,
        ),
        (
            "num_deletes_active_mem_table",
            properties::NUM_DELETES_ACTIVE_MEM_TABLE,
        ),
        (
            "num_entries_imm_mem_tables",
            properties::NUM_ENTRIES_IMM_MEM_TABLES,
        ),
        (
            "num_deletes_imm_mem_tables",
            properties::NUM_DELETES_IMM_MEM_TABLES,
        ),
        ("total_sst_files_size", properties::TOTAL_SST_FILES_SIZE),
        ("live_sst_files_size", properties::LIVE_SST_FILES_SIZE),
        ("block_cache_capacity", properties::BLOCK_CACHE_CAPACITY),
        ("block_cache_usage", properties::BLOCK_CACHE_USAGE),
        (
            "block_cache_pinned_usage",
            properties::BLOCK_CACHE_PINNED_USAGE,
        ),
        ("estimate_num_keys", properties::ESTIMATE_NUM_KEYS),
        (
            "estimate_table_readers_mem",
            properties::ESTIMATE_TABLE_READERS_MEM,
        ),
        ("size_all_mem_tables", properties::SIZE_ALL_MEM_TABLES),
    ] {
        let value = db.property_int_value(property).unwrap().unwrap() as f64;
        assert_eq!(
            found.value(&format!("rocksdb_{name}"), &default),
            value,
            "{name}"
        );
        assert_eq!(
            found.value(&format!("whitewater_{name}"), &default),
            value,
            "{name}"
        );
    }
    let level = [("cf", "default"), ("level", "0")];
    assert_eq!(found.value("rocksdb_num_files_at_level", &level), 2.0);
    assert_eq!(found.value("whitewater_db_get_micros_count", &[]), 50.0);
    assert_eq!(found.types["whitewater_db_get_micros"], "summary");
    assert_eq!(found.value("whitewater_up", &[]), 1.0);
}

#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let options = options();
    options.set_statistics_level(StatsLevel::All);
    let (_dir, db) = filled(&options);
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let found = parse(&get(monitor.address(), "/metrics").body);
    let names: BTreeSet<&String> = found.samples.keys().map(|(name, _)| name).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana/whitewater.json");
    let dashboard: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let mut asked = 0;
    for target in targets {
        let expression = target["expr"].as_str().unwrap();
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in words.filter(|word| word.starts_with("whitewater_")) {
            assert!(names.contains(&name.to_owned()), "{name}");
            asked += 1;
        }
    }
    assert!(asked > 40, "{asked}");
}
