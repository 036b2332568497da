//! What the header, the JSON and the page say of a run.

use super::Bench;

/// The JSON of a run with these flags.
fn document(bench: &Bench, line: &str) -> serde_json::Value {
    let file = bench.directory.path().join("run.json");
    bench.run(&format!("{line} --json={}", file.display()));
    let text = std::fs::read_to_string(file).expect("a document");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn header_and_json_say_which_protocol_and_memtable_are_in_force() {
    let bench = Bench::new();
    let text = bench.run("--num=20 --benchmarks=fillseq");
    assert!(text.contains("\nMemtablerep: art\n"), "{text}");
    assert!(text.contains("\nCommit protocol: ordered\n"), "{text}");
    let json = document(&bench, "--num=20 --benchmarks=fillseq");
    let in_force = &json["results"][0]["in_force"];
    assert_eq!(in_force["commit_protocol"], "ordered");
    assert_eq!(in_force["memtable"], "art");

    let flags = "--num=20 --benchmarks=fillseq --memtablerep=vector \
                 --allow_concurrent_memtable_write=false";
    let text = bench.run(flags);
    assert!(text.contains("\nMemtablerep: VectorRepFactory\n"), "{text}");
    assert!(text.contains("\nCommit protocol: grouped\n"), "{text}");
    let json = document(
        &bench,
        "--num=20 --benchmarks=fillseq --compare=memtablerep=skip_list|auto",
    );
    let memtables: Vec<_> = (0..2)
        .map(|at| json["results"][at]["in_force"]["memtable"].clone())
        .collect();
    assert_eq!(memtables, ["skip_list", "art"]);
}
