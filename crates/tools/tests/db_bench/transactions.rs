//! `randomtransaction`, and other benchmarks on databases with transactions.

use super::{Bench, result_of};

/// What the line of a benchmark says of how its transactions ended.
fn endings<'t>(text: &'t str, name: &str) -> &'t str {
    let start = format!("{name:<12} : committed ");
    let line = text.lines().find(|line| line.starts_with(&start));
    line.unwrap_or_else(|| panic!("{name} in {text}"))
}

/// The number in front of `word`, or behind it.
fn number(line: &str, before: &str) -> u64 {
    let (_, rest) = line.split_once(before).expect(line);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect(line)
}

#[test]
fn sums_of_all_sets_are_equal_at_the_end() {
    for (more, sets) in [
        ("--transaction_db --transaction_set_snapshot=false", 1),
        ("--transaction_db", 5),
        ("--optimistic_transaction_db", 2),
        (
            "--optimistic_transaction_db --transaction_set_snapshot=false",
            3,
        ),
    ] {
        let bench = Bench::new();
        let text = bench.run(&format!(
            "{more} --transaction_sets={sets} --threads=4 --num=30 --reads=200 \
             --benchmarks=randomtransaction,randomtransaction --histogram --perf_level=2"
        ));
        assert_eq!(
            text.matches("RandomTransactionVerify Success.\n").count(),
            2,
            "{text}"
        );
        let (operations, message) = result_of(&text, "randomtransaction");
        assert_eq!(operations, 800, "{text}");
        assert!(message.contains("( transactions:"), "{message}");
        let line = endings(&text, "randomtransaction");
        let (committed, aborts) = (number(line, "committed "), number(line, "aborts "));
        assert_eq!(
            committed + number(line, "rolled back ") + aborts,
            800,
            "{line}"
        );
        assert!(committed > 0, "{line}");
        let by_kind = ["Busy ", "TimedOut ", "TryAgain "].map(|kind| number(line, kind));
        assert_eq!(by_kind.iter().sum::<u64>(), aborts, "{line}");
        assert!(line.contains(", lock waits "), "{line}");
        let timed = |what: &str| {
            let head = format!("Microseconds per {what}:\n");
            let count = text
                .split_once(&head)
                .map(|(_, rest)| number(rest, "Count: "));
            count.unwrap_or(0)
        };
        let (plain, prepared) = (timed("commit"), timed("commit of a prepared transaction"));
        assert_eq!(plain + prepared, committed, "{text}");
        assert_eq!(prepared > 0, more.contains("--transaction_db"), "{text}");
    }
}

/// Without locks, changes are lost, and the verification must notice.
#[test]
fn lost_changes_are_noticed() {
    let line = "--transaction_db --skip_concurrency_control --threads=16 --num=10 --reads=300 \
                --benchmarks=randomtransaction";
    let rounds = 1..=10;
    let noticed = rounds.map(|_| Bench::new().output(line)).find(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        let failed = text.contains("RandomTransactionVerify FAILED!!\n");
        assert_eq!(output.status.success(), !failed, "{text}");
        failed
    });
    let output = noticed.expect("one of ten rounds loses a change");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("randomtransaction: the sum of set 1 is "),
        "{message}"
    );
}

/// Batches overwrite each other's changes, so nothing is verified.
#[test]
fn batches_take_the_place_of_transactions() {
    let text = Bench::new().run(
        "--threads=4 --num=10 --reads=100 --transaction_sets=3 --benchmarks=randomtransaction",
    );
    let (operations, message) = result_of(&text, "randomtransaction");
    assert_eq!(operations, 400, "{text}");
    assert!(message.ends_with("( batches:100 )"), "{message}");
    assert!(!text.contains("RandomTransactionVerify"), "{text}");
    assert!(!text.contains("committed"), "{text}");
}

#[test]
fn other_benchmarks_write_under_locks() {
    let bench = Bench::new();
    let text = bench.run(
        "--transaction_db --num=500 --threads=2 --batch_size=8 --merge_operator=put --histogram \
         --num_column_families=2 \
         --benchmarks=fillseq,fillrandom,overwrite,mergerandom,deleterandom,updaterandom,\
         randomwithverify,readrandom,multireadrandom,seekrandom,readseq,\
         flush,waitforcompaction,stats",
    );
    // Batches are whole.
    assert_eq!(result_of(&text, "fillrandom").0, 992, "{text}");
    assert_eq!(result_of(&text, "readrandom").0, 1000, "{text}");
    // It opens again, and its earlier sets stay as they were.
    let line = "--transaction_db --use_existing_db --num=20 --num_column_families=2 \
                --merge_operator=put --benchmarks=randomtransaction";
    for _ in 0..2 {
        let text = bench.run(line);
        assert!(
            text.contains("RandomTransactionVerify Success.\n"),
            "{text}"
        );
    }
}

