//! Runs every benchmark from start to end on the engine for tests.

use super::memory::Memory;
use super::*;

mod engine;

fn output_of(flags: &Flags) -> Result<String> {
    let directory = tempfile::tempdir().expect("temporary directory");
    let mut output = Vec::new();
    let mut runner = Runner::<Memory>::new(flags, directory.path(), 42, &mut output)?;
    let steps = plan::parse(&flags.benchmarks)?;
    runner.run(&steps)?;
    drop(runner);
    Ok(String::from_utf8(output).expect("text"))
}

fn run_list(list: &str, change: impl FnOnce(&mut Flags)) -> String {
    let mut flags = Flags {
        num: 2000,
        benchmarks: list.into(),
        ..Flags::default()
    };
    change(&mut flags);
    output_of(&flags).expect(list)
}

/// The operations and the message of the result line of `name`.
fn result_of<'t>(text: &'t str, name: &str) -> (u64, &'t str) {
    let start = format!("{name:<12} : ");
    let line = text
        .lines()
        .find(|line| line.starts_with(&start))
        .expect(name);
    let (head, message) = line.split_once(" operations;").expect("a result line");
    let words: Vec<_> = head[start.len()..].split_whitespace().collect();
    assert_eq!(
        (words[1], words[3], words[5]),
        ("micros/op", "ops/sec", "seconds"),
        "{line}"
    );
    (words[6].parse().expect("a count"), message.trim())
}

#[test]
fn every_benchmark_runs() {
    // This engine has no tables, nor this project's own functions.
    let here = |benchmark: &&plan::Benchmark| {
        !matches!(
            benchmark.task,
            plan::Task::Ingest
                | plan::Task::Checksum(_)
                | plan::Task::Compress
                | plan::Task::Uncompress
        )
    };
    let list: Vec<_> = (plan::BENCHMARKS.iter().filter(here))
        .map(|benchmark| benchmark.name)
        .collect();
    let text = run_list(&list.join(","), |flags| {
        flags.threads = 2;
        flags.merge_operator = "put".into();
    });
    for benchmark in plan::BENCHMARKS.iter().filter(here) {
        let measured = !matches!(
            benchmark.task,
            plan::Task::CompactAll
                | plan::Task::CompactLevel0
                | plan::Task::Flush
                | plan::Task::WaitForCompaction
                | plan::Task::Property(_)
        );
        assert_eq!(
            text.contains(&format!("{:<12} : ", benchmark.name)),
            measured,
            "{}",
            benchmark.name
        );
    }
    assert_eq!(result_of(&text, "fillseq").0, 4000);
    assert_eq!(result_of(&text, "filluniquerandom").0, 2000);
    assert_eq!(
        result_of(&text, "fillsync"),
        (4000, result_of(&text, "fillsync").1)
    );
    assert!(result_of(&text, "fillsync").1.ends_with("MB/s (2 ops)"));
    assert_eq!(result_of(&text, "fillbatch").0, 4000);
    assert_eq!(result_of(&text, "readmissing"), (4000, "(0 of 2000 found)"));
    assert_eq!(result_of(&text, "readwhilewriting").0, 4000);
    // One thread reads at most as many keys as exist; random writes miss some.
    assert!((1..=2000).contains(&result_of(&text, "readtocache").0));
    assert_eq!(result_of(&text, "compact").0, 1);
    assert!(
        result_of(&text, "mergerandom")
            .1
            .ends_with("( updates:2000)")
    );
    assert!(text.contains("flush memtable\n"));
    assert!(text.contains("\nLevel Files Size(MB)\n"));
    assert!(text.contains("\n(failed)\n"));
    assert!(text.contains("rocksdb.size-all-mem-tables: 0\n"));
    assert!(text.contains("): finished\n"));
}

fn run_failure(list: &str) -> String {
    let flags = Flags {
        benchmarks: list.into(),
        ..Flags::default()
    };
    output_of(&flags).expect_err(list).to_string()
}

