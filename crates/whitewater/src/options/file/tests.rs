use super::read::{parse, set_db, set_family, set_format, set_table};
use super::*;
use crate::options::prefix::PrefixExtractor;
use crate::options::text::OptionText;
use std::path::PathBuf;
use whitewater_storage::ErrorKind;
use whitewater_storage::key::UserComparator;
use whitewater_storage::sst::{
    CompressionOptions, CompressionType, FilterPolicy, PlainTableOptions, TableFormat,
};

/// Options other than the defaults are printed as a file and read back.
#[test]
fn what_is_printed_is_read() {
    let mut db = DbOptions {
        max_open_files: 77,
        wal_dir: Some(PathBuf::from("/a:b#c\\d\ne")),
        wal_ttl_seconds: 5,
        commit_protocol: Some(crate::CommitProtocol::Grouped),
        ..DbOptions::default()
    };
    let mut cf = CfOptions {
        write_buffer_size: 1 << 20,
        memtable: crate::options::memtable_kind::MemtableKind::Art,
        memtable_protection_bytes_per_key: 4,
        paranoid_file_checks: true,
        prefix_extractor: Some(PrefixExtractor::Capped(7)),
        compression_per_level: vec![CompressionType::None, CompressionType::Zstd],
        compression_opts: CompressionOptions {
            level: -3,
            max_dict_bytes: 4096,
            checksum: true,
            ..CompressionOptions::default()
        },
        comparator: UserComparator::ReverseBytewise,
        ..CfOptions::default()
    };
    cf.table.filter_policy = Some(FilterPolicy::Bloom { bits_per_key: 9.5 });
    let plain = CfOptions {
        table_factory: TableFormat::Plain(PlainTableOptions {
            user_key_len: 8,
            index_sparseness: 3,
            ..PlainTableOptions::default()
        }),
        table: cf.table.clone(),
        ..CfOptions::default()
    };
    let families = [("default", &cf), ("a:b#\"\n", &plain)];
    let text = print(&db, families);
    let parsed = parse(&text).unwrap();
    let names: Vec<_> = parsed.families.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["default", "a:b#\"\n"]);

    let mut read = DbOptions::default();
    for (name, value) in &parsed.db {
        set_db(&mut read, name, value).unwrap();
    }
    assert_eq!(read.to_text(), db.to_text());
    for (family, expected) in parsed.families.iter().zip([&cf, &plain]) {
        let mut read = CfOptions::default();
        for (name, value) in &family.options {
            set_family(&mut read, name, value).unwrap();
        }
        for (name, value) in &family.format {
            set_format(&mut read, name, value).unwrap();
        }
        for (name, value) in &family.table {
            if name != "no_block_cache" {
                set_table(&mut read, name, value).unwrap();
            }
        }
        assert_eq!(read.to_string(), expected.to_string());
    }

    // An unset directory must not be printed as a line: RocksDB would take the text for a path.
    db.wal_dir = None;
    assert!(!print(&db, families).contains("wal_dir"));
}

#[test]
fn rocksdb_knows_every_name_outside_comments() {
    let text = print(&DbOptions::default(), [("default", &CfOptions::default())]);
    let parsed = parse(&text).unwrap();
    let mut ours = 0;
    let lines = |section: &str, all: &[&str], mut ours: usize| {
        let after = &text[text.find(section).unwrap()..];
        for line in after.lines().skip(1).take_while(|l| !l.trim().is_empty()) {
            match line.trim().strip_prefix(OURS) {
                Some(_) => ours += 1,
                None => {
                    let name = line.trim().split_once('=').unwrap().0;
                    assert!(all.contains(&name), "{name} in {section}");
                }
            }
        }
        ours
    };
    ours = lines("[DBOptions]", names::DB_78, ours);
    ours = lines("[CFOptions \"default\"]", names::FAMILY_78, ours);
    ours = lines(
        "[TableOptions/BlockBasedTable \"default\"]",
        names::TABLE_78,
        ours,
    );
    assert!(ours > 3, "{text}");
    assert!(text.contains("\n  memtable_factory=SkipListFactory\n  # whitewater: memtable=auto\n"));
    assert!(text.contains("\n  WAL_ttl_seconds=0\n"));
    assert!(text.contains("level=32767;"));
    assert!(text.contains("\n  filter_policy=nullptr\n"));
    assert_eq!(parsed.families.len(), 1);
}