#[test]
fn optimistic_databases_do_all_else() {
    let text = Bench::new().run(
        "--optimistic_transaction_db --num=500 --threads=2 --batch_size=4 --merge_operator=put \
         --multiread_batched --benchmarks=fillseq,fillrandom,mergerandom,multireadrandom,\
         randomtransaction,approximatesizerandom,compact,compact0,\
         verifychecksum,ingestexternalfile",
    );
    assert_eq!(result_of(&text, "fillrandom").0, 1000, "{text}");
    assert!(
        text.contains("RandomTransactionVerify Success.\n"),
        "{text}"
    );
}

#[test]
fn each_write_policy_loses_no_change() {
    let bench = Bench::new();
    for policy in ["0", "1", "2", "write_prepared"] {
        let text = bench.run(&format!(
            "--transaction_db --txn_write_policy={policy} --threads=4 --num=50 --reads=200 \
             --enable_pipelined_write=false --benchmarks=randomtransaction"
        ));
        assert!(
            text.contains("RandomTransactionVerify Success.\n"),
            "{policy}: {text}"
        );
        assert_eq!(
            policy_in_log(&bench),
            if policy == "write_prepared" {
                "1"
            } else {
                policy
            }
        );
    }
}

/// As in RocksDB's program, which lacks the flags that say otherwise.
#[test]
fn with_unordered_writes_the_policy_is_write_prepared_and_locks_are_skipped() {
    let bench = Bench::new();
    let line = "--transaction_db --unordered_write --enable_pipelined_write=false --threads=4 \
                --num=400 --batch_size=8";
    let text = bench.run(&format!("{line} --benchmarks=fillrandom"));
    assert_eq!(result_of(&text, "fillrandom").0, 1600, "{text}");
    assert_eq!(policy_in_log(&bench), "1");
    let text = bench.run(&format!(
        "{line} --noskip_concurrency_control --benchmarks=randomtransaction --reads=100"
    ));
    assert!(
        text.contains("RandomTransactionVerify Success.\n"),
        "{text}"
    );
    let message = bench.refusal(&format!("{line} --txn_write_policy=0 --benchmarks=fillseq"));
    assert!(
        message.contains("WRITE_COMMITTED is incompatible"),
        "{message}"
    );
}

/// The write policy that the database's info log names last.
fn policy_in_log(bench: &Bench) -> String {
    let log = std::fs::read_to_string(bench.database().join("LOG")).expect("the log");
    let (_, number) = log
        .rsplit_once("Transaction write_policy is ")
        .expect("a line");
    number[..1].to_owned()
}

#[test]
fn transactions_are_in_the_documents() {
    let bench = Bench::new();
    bench.run(
        "--transaction_db --num=20 --reads=50 --json=r.json \
         --benchmarks=randomtransaction[X2],fillseq",
    );
    let text = std::fs::read_to_string(bench.directory.path().join("r.json")).expect("file");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let transactions = &json["results"][0]["transactions"];
    let count = |name: &str| transactions[name].as_u64().expect(name);
    assert_eq!(count("committed") + count("rolled_back"), 100, "{json}");
    assert_eq!(count("busy"), 0, "one thread meets nobody");
    assert!(json["results"][1]["transactions"].is_null(), "{json}");
}

#[test]
fn what_the_api_lacks_is_refused_by_name() {
    let bench = Bench::new();
    for (line, named) in [
        ("--benchmarks=compact", "'compact'"),
        ("--benchmarks=fillseq,verifychecksum", "'verifychecksum'"),
        ("--benchmarks=fillseq --readonly", "--readonly"),
        (
            "--benchmarks=multireadrandom --multiread_batched",
            "--multiread_batched",
        ),
        (
            "--benchmarks=fillseq --txn_write_policy=write_late",
            "--txn_write_policy=write_late",
        ),
        (
            "--benchmarks=fillseq --optimistic_transaction_db",
            "--optimistic_transaction_db",
        ),
        (
            "--benchmarks=randomtransaction --use_uint64_comparator --key_size=8",
            "--use_uint64_comparator",
        ),
    ] {
        let message = bench.refusal(&format!("--transaction_db {line}"));
        assert!(message.contains(named), "{message}");
        assert!(!bench.database().exists(), "{line}");
    }
}