#[test]
fn keys_keep_to_their_column_families() {
    let text = run_list("fillseq,readrandom,flush,deleteseq,readrandom", |flags| {
        flags.num_column_families = 3;
        flags.column_family_distribution = "10,30,60".into();
    });
    // Deletions concern the default family, and hit about every tenth key.
    let found: Vec<_> = text
        .lines()
        .filter(|line| line.contains("readrandom"))
        .collect();
    assert!(found[0].ends_with("(2000 of 2000 found)"), "{text}");
    assert!(!found[1].ends_with("(2000 of 2000 found)"), "{text}");
    // The last hot families have the second half of what was written.
    let text = run_list("fillseq,readrandom", |flags| {
        flags.num_column_families = 4;
        flags.num_hot_column_families = 2;
    });
    let (_, message) = result_of(&text, "readrandom");
    let found = message.split_once('(').expect("counts").1;
    let found: u64 = found
        .split(' ')
        .next()
        .expect("a count")
        .parse()
        .expect("a number");
    assert!((800..1200).contains(&found), "{message}");
}

#[test]
fn reads_find_what_was_written() {
    let text = run_list(
        "fillseq,readrandom,seekrandom,updaterandom,readseq,readreverse",
        |_| {},
    );
    assert!(
        result_of(&text, "readrandom")
            .1
            .ends_with("(2000 of 2000 found)")
    );
    assert!(
        result_of(&text, "seekrandom")
            .1
            .ends_with("(2000 of 2000 found)")
    );
    assert!(
        result_of(&text, "updaterandom")
            .1
            .ends_with("( updates:2000 found:2000)")
    );
    assert_eq!(result_of(&text, "readseq").0, 2000);
    assert_eq!(result_of(&text, "readreverse").0, 2000);
}

#[test]
fn updates_keep_their_kind() {
    let text = run_list("fillseq,xorupdaterandom,appendrandom,readseq", |flags| {
        flags.num = 100;
    });
    for name in ["xorupdaterandom", "appendrandom"] {
        let (count, message) = result_of(&text, name);
        assert_eq!(count, 100, "{name}");
        assert!(message.ends_with("( updates:100 found:100)"), "{message}");
    }
    assert!(!result_of(&text, "xorupdaterandom").1.contains("MB/s"));
}

#[test]
fn mixes_keep_their_shares() {
    let text = run_list(
        "fillseq,readrandomwriterandom,readrandommergerandom,randomwithverify,mixgraph",
        |flags| {
            flags.readwritepercent = 70;
            flags.mergereadpercent = 0;
            flags.merge_operator = "put".into();
            flags.mix_put_ratio = 1.0;
            flags.mix_seek_ratio = 1.0;
        },
    );
    assert_eq!(
        result_of(&text, "readrandomwriterandom").1,
        "( reads:1400 writes:600 total:2000 found:1400)"
    );
    assert_eq!(
        result_of(&text, "readrandommergerandom").1,
        "(reads:2000 merges:0 total:2000 hits:2000 maxlength:100)"
    );
    let verified = result_of(&text, "randomwithverify").1;
    assert!(
        verified.starts_with("( get:1400 put:560 del:40 total:2000 found:"),
        "{verified}"
    );
    let mix = result_of(&text, "mixgraph").1;
    let count = |name: &str| {
        let (_, rest) = mix.split_once(name).expect(name);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect(name)
    };
    let (gets, puts, seeks) = (count("Gets:"), count("Puts:"), count("Seek:"));
    assert_eq!(gets + puts + seeks, 2000, "{mix}");
    assert!(gets.min(puts).min(seeks) > 500, "{mix}");
}

#[test]
fn batches_of_reads_find_their_keys() {
    for stride in [0, 3] {
        let text = run_list("fillseq,multireadrandom,readrandom", |flags| {
            flags.batch_size = 8;
            flags.multiread_stride = stride;
            flags.value_size = 10;
        });
        for name in ["multireadrandom", "readrandom"] {
            let (count, message) = result_of(&text, name);
            assert_eq!(count, 2000);
            assert!(message.ends_with("(2000 of 2000 found)"), "{message}");
        }
    }
    let text = run_list("fillseq,readrandomfast,readhot", |_| {});
    let fast = result_of(&text, "readrandomfast").1;
    assert!(fast.contains(" of 2000 found, issued "), "{fast}");
    assert!(
        !fast.contains("issued 0 "),
        "48 of 2048 do not exist: {fast}"
    );
    assert!(
        result_of(&text, "readhot")
            .1
            .ends_with("(2000 of 2000 found)")
    );
}

