//! Column families, and the ways to open a database.

use super::{Bench, newest_options, result_of};
use whitewater::{DB, IteratorMode, Options};

/// Names of the column families, the default one first.
fn names(bench: &Bench) -> Vec<String> {
    let found = DB::list_cf(&Options::default(), bench.database());
    let mut names = found.expect("families");
    names.sort_by_key(|name| (name != "default", name.clone()));
    names
}

/// Entries of each column family, by name.
fn entries(bench: &Bench) -> Vec<(String, usize)> {
    let (options, path) = (Options::default(), bench.database());
    let names = names(bench);
    let db = DB::open_cf(&options, &path, &names).expect("opens");
    let count = |name: String| {
        let family = db.cf_handle(&name).expect("a family");
        let entries = db.full_iterator_cf(family, IteratorMode::Start);
        let count = entries.inspect(|entry| assert!(entry.is_ok())).count();
        (name, count)
    };
    names.into_iter().map(count).collect()
}

fn named(names: &[(&str, usize)]) -> Vec<(String, usize)> {
    names
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

#[test]
fn column_families_share_the_keys() {
    let bench = Bench::new();
    let families = "--num=1000 --num_column_families=3 --column_family_distribution=10,30,60";
    let text = bench.run(&format!("{families} --benchmarks=fillseq,flush,readrandom"));
    assert!(
        result_of(&text, "readrandom")
            .1
            .ends_with("(1000 of 1000 found)"),
        "{text}"
    );
    // Keys keep to their family over openings.
    let text = bench.run(&format!(
        "{families} --use_existing_db --benchmarks=readrandom"
    ));
    assert!(
        result_of(&text, "readrandom")
            .1
            .ends_with("(1000 of 1000 found)"),
        "{text}"
    );
    assert_eq!(
        entries(&bench),
        named(&[
            ("default", 110),
            ("column_family_name_000001", 300),
            ("column_family_name_000002", 590),
        ])
    );
    let message = bench.refusal("--num_column_families=2 --column_family_distribution=50,49");
    assert!(message.contains("the sum is 99, not 100"), "{message}");
    let message = bench.refusal("--num_column_families=2 --column_family_distribution=100");
    assert!(
        message.contains("1 percentages for 2 column families"),
        "{message}"
    );
}

#[test]
fn hot_column_families_follow_each_other() {
    let bench = Bench::new();
    let text = bench.run(
        "--num=1000 --num_column_families=6 --num_hot_column_families=2 --batch_size=10 \
         --merge_operator=put --write_buffer_size=65536 --benchmarks=fillseq,flush,mergerandom",
    );
    assert_eq!(result_of(&text, "fillseq").0, 1000);
    let counts = entries_of_hot(&bench);
    assert_eq!(counts.len(), 6, "{counts:?}");
    // Merges go to the last two; the others have what the fill wrote.
    assert!(
        counts[..4].iter().all(|count| (160..=170).contains(count)),
        "{counts:?}"
    );
    assert!(counts[4..].iter().all(|count| *count > 170), "{counts:?}");
}

/// Entries of each column family, which needs the operator of their merges.
fn entries_of_hot(bench: &Bench) -> Vec<usize> {
    let mut options = Options::default();
    options.set_merge_operator_associative("PutOperator", |_, old, operands| {
        operands.iter().last().or(old).map(<[u8]>::to_vec)
    });
    let path = bench.database();
    let names = names(bench);
    let named = names.iter().map(|name| (name, options.clone()));
    let db = DB::open_cf_with_opts(&options, &path, named).expect("opens");
    let count = |name: &String| {
        let family = db.cf_handle(name).expect("a family");
        db.full_iterator_cf(family, IteratorMode::Start).count()
    };
    names.iter().map(count).collect()
}

#[test]
fn a_database_is_opened_for_reading_only() {
    let bench = Bench::new();
    bench.run("--num=500 --benchmarks=fillseq");
    let text = bench.run("--num=500 --readonly --benchmarks=fillseq,readrandom");
    assert!(
        text.contains("fillseq      : skipped (--use_existing_db is true)\n"),
        "{text}"
    );
    assert!(
        result_of(&text, "readrandom")
            .1
            .ends_with("(500 of 500 found)"),
        "{text}"
    );
    let message = bench.refusal("--num=500 --readonly --benchmarks=overwrite");
    assert!(message.contains("put error"), "{message}");
}

#[test]
fn a_secondary_follows_its_primary() {
    let bench = Bench::new();
    bench.run("--num=500 --benchmarks=fillseq");
    let secondary = "--use_secondary_db --use_existing_db --num=500 --secondary_path=own";
    let text = bench.run(&format!("{secondary} --benchmarks=readrandom,readseq"));
    assert!(
        result_of(&text, "readrandom")
            .1
            .ends_with("(500 of 500 found)"),
        "{text}"
    );
    assert_eq!(result_of(&text, "readseq").0, 500);
    // At least once for each of the two.
    let times = text.lines().find_map(|line| {
        let times = line.strip_prefix("Secondary instance updated  ")?;
        times.strip_suffix(" times.")?.parse::<u64>().ok()
    });
    assert!(times.is_some_and(|times| times >= 2), "{text}");
    assert!(bench.directory.path().join("own").is_dir());
    let text = bench.run(&format!(
        "{secondary} --secondary_update_interval=0 --benchmarks=readrandom"
    ));
    assert!(
        text.contains("Secondary instance updated  0 times.\n"),
        "{text}"
    );
    for line in [
        "",
        "--readonly",
        "--use_existing_db --num_column_families=2",
    ] {
        let message = bench.refusal(&format!("--use_secondary_db {line}"));
        assert!(message.contains("--use_secondary_db"), "{message}");
    }
}

#[test]
fn options_come_from_a_file() {
    let (first, second) = (Bench::new(), Bench::new());
    first.run(
        "--num=10 --benchmarks=fillseq --write_buffer_size=1048576 --compaction_style=1 \
         --num_levels=5 --compression_type=zstd --bloom_bits=7 --num_column_families=2",
    );
    let file = first.options_file();
    let file = file.display();
    second.run(&format!(
        "--num=10 --benchmarks=fillseq --options_file={file} --num_column_families=3"
    ));
    let text = std::fs::read_to_string(newest_options(&second.database())).expect("options");
    for line in [
        "  write_buffer_size=1048576\n",
        "  compaction_style=kCompactionStyleUniversal\n",
        "  num_levels=5\n",
        "  compression=kZSTD\n",
        "  filter_policy=bloomfilter:7",
    ] {
        assert_eq!(text.matches(line).count(), 3, "{line} in {text}");
    }
    for flag in [
        "--write_buffer_size=70000",
        "--use_ribbon_filter",
        "--merge_operator=put",
    ] {
        let message = second.refusal(&format!("--options_file={file} {flag}"));
        assert!(
            message.contains("is an option that --options_file decides"),
            "{message}"
        );
    }
    let message = second.refusal("--benchmarks=fillseq --options_file=no-such-file");
    assert!(message.contains("--options_file=no-such-file"), "{message}");
}

#[test]
fn an_opening_is_timed() {
    let text = Bench::new().run("--num=10 --report_open_timing --benchmarks=fillseq");
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("OpenDb:     "))
        .collect();
    // Once at the start, once for the fresh database.
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines.iter().all(|line| line.ends_with(" milliseconds")),
        "{text}"
    );
}

#[test]
fn a_monitor_is_there_while_the_database_is_open() {
    let bench = Bench::new();
    let line = "--num=20 --benchmarks=fillseq,readseq --monitor=";
    let output = bench.output(&format!("{line}127.0.0.1:0"));
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{notes}");
    assert!(notes.contains("Monitor:    http://127.0.0.1:"), "{notes}");
    assert!(!notes.contains("127.0.0.1:0/"), "{notes}");
    let refusal = bench.refusal(&format!("{line}0.0.0.0:0"));
    assert!(refusal.contains("--monitor=0.0.0.0:0: "), "{refusal}");
    assert!(refusal.contains("not a loopback address"), "{refusal}");
}
