//! Benchmarks that need the engine itself, and flags of others.

use super::{Bench, result_of};

#[test]
fn tables_are_made_outside_and_ingested() {
    let bench = Bench::new();
    let text = bench.run(
        "--num=100 --threads=3 --ingest_external_file_batch_size=2 --ingest_external_file_num_batches=3 \
         --benchmarks=ingestexternalfile,readseq,levelstats",
    );
    let (count, message) = result_of(&text, "ingestexternalfile");
    assert_eq!(count, 3, "{text}");
    assert!(
        message.ends_with("(3 batches x 2 files, 100 keys/file)"),
        "{message}"
    );
    // All have the same keys; three threads read them.
    assert_eq!(result_of(&text, "readseq").0, 300);
    assert!(!bench.database().join("ingest_tmp").exists());
}

#[test]
fn an_iterator_follows_what_is_written() {
    let bench = Bench::new();
    let text = bench.run(
        "--num=500 --use_tailing_iterator --seek_nexts=3 --benchmarks=fillseq,seekrandom,seekrandomwhilewriting",
    );
    for name in ["seekrandom", "seekrandomwhilewriting"] {
        let (_, message) = result_of(&text, name);
        assert!(message.ends_with("(500 of 500 found)"), "{message}");
    }
}

#[test]
fn prefixes_that_are_not_there_are_sought() {
    let line = "--num=500 --key_size=24 --prefix_size=10 --keys_per_prefix=10 --benchmarks=fillseq,seekrandom";
    let text = Bench::new().run(line);
    assert!(
        result_of(&text, "seekrandom")
            .1
            .ends_with("(500 of 500 found)"),
        "{text}"
    );
    let text = Bench::new().run(&format!("{line} --seek_missing_prefix"));
    assert!(
        result_of(&text, "seekrandom")
            .1
            .ends_with("(0 of 500 found)"),
        "{text}"
    );
}

#[test]
fn unique_keys_are_overwritten_soon() {
    let text = Bench::new().run(
        "--num=2000 --overwrite_probability=0.5 --overwrite_window_size=10 --benchmarks=filluniquerandom,readseq",
    );
    let (count, message) = result_of(&text, "filluniquerandom");
    assert_eq!(count, 2000);
    let counts = message.split_once("(unique keys:").expect("counts").1;
    let (unique, again) = counts.split_once(" overwrites:").expect("two");
    let again = again
        .trim_end_matches(')')
        .parse::<u64>()
        .expect("a number");
    let unique = unique.parse::<u64>().expect("a number");
    assert_eq!(unique + again, 2000, "{message}");
    assert!((800..1200).contains(&again), "{message}");
    assert_eq!(result_of(&text, "readseq").0, unique);
}

#[test]
fn keys_are_ordered_as_numbers() {
    let bench = Bench::new();
    let text = bench.run(
        "--num=1000 --key_size=8 --use_uint64_comparator --benchmarks=fillrandom,compact,fillseq,readrandom,readseq",
    );
    assert!(
        result_of(&text, "readrandom")
            .1
            .ends_with("(1000 of 1000 found)"),
        "{text}"
    );
    assert_eq!(result_of(&text, "readseq").0, 1000);
    assert!(
        bench
            .options()
            .contains(&"comparator=rocksdb.Uint64Comparator".to_owned())
    );
}

#[test]
fn fills_follow_a_sine() {
    // So much at its least that it does not hold anything up.
    let text = Bench::new().run(
        "--num=2000 --sine_write_rate --sine_write_rate_interval_milliseconds=1 --sine_a=1000 \
         --sine_d=1000000000 --benchmarks=fillseq,readseq",
    );
    assert_eq!(result_of(&text, "fillseq").0, 2000);
    assert_eq!(result_of(&text, "readseq").0, 2000);
}

#[test]
fn fifo_compaction_keeps_to_its_size() {
    let line = "--num=2000 --compaction_style=2 --num_levels=1 --write_buffer_size=65536 --nofifo_compaction_allow_compaction \
                --benchmarks=fillseq,flush,waitforcompaction,readseq";
    let text = Bench::new().run(&format!(
        "{line} --fifo_compaction_max_table_files_size_mb=100"
    ));
    assert_eq!(result_of(&text, "readseq").0, 2000);
    // RocksDB's default leaves no room at all: readers find nothing, and count one.
    let text = Bench::new().run(line);
    assert_eq!(result_of(&text, "readseq").0, 1, "{text}");
}

#[test]
fn compactions_remove_what_has_expired() {
    let bench = Bench::new();
    let text = bench.run(
        "--num=2000 --threads=2 --key_size=16 --key_id_range=10 --time_range=50 \
         --expire_style=compaction_filter --benchmarks=timeseries,compact,readseq",
    );
    // Times 1950 to 1999 are left, for two threads.
    assert_eq!(result_of(&text, "readseq").0, 100, "{text}");
    assert!(
        text.contains("Compaction filter is used to remove expired data\n"),
        "{text}"
    );
}

#[test]
fn statistics_are_printed_beside_progress() {
    let run = |families: &str| {
        let bench = Bench::new();
        let output = bench.output(&format!(
            "--num=1000 --stats_interval=500 --stats_per_interval=1 --show_table_properties \
             --benchmarks=fillseq,flush,readrandom {families}"
        ));
        assert!(output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    let text = run("");
    for part in [
        "** DB Stats **",
        "num-running-compactions: ",
        "num-running-flushes: ",
        "Level[0]: # data blocks=",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = run("--num_column_families=2");
    for part in [
        "[column_family_name_000001]",
        "[default]",
        "Level[0]: # data blocks=",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_log_goes_to_standard_error() {
    let bench = Bench::new();
    let output = bench.output("--num=10 --use_stderr_info_logger --benchmarks=fillseq");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("write_buffer_size"), "{text}");
    assert!(!bench.database().join("LOG").exists());
}

#[test]
fn verifychecksum_reads_all_tables_and_finds_a_damaged_block() {
    let bench = Bench::new();
    let list = "--num=2000 --benchmarks=fillseq,flush,verifychecksum,verifyfilechecksums";
    let text = bench.run(list);
    assert_eq!(result_of(&text, "verifychecksum").0, 1);
    assert_eq!(result_of(&text, "verifyfilechecksums").0, 1);

    let tables = std::fs::read_dir(bench.database()).expect("directory");
    let mut tables = tables.map(|entry| entry.expect("entry").path());
    let table = tables.find(|path| path.extension().is_some_and(|e| e == "sst"));
    let table = table.expect("a table");
    let mut bytes = std::fs::read(&table).expect("readable");
    bytes[100] ^= 1;
    std::fs::write(&table, bytes).expect("writable");
    let message = bench.refusal("--use_existing_db --benchmarks=verifychecksum");
    assert!(message.contains("verifychecksum: Corruption"), "{message}");
    assert!(message.contains(".sst"), "{message}");
}