#[test]
fn a_scan_beside_readers_counts_and_a_writer_does_not() {
    let text = run_list("fillseq,readwhilescanning,seekrandomwhilewriting", |_| {});
    assert_eq!(result_of(&text, "readwhilescanning").0, 4000);
    assert_eq!(result_of(&text, "seekrandomwhilewriting").0, 2000);
}

#[test]
fn snapshots_are_checked_beside_writers() {
    let text = run_list("overwritewhilechecking", |_| {});
    let (count, message) = result_of(&text, "overwritewhilechecking");
    assert_eq!(count, 2000);
    assert!(message.contains(" snapshots stayed the same)"), "{message}");
}

#[test]
fn bounded_iterators_end_early() {
    for (reverse, distance) in [(false, 2), (true, 2)] {
        let text = run_list("fillseq,seekrandom,levelstats", |flags| {
            flags.seek_nexts = 1000;
            flags.max_scan_distance = distance;
            flags.reverse_iterator = reverse;
            flags.perf_level = 2;
        });
        assert!(
            result_of(&text, "seekrandom")
                .1
                .ends_with("(2000 of 2000 found)")
        );
    }
}

#[test]
fn time_series_need_a_reader() {
    let text = run_list("timeseries", |flags| {
        flags.threads = 3;
        flags.key_id_range = 10;
        flags.time_range = 10;
        flags.expire_style = "delete".into();
    });
    let (written, _) = result_of(&text, "timeseries write");
    assert_eq!(written, 2000);
    assert!(result_of(&text, "timeseries").1.contains(" found)"));
    let alone = Flags {
        num: 10,
        benchmarks: "timeseries".into(),
        ..Flags::default()
    };
    let failure = output_of(&alone).expect_err("nobody reads").to_string();
    assert!(failure.contains("--threads of at least 2"), "{failure}");
}

#[test]
fn range_deletions_are_written_between() {
    let text = run_list("fillseq,readseq", |flags| {
        flags.num = 1000;
        flags.writes_per_range_tombstone = 100;
        flags.max_num_range_tombstones = 5;
        flags.range_tombstone_width = 10_000;
    });
    // Five deletions count as operations, too, and leave fewer entries to read.
    assert_eq!(result_of(&text, "fillseq").0, 1005);
    assert!(result_of(&text, "readseq").0 < 1000);
}

#[test]
fn sizes_of_values_can_be_spread() {
    let text = run_list("fillseq,readrandom", |flags| {
        flags.value_size_distribution_type = "uniform".into();
        flags.value_size_min = 10;
        flags.value_size_max = 1000;
    });
    assert_eq!(result_of(&text, "fillseq").0, 2000);
}

#[test]
fn a_batch_counts_its_entries_and_fill_starts_afresh() {
    let text = run_list("fillseq,fillseq,readseq,deleteseq,readseq", |flags| {
        flags.batch_size = 512;
        flags.num = 1000;
    });
    assert_eq!(result_of(&text, "fillseq").0, 512);
    let scans: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("readseq"))
        .collect();
    assert!(scans[0].contains(" 512 operations;"), "{text}");
    assert!(scans[1].ends_with(" 1 operations;"), "{text}");
}

#[test]
fn duration_replaces_the_count_of_random_benchmarks() {
    let text = run_list("fillseq,readrandom", |flags| {
        flags.num = 100;
        flags.duration = 1;
    });
    assert_eq!(result_of(&text, "fillseq").0, 100);
    assert!(result_of(&text, "readrandom").0 > 100);
}

#[test]
fn seeks_read_on_in_either_direction() {
    for reverse in [false, true] {
        let text = run_list("fillseq,seekrandom", |flags| {
            flags.seek_nexts = 3;
            flags.reverse_iterator = reverse;
        });
        assert!(
            result_of(&text, "seekrandom")
                .1
                .contains("MB/s (2000 of 2000 found)"),
            "{text}"
        );
    }
}

