//! Tests of the flags as a whole.

use super::*;

#[test]
fn every_flag_can_be_set_to_its_own_default() {
    let defaults = Flags::default();
    let mut flags = Flags::default();
    for spec in TABLE {
        let text = defaults.text_of(spec.name);
        flags
            .set(spec.name, text.trim_matches('"'))
            .expect(spec.name);
    }
    assert_eq!(flags, defaults);
    defaults.validate().expect("defaults are in range");
}

#[test]
fn command_lines_set_what_was_changed() {
    let mut flags = Flags {
        threads: 3,
        benchmarks: "fillseq[X2]".into(),
        html_file: "a.html".into(),
        db: "it's".into(),
        ..Flags::default()
    };
    let line = flags.command_line(&["html_file"]);
    assert_eq!(
        line,
        "db_bench '--benchmarks=fillseq[X2]' '--db=it'\\''s' --threads=3"
    );
    FlagSet::set(&mut flags, "threads", "1,2,4").expect("a list");
    assert_eq!((flags.sweep.as_str(), flags.threads), ("threads=1|2|4", 3));
    FlagSet::set(&mut flags, "threads", "5").expect("a number");
    assert_eq!(flags.threads, 5);
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = TABLE.iter().map(|spec| spec.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TABLE.len());
}

#[test]
fn values_of_the_wrong_type_are_refused_by_name() {
    let mut flags = Flags::default();
    for (name, text) in [
        ("num", "many"),
        ("sync", "maybe"),
        ("threads", "3000000000"),
        ("compression_ratio", "nan"),
    ] {
        let error = flags.set(name, text).expect_err(name).to_string();
        assert!(error.contains(name) && error.contains(text), "{error}");
    }
    flags.set("seed", "0x10").expect("hexadecimal");
    assert_eq!(flags.seed, 16);
}

#[test]
fn ranges_and_names_are_checked() {
    for (name, text) in [
        ("threads", "0"),
        ("num", "-1"),
        ("batch_size", "0"),
        ("memtablerep", "prefix_hash"),
        ("db_write_buffer_size", "-1"),
        ("memtable_protection_bytes_per_key", "-1"),
        ("max_successive_merges", "-1"),
        ("memtablerep", "tree"),
        ("commit_protocol", "leaderless"),
        ("max_write_batch_group_size_bytes", "0"),
        ("prefix_size", "17"),
        ("keys_per_prefix", "5"),
        ("hash_bucket_count", "0"),
        ("compression_type", "xpress"),
        ("compression_type", "brotli"),
        ("merge_operator", "sortlist"),
        ("checksum_type", "5"),
        ("perf_level", "0"),
        ("perf_level", "7"),
        ("stats_level", "6"),
        ("stats_level", "-1"),
        ("compression_ratio", "1.5"),
    ] {
        let mut flags = Flags::default();
        flags.set(name, text).expect("the type is right");
        let error = flags.validate().expect_err(name).to_string();
        assert!(error.contains(name), "{error}");
    }
}