#[test]
fn files_that_are_none_are_refused_with_the_line() {
    let head =
        "[Version]\n  options_file_version=1.1\n[DBOptions]\n  max_open_files=5 # a comment\n";
    let default = "[CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\n";
    parse(&format!("{head}{default}")).unwrap();
    for (text, what) in [
        (String::new(), "[DBOptions]"),
        (head.to_owned(), "[CFOptions \"default\"]"),
        (format!("{head}{default}x\n"), "line 7: no name=value"),
        (format!("{head}{default}=3\n"), "line 7: a value without"),
        (format!("x=1\n{head}"), "line 1: a value before"),
        (
            format!("{head}{head}"),
            "line 7: [DBOptions] is there twice",
        ),
        (format!("{head}[Other]\n"), "line 5: an unknown section"),
        (format!("{head}[CFOptions \"x]\n"), "line 5: a quote"),
        (format!("{head}[CFOptions \"x\"]\n"), "line 5: the first"),
        (
            format!("{head}{default}{default}"),
            "line 7: a column family",
        ),
        (
            format!("{head}{default}[TableOptions/BlockBasedTable \"x\"]\n"),
            "line 7: table options",
        ),
        (
            format!("{head}{default}[TableOptions/OtherTable \"default\"]\n"),
            "line 7: an unknown format of tables",
        ),
    ] {
        let e = parse(&text).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(e.to_string().contains(what), "{what} in {e}");
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    let db = |name: &str, value: &str| set_db(&mut DbOptions::default(), name, value);
    let cf = |name: &str, value: &str| set_family(&mut CfOptions::default(), name, value);
    let table = |name: &str, value: &str| set_table(&mut CfOptions::default(), name, value);
    db("stats_history_buffer_size", "7").unwrap();
    db("allow_2pc", "false").unwrap();
    cf("max_bytes_for_level_multiplier_additional", "1:1:1").unwrap();
    cf("ttl", "2592000").unwrap();
    cf("compression_opts", "{level=3;max_dict_bytes=0;strategy=0;}").unwrap();
    table("filter_policy", "bloomfilter:10:false").unwrap();
    table("format_version", "5").unwrap();
    cf("table_factory", "AdaptiveTableFactory").unwrap();
    cf("block_based_table_factory.block_size", "77").unwrap();
    for (outcome, what) in [
        (db("no_such", "1"), "no_such"),
        (db("allow_2pc", "maybe"), "allow_2pc"),
        (db("atomic_flush", "maybe"), "atomic_flush"),
        (db("keep_log_file_num", "0"), "keep_log_file_num = 0"),
        (cf("comparator", "mine"), "comparator=mine"),
        (cf("merge_operator", "mine"), "merge_operator=mine"),
        (cf("prefix_extractor", "mine"), "prefix_extractor=mine"),
        (
            cf("compaction_style", "kCompactionStyleNone"),
            "compaction_style",
        ),
        (
            cf("compression_opts", "{max_dict_bytes=-9;}"),
            "compression_opts",
        ),
        (
            cf("bottommost_compression_opts", "{depth=1;}"),
            "bottommost_compression_opts",
        ),
        (cf("ttl", "soon"), "ttl"),
        (cf("table_factory", "HashTable"), "table_factory=HashTable"),
        (
            set_format(&mut CfOptions::default(), "user_key_len", "8"),
            "user_key_len",
        ),
        (table("filter_policy", "mine:10"), "filter_policy"),
        (table("index_type", "kMine"), "index_type"),
        (table("format_version", "8"), "format_version"),
    ] {
        let e = outcome.unwrap_err();
        assert!(e.to_string().contains(what), "{what} in {e}");
    }
    assert_eq!(
        <Option<PrefixExtractor> as OptionText>::parse("nullptr").map(|p| p.is_none()),
        Some(true)
    );
}

/// Older versions of RocksDB could create one.
#[test]
fn a_family_without_a_name_has_its_sections() {
    let options = CfOptions::default();
    let text = print(
        &DbOptions::default(),
        [("default", &options), ("", &options)],
    );
    let names: Vec<_> = parse(&text)
        .unwrap()
        .families
        .into_iter()
        .map(|f| f.name)
        .collect();
    assert_eq!(names, ["default", ""]);
}
