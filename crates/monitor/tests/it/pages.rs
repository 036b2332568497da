//! The pages and the stream of events.

use crate::client::{builder, filled, get, get_json, options};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;
use whitewater::DB;
use whitewater_monitor::api::{Event, Overview, WritePath};

#[test]
fn the_page_has_everything_without_assets_from_elsewhere() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let front = get(monitor.address(), "/");
    assert_eq!(
        (front.status, front.header("location")),
        (302, Some("/db/0"))
    );
    let page = get(monitor.address(), "/db/0").body;
    for text in [
        "Writes are not held back.",
        "Writes that share a sync",
        "Latencies",
        "Levels",
        "Running jobs",
        "Memtables",
        "Block cache",
        "write amplification",
        "Options that differ from the default",
        "disable_auto_compactions",
        "Last events",
        "a&quot;&lt;b&gt;",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("<b>\""), "a family's name is escaped");
    let live = get(monitor.address(), "/db/0?live").body;
    assert!(live.contains("Latencies") && !live.contains("<html"));
    let steps = get(monitor.address(), "/db/0/write-path").body;
    for text in ["reserve", "publish", "takes sequence numbers", "ordered"] {
        assert!(steps.contains(text), "{text}");
    }
    for (asset, kind) in [
        ("monitor.css", "text/css"),
        ("monitor.js", "text/javascript"),
    ] {
        let answer = get(monitor.address(), &format!("/assets/{asset}"));
        assert!(answer.header("content-type").unwrap().starts_with(kind));
    }
}

/// Reads events of a stream until one has `text`.
fn read_until(reader: &mut impl BufRead, text: &str) -> Event {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(
            reader.read_line(&mut line).unwrap() > 0,
            "the stream has ended"
        );
        if let Some(data) = line.strip_prefix("data: ") {
            let event: Event = serde_json::from_str(data).unwrap();
            if event.text.contains(text) {
                return event;
            }
        }
    }
}

#[test]
fn events_are_streamed_as_they_happen() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let open = |more: &str| {
        let mut stream = TcpStream::connect(monitor.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let request = format!(
            "GET /api/v1/0/events/stream?since=0 HTTP/1.1\r\nHost: localhost\r\n{more}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    };
    let mut reader = open("");
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 200 OK\r\n");
    db.flush().unwrap();
    let sealed = read_until(&mut reader, "is full");
    let flushed = read_until(&mut reader, "flushed ");
    assert_eq!(
        (flushed.kind.as_str(), flushed.family.as_str()),
        ("flush_completed", "default")
    );
    assert!(flushed.number > sealed.number);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(
        read_until(&mut reader, "compacted").kind,
        "compaction_completed"
    );
    // A browser that comes back says what it has seen.
    let mut again = open(&format!("Last-Event-ID: {}\r\n", flushed.number));
    assert!(read_until(&mut again, "").number > flushed.number);
    let listed = get(
        monitor.address(),
        &format!("/api/v1/0/events?since={}", sealed.number),
    );
    let listed: Vec<Event> = serde_json::from_str(&listed.body).unwrap();
    assert!(listed.contains(&flushed));
}

#[test]
fn an_instance_that_only_reads_claims_nothing_of_writers() {
    let (dir, db) = filled(&options());
    drop(db);
    let path = dir.path().join("db");
    let db = DB::open_for_read_only(&options(), path, false).unwrap();
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let overview: Overview = get_json(monitor.address(), "/api/v1/0/overview");
    let steps: WritePath = get_json(monitor.address(), "/api/v1/0/write-path");
    assert!(overview.reads_only && steps.reads_only);
    assert_eq!(
        (overview.error, steps.error),
        (String::new(), String::new())
    );
    assert_eq!(overview.families[0].levels[0].files, 2);
    for path in ["/db/0", "/db/0/write-path"] {
        let page = get(monitor.address(), path).body;
        assert!(page.contains("This instance only reads"), "{page}");
        for claim in ["not held back", "refused"] {
            assert!(!page.contains(claim), "{page}");
        }
    }
}
