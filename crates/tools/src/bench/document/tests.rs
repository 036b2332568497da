use std::time::Duration;

use super::super::stats::Stats;
use super::*;

fn row(name: &'static str, rate: f64) -> Row {
    Row {
        name,
        operations: vec![rate, 3.0 * rate, 2.0 * rate],
        ..Row::default()
    }
}

fn timed(name: &'static str, rate: f64) -> Row {
    let mut stats = Stats::start();
    for micros in 1..100 {
        stats.add_latency(Operation::Write, Duration::from_micros(micros));
    }
    let mut row = row(name, rate);
    histogram::merge_all(&mut row.latencies, stats.latencies());
    row
}

#[test]
fn json_and_page_have_every_row() {
    let flags = Flags {
        threads: 3,
        ..Flags::default()
    };
    let column = |engine: &str, rate: f64| Column {
        engine: engine.into(),
        rows: ["fillseq", "readrandom"]
            .map(|name| row(name, rate))
            .to_vec(),
        ..Column::default()
    };
    let columns = [column("one", 1000.0), column("two", 500.0)];
    let document = Document::begin(&flags, 42, Path::new("/"));
    let json = document.json(&columns);
    assert_eq!(json["seed"], 42);
    assert_eq!(json["settings"]["threads"], "3");
    assert_eq!(json["results"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["results"][3]["operations_per_second"], 1000.0);
    assert!(json["results"][3]["configuration"].is_null());
    let html = document.page(&columns).html().expect("drawn");
    assert_eq!(html.matches("<tr>").count(), 5);
    assert!(html.contains("--threads=3"), "{html}");
    assert!(html.contains("<td>2,000</td><td>-</td><td>1,000 .. 3,000</td>"));
}

// Long: the figures that go in and the page that comes out.
#[test]
fn a_sweep_has_throughput_ratios_and_latencies() {
    let flags = Flags {
        sweep: "threads=1|2".into(),
        compare: "commit_protocol=grouped|ordered".into(),
        ..Flags::default()
    };
    let column = |configuration: &str, at: &str, rate: f64| Column {
        engine: "engine".into(),
        configuration: configuration.into(),
        at: at.into(),
        command: format!("db_bench --threads={at} {configuration}"),
        rows: vec![timed("fillrandom", rate)],
    };
    let mut columns = [
        column("grouped", "1", 100.0),
        column("grouped", "2", 150.0),
        column("ordered", "1", 100.0),
        column("ordered", "2", 450.0),
    ];
    columns[0].add(vec![timed("fillrandom", 100.0)]);
    assert_eq!(columns[0].rows[0].operations.len(), 6);
    assert_eq!(columns[0].rows[0].latencies[0].1.count(), 198);
    let table = Table::of(&columns);
    assert_eq!(table.configurations, ["grouped", "ordered"]);
    assert_eq!(table.values, ["1", "2"]);
    assert_eq!(table.rate(0, 1, 1), Some(900.0));
    assert_eq!(table.rate(0, 1, 2), None);

    let document = Document::begin(&flags, 1, Path::new("/")).over("threads");
    let json = document.json(&columns);
    let last = &json["results"][3];
    assert_eq!(last["configuration"], "ordered");
    assert_eq!(last["swept"]["flag"], "threads");
    assert_eq!(last["swept"]["value"], "2");
    let write = &last["latency_microseconds"]["write"];
    assert_eq!(write["count"], 99);
    assert!(
        write["p50"]
            .as_f64()
            .is_some_and(|micros| (49.0..52.0).contains(&micros))
    );
    assert!(write["p99.9"].is_number());
    assert_eq!(last["stalls"]["stopped_percent"], 0.0);
    assert_eq!(
        (&last["rounds"], &last["slowest"], &last["fastest"]),
        (&3.into(), &450.0.into(), &1350.0.into())
    );
    assert_eq!(last["rounds_disagree"], true);
    for known in ["kernel", "file_system", "load_before", "load_after"] {
        assert!(
            json["machine"][known]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
    }
    assert!(json["commit"].is_string());

    let html = document.page(&columns).html().expect("drawn");
    for part in [
        "fillrandom: throughput by threads",
        "Ratio to grouped",
        "<td>2</td><td>300\n150 .. 450</td><td>900\n450 .. 1,350</td><td>3.00</td>",
        "Warning: fillrandom, ordered, threads=2: 3 runs of 450 .. 1,350 operations",
        "<dt>file system</dt>",
        "<dt>rounds</dt><dd>3 or 6</dd>",
        "fillrandom: latencies",
        "Latency by percentile, threads=2",
        "--sweep=threads=1|2",
        "db_bench --threads=2 ordered",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert_eq!(html.matches("<svg").count(), 3);
}

#[test]
fn runs_that_agree_are_not_warned_of() {
    let close = Row {
        operations: vec![100.0, 124.0, 110.0],
        ..Row::default()
    };
    assert!(!close.disagrees());
    assert_eq!(close.range(), "100 .. 124");
    let far = Row {
        operations: vec![243_000.0, 1_524_000.0],
        ..Row::default()
    };
    assert!(far.disagrees());
    let single = Row {
        operations: vec![7.0],
        ..Row::default()
    };
    assert!(!single.disagrees() && single.spread().is_none());
    assert_eq!(single.range(), "-");
}
