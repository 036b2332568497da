use serde_json::Value;

use super::*;
use crate::bench::flags::FlagSet;

fn parsed(line: &str) -> Result<Command<Flags>> {
    args::parse_as(line.split_whitespace().map(String::from))
}

fn flags(line: &str) -> Flags {
    match parsed(line).expect(line) {
        Command::Run(flags) => *flags,
        other => panic!("{line}: {other:?}"),
    }
}

fn refused(line: &str) -> String {
    parsed(line).expect_err(line).to_string()
}

fn output_of(line: &str) -> String {
    let mut output = Vec::new();
    let arguments = line.split_whitespace().map(OsString::from);
    execute(arguments, &mut output).expect(line);
    String::from_utf8(output).expect("text")
}

#[test]
fn rocksdbs_spellings_are_accepted() {
    assert_eq!(
        flags(
            "--memtablerep=skiplist --num_operations=7 -num_threads 4 --item_size=3 --num_scans=10"
        ),
        flags("--structures=skiplist --num=7 --threads=4 --value_size=3 --num_scans=10")
    );
    let request = flags("--memtablerep=skiplist,art --threads=1,2,4,16,64").request();
    let plan = request.expect("valid").plan;
    let names: Vec<_> = plan.kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(names, ["skip_list", "art"]);
    assert_eq!(plan.threads, [1, 2, 4, 16, 64]);
    assert_eq!(plan.workloads.len(), Workload::ALL.len());
}

#[test]
fn every_default_is_valid_and_can_be_set() {
    let defaults = Flags::default();
    defaults.validate().expect("defaults are in range");
    let mut other = Flags::default();
    for spec in flags::TABLE {
        let text = defaults.text_of(spec.name);
        other
            .set(spec.name, text.trim_matches('"'))
            .expect(spec.name);
    }
    assert_eq!(other, defaults);
    tour().validate().expect("the tour is valid");
}

#[test]
fn what_is_wrong_is_named_with_what_is_near() {
    for (line, expected) in [
        ("--thread=3", "the nearest known one is --threads"),
        ("--benchmarks=filrandom", "nearest known one is fillrandom"),
        ("--structures=arts", "nearest known one is art"),
        (
            "--memtablerep=cuckoo",
            "RocksDB's memtablerep_bench knows it",
        ),
        ("--benchmarks=seqreadwrite", "does not run it yet"),
        (
            "--bucket_count=3",
            "--bucket_count=3: RocksDB's memtablerep_bench",
        ),
        ("--threads=0", "'0' is not between 1 and 4096"),
        ("--threads=1,x", "'x' is not between"),
        ("--threads=,", "nothing is listed"),
        ("--num=1", "--num=1 is less than 2"),
        ("--rounds=0", "--rounds=0"),
        ("--batch_size=0", "--batch_size=0"),
        ("--value_size=-1", "--value_size=-1"),
        ("--keys=sorted", "there are random and dense"),
        ("--num=x", "'x' is not an integer"),
    ] {
        let message = refused(line);
        assert!(message.contains(expected), "{line}: {message}");
    }
    flags("--vectorrep_count=0 --huge_page_tlb_size=0");
}

#[test]
fn nothing_is_both_honoured_and_refused() {
    for known in Flags::known() {
        assert!(flags::TABLE.iter().all(|spec| spec.name != known.name));
        assert!(Flags::alias(known.name).is_none());
    }
}

#[test]
fn the_help_has_everything() {
    let text = output_of("--help");
    let flags = flags::TABLE.iter().map(|spec| spec.name);
    let workloads = Workload::ALL.into_iter().map(Workload::name);
    let structures = structures::ALL.iter().map(|kind| kind.name);
    for name in flags.chain(workloads).chain(structures) {
        assert!(text.contains(name), "{name}");
    }
    assert!(text.contains("bucket_count") && text.is_ascii());
    assert!(output_of("--version").starts_with("memtablerep_bench "));
}

#[test]
fn a_run_writes_table_json_and_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    let text = output_of(&format!(
        "--num=300 --threads=1,3 --rounds=2 --key_size=8 --value_size=8 --json_file={} --html_file={}",
        file("r.json"),
        file("r.html")
    ));
    let json = std::fs::read_to_string(file("r.json")).expect("written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let html = std::fs::read_to_string(file("r.html")).expect("written");
    let results = json["results"].as_array().expect("a list");
    let (kinds, workloads) = (structures::ALL.len(), Workload::ALL.len());
    assert_eq!(results.len(), kinds * workloads * 2);
    assert_eq!(html.matches("<svg").count(), workloads);
    assert_eq!(html.matches("</svg>").count(), workloads);
    assert_eq!(html.matches("<tr>").count(), results.len() + workloads);
    for workload in Workload::ALL {
        let name = workload.name();
        assert!(text.contains(&format!("\n{name}, 1 thread\n")), "{name}");
        assert!(text.contains(&format!("\n{name}, 3 threads\n")), "{name}");
        assert!(html.contains(&format!("<h2>{name}</h2>")), "{name}");
    }
    for result in results {
        if result["not_applicable"].is_string() {
            let which = (&result["structure"], &result["benchmark"]);
            let backward = which.0 == "congee" && which.1 == "readreverse";
            assert!(backward || which.1 == "seekrandom", "{which:?}");
            continue;
        }
        let rate = result["operations_per_second"].as_f64().expect("a rate");
        assert!(rate > 0.0, "{result}");
        let rounds = result["rounds"].as_array().expect("rounds");
        assert_eq!(rounds.len(), 2, "{result}");
        let operations = rounds[0]["operations"].as_u64().expect("a count");
        // Threads that read beside writers do as much as there is time for.
        assert!(operations >= 150, "{result}");
        let own = structures::ALL
            .iter()
            .any(|kind| kind.counts_rmw && result["structure"] == kind.name);
        assert_eq!(
            result["rmw_from"] == "counted",
            own && json["rmw_counted"] == true
        );
    }
    assert_eq!(json["settings"]["num"], "300");
    assert!(json["machine"]["cores"].as_u64() > Some(0));
    assert!(html.contains("load average") && html.contains("within one run only"));
}

#[test]
fn keys_that_cannot_be_made_are_refused() {
    let mut output = Vec::new();
    let arguments = ["--num=1000", "--key_size=1"].map(OsString::from);
    let failure = execute(arguments.into_iter(), &mut output).expect_err("256 keys");
    assert!(failure.to_string().contains("too few"), "{failure}");
}