#[test]
fn repeats_and_warmups() {
    let text = run_list("fillrandom[X3],readrandom[W2]", |_| {});
    assert_eq!(text.matches("fillrandom   : ").count(), 3);
    assert!(text.contains("Running benchmark for 3 times\n"));
    for line in [
        "fillrandom [AVG 2 runs] : ",
        "fillrandom [AVG 3 runs] : ",
        "fillrandom [AVG    3 runs] : ",
        "fillrandom [MEDIAN 3 runs] : ",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line}");
    }
    assert!(text.contains("Warming up benchmark by running 2 times\n"));
    assert_eq!(text.matches("readrandom   : ").count(), 3);
    let text = run_list("fillrandom[X2]", |flags| {
        flags.confidence_interval_only = true
    });
    assert!(text.contains("fillrandom [CI95 2 runs] : ("), "{text}");
}

#[test]
fn histogram_statistics_and_counters() {
    let text = run_list("fillrandom,readrandom", |flags| {
        flags.histogram = true;
        flags.statistics = true;
        flags.perf_counters = true;
        flags.threads = 3;
    });
    assert!(
        text.contains("Microseconds per write:\nCount: 6000 Average: "),
        "{text}"
    );
    assert!(
        text.contains("Microseconds per read:\nCount: 6000 Average: "),
        "{text}"
    );
    assert!(text.contains("fillrandom   : counters per op: "), "{text}");
    assert!(
        text.contains("STATISTICS:\nmemory.entries COUNT : "),
        "{text}"
    );
}

#[test]
fn perf_contexts_of_threads_are_added_up() {
    let text = run_list("fillseq,readseq", |flags| {
        flags.perf_level = 2;
        flags.threads = 3;
    });
    let report = "\nPERF_CONTEXT:\nlevel = 6, threads = 3\n";
    assert_eq!(text.matches(report).count(), 2, "{text}");
    assert!(!run_list("fillseq", |_| {}).contains("PERF_CONTEXT"));
}

#[test]
fn contention_is_reported_for_writes_and_for_reads() {
    let list = "fillseq[X2],readseq,readrandom,newsnapshot,compact";
    let text = run_list(list, |flags| flags.contention = true);
    assert_eq!(text.matches("contention per operation\n").count(), 5);
    for (name, times) in [("fillseq", 2), ("readseq", 1), ("newsnapshot", 1)] {
        let title = format!("{name:<12} : contention per operation");
        assert_eq!(text.matches(&title).count(), times, "{text}");
    }
    assert!(
        text.contains("  futex waits                    not counted\n"),
        "{text}"
    );
}

#[test]
fn the_report_file_has_its_header() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("rates.csv");
    run_list("fillseq", |flags| {
        flags.report_interval_seconds = 60;
        flags.report_file = file.display().to_string();
    });
    assert_eq!(
        std::fs::read_to_string(&file).expect("file"),
        "secs_elapsed,interval_qps\n"
    );
}

#[test]
fn an_existing_database_is_not_filled() {
    let text = run_list("fillseq,readrandom", |flags| flags.use_existing_db = true);
    assert!(
        text.contains("fillseq      : skipped (--use_existing_db is true)\n"),
        "{text}"
    );
    assert_eq!(result_of(&text, "readrandom"), (2000, "(0 of 2000 found)"));
}

#[test]
fn merging_without_an_operator_is_an_error() {
    let flags = Flags {
        num: 10,
        benchmarks: "mergerandom".into(),
        ..Flags::default()
    };
    assert_eq!(
        output_of(&flags),
        Err(Failure("mergerandom needs --merge_operator".into()))
    );
    // The extra writer fails; the run ends and reports why.
    let flags = Flags {
        num: 10,
        benchmarks: "readwhilemerging".into(),
        duration: 60,
        ..Flags::default()
    };
    let failure = output_of(&flags).expect_err("no operator");
    assert_eq!(failure.to_string(), "put or merge error: no merge operator");
}

#[test]
fn zero_keys_end_at_once() {
    let text = run_list(
        "fillseq,fillrandom,readrandom,deleterandom,seekrandom",
        |flags| flags.num = 0,
    );
    assert_eq!(result_of(&text, "readrandom").1, "(0 of 0 found)");
}

#[test]
fn both_needs_fresh_databases() {
    let flags = Flags {
        use_existing_db: true,
        ..Flags::default()
    };
    assert!(run_both::<Memory, Memory>(&flags).is_err());
}

#[test]
fn seeds_are_taken_as_given() {
    let flags = Flags {
        seed: 5,
        ..Flags::default()
    };
    assert_eq!(choose_seed(&flags), Ok(5));
}
