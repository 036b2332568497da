use super::*;

fn page() -> Page {
    Page {
        title: "a < b".into(),
        facts: vec![("machine", "2 cores & more".into())],
        sections: vec![
            Section {
                title: "fillrandom".into(),
                about: "inserts".into(),
                chart: Some(Chart {
                    unit: "ops/s",
                    groups: vec!["1 thread".into(), "2 threads".into()],
                    series: vec![
                        ("one".into(), vec![Some(1.5e6), None]),
                        ("two".into(), vec![Some(20.0), Some(2.5e3)]),
                    ],
                }),
                lines: vec![
                    Lines {
                        caption: "by threads".into(),
                        unit: "ops/s",
                        across: "threads".into(),
                        axis: Axis::Labels(vec!["1".into(), "16".into()]),
                        logarithmic: false,
                        mark: Some(1.0),
                        reach: 0.0,
                        series: vec![
                            ("first".into(), vec![(0.0, 5.0), (1.0, 9.0)]),
                            ("second".into(), vec![(0.0, f64::NAN), (1.0, 0.0)]),
                        ],
                    },
                    Lines {
                        caption: "latency".into(),
                        unit: "us",
                        across: "seconds".into(),
                        axis: Axis::Numbers,
                        logarithmic: true,
                        mark: None,
                        reach: 0.0,
                        series: vec![("first".into(), vec![(0.0, 0.5), (3.0, 200.0), (4.0, 0.0)])],
                    },
                    Lines {
                        caption: "nothing".into(),
                        unit: "%",
                        across: "seconds".into(),
                        axis: Axis::Numbers,
                        logarithmic: false,
                        mark: None,
                        reach: 100.0,
                        series: vec![("first".into(), vec![(0.0, 0.0)])],
                    },
                ],
                columns: vec!["structure".into(), "ops/s".into()],
                rows: vec![vec!["one".into(), "1,500,000".into()]],
            },
            Section {
                title: "without a chart".into(),
                chart: Some(Chart::default()),
                ..Section::default()
            },
        ],
        commands: vec!["db_bench --db=<here>".into()],
        notes: vec!["read it so".into()],
    }
}

/// Asserts that every opened tag is closed, in order.
fn assert_well_formed(html: &str) {
    let mut open = Vec::new();
    for piece in html.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name = tag.split_whitespace().next().unwrap_or_default();
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "in {html}");
        } else if !name.starts_with(['!', '?']) && name != "meta" && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} in {html}");
}

#[test]
fn the_page_is_well_formed_and_has_everything() {
    let html = page().html().expect("drawn");
    assert_well_formed(&html);
    for part in [
        "<h1>a &lt; b</h1>",
        "2 cores &amp; more",
        "<td>1,500,000</td>",
        "read it so",
        "2 threads",
        "</i>two</span>",
        "prefers-color-scheme: dark",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert_eq!(
        html.matches("<svg").count(),
        3,
        "the empty ones are left out"
    );
    assert!(html.matches("stroke-width=\"2\"").count() >= 2, "the lines");
    // Three points in one series, two in the other: not-a-number and 0 have none.
    assert_eq!(html.matches("<circle").count(), 5);
    assert!(html.contains("db_bench --db=&lt;here&gt;"), "{html}");
    assert!(!html.contains("nothing</figcaption>"), "{html}");
    assert_eq!(
        html.matches("<tr>").count(),
        2,
        "a table without columns is left out"
    );
    // There are three bars, in the colours of the legend.
    let bars = |colour: &str| html.matches(&format!("fill=\"{colour}\"")).count();
    let dots = |colour: &str| {
        let circles = html.split("<circle").skip(1);
        circles
            .filter(|circle| {
                circle
                    .split("/>")
                    .next()
                    .is_some_and(|c| c.contains(colour))
            })
            .count()
    };
    assert_eq!(bars("#3B82F6") - dots("#3B82F6"), 1);
    assert_eq!(bars("#F97316") - dots("#F97316"), 2);
}

#[test]
fn nothing_is_fetched_from_elsewhere() {
    let html = page().html().expect("drawn");
    for word in ["<script", "<link", "<img", "url(", "@import", "src="] {
        assert!(!html.contains(word), "{word}");
    }
    // Names of namespaces are not addresses.
    assert_eq!(
        html.matches("http").count(),
        html.matches("xmlns=\"http").count()
    );
}

#[test]
fn files_are_written_where_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("page.html").display().to_string();
    save("", || panic!("no file is wanted")).expect("nothing to do");
    save(&path, || Ok("text".into())).expect("written");
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "text");
    let missing = directory.path().join("no/page.html").display().to_string();
    let failure = save(&missing, || Ok(String::new())).expect_err("no such directory");
    assert!(failure.to_string().starts_with(&missing), "{failure}");
}
