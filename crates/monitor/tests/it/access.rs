//! Who gets an answer, and what nobody gets.

use crate::client::{Answer, builder, filled, get, options, send};
use std::io::ErrorKind;
use std::net::SocketAddr;
use whitewater_monitor::Monitor;

fn with_headers(address: SocketAddr, headers: &str) -> Answer {
    send(
        address,
        format!("GET /metrics HTTP/1.1\r\n{headers}\r\n").as_bytes(),
    )
}

#[test]
fn a_request_must_name_this_machine() {
    let (_dir, db) = filled(&options());
    let monitor = builder()
        .add(&db)
        .allow_host("db.example")
        .listen("127.0.0.1:0")
        .unwrap();
    for (host, status) in [
        ("localhost", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:80", 200),
        ("db.example:8080", 200),
        ("evil.example", 421),
        ("db.example.evil", 421),
        ("", 421),
    ] {
        let answer = with_headers(monitor.address(), &format!("Host: {host}\r\n"));
        assert_eq!(answer.status, status, "{host}");
        assert_eq!(answer.body.contains("whitewater_"), status == 200);
    }
    assert_eq!(with_headers(monitor.address(), "").status, 400);
    let twice = "Host: localhost\r\nHost: evil.example\r\n";
    assert_eq!(with_headers(monitor.address(), twice).status, 400);
}

#[test]
fn scripts_of_other_sites_get_nothing() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let from = |site: &str, mode: &str| {
        let headers =
            format!("Host: localhost\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}\r\n");
        with_headers(monitor.address(), &headers).status
    };
    assert_eq!(from("cross-site", "no-cors"), 403);
    assert_eq!(from("cross-site", "navigate"), 200);
    assert_eq!(from("same-origin", "cors"), 200);
    assert_eq!(from("none", "navigate"), 200);
}

#[test]
fn only_get_and_head_are_answered() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    for method in [
        "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH", "get",
    ] {
        let request = format!("{method} /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = send(monitor.address(), request.as_bytes());
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("GET, HEAD"));
    }
    let whole = get(monitor.address(), "/assets/monitor.js");
    let head = send(
        monitor.address(),
        b"HEAD /assets/monitor.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(
        head.header("content-length"),
        whole.header("content-length")
    );
    assert_eq!(
        whole.header("content-length"),
        Some(&*whole.body.len().to_string())
    );
}

#[test]
fn answers_tell_browsers_what_they_may_do() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    for path in [
        "/",
        "/db/0",
        "/metrics",
        "/api/v1/0/overview",
        "/nothing",
        "/assets/monitor.js",
    ] {
        let answer = get(monitor.address(), path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'"),
            "{path}"
        );
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(
            answer.header("cross-origin-resource-policy"),
            Some("same-origin")
        );
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn pages_have_nothing_that_the_policy_forbids() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    for path in ["/db/0", "/db/0/write-path"] {
        let page = get(monitor.address(), path).body;
        for forbidden in [
            "style=",
            "<style",
            "onclick",
            "javascript:",
            "http://",
            "https://",
        ] {
            assert!(!page.contains(forbidden), "{path}: {forbidden}");
        }
        let scripts: Vec<_> = page.match_indices("<script").collect();
        assert_eq!(scripts.len(), 1);
        assert!(page.contains("<script src=\"/assets/monitor.js\" defer></script>"));
    }
}

#[test]
fn keys_are_shown_only_if_they_may_be_and_values_never() {
    let (_dir, db) = filled(&options());
    let quiet = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let paths = [
        "/db/0",
        "/db/0/write-path",
        "/metrics?names=both",
        "/api/v1/0/overview",
        "/api/v1/0/files",
        "/api/v1/0/events",
        "/api/v1/0/options?all",
        "/api/v1/0/properties/rocksdb.sstables",
        "/api/v1/0/properties/rocksdb.stats",
        "/api/v1/0/properties/rocksdb.aggregated-table-properties",
    ];
    let hex = |text: &str| text.bytes().map(|b| format!("{b:02X}")).collect::<String>();
    for path in paths {
        let body = get(quiet.address(), path).body;
        for key in ["secret".to_owned(), hex("secret")] {
            assert!(!body.contains(&key), "{path}: {body}");
        }
    }
    let open = builder()
        .add(&db)
        .show_keys(true)
        .listen("127.0.0.1:0")
        .unwrap();
    assert!(
        get(open.address(), "/api/v1/0/files")
            .body
            .contains("secret-key-000")
    );
    let tables = get(open.address(), "/api/v1/0/properties/rocksdb.sstables");
    assert!(tables.body.contains(&hex("secret-key-000")));
    for path in paths {
        assert!(
            !get(open.address(), path).body.contains("secret-value"),
            "{path}"
        );
    }
}

#[test]
fn other_machines_are_let_in_only_on_request() {
    let (_dir, db) = filled(&options());
    let refused = builder().add(&db).listen("0.0.0.0:0").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    let monitor = builder()
        .add(&db)
        .allow_remote(true)
        .listen("0.0.0.0:0")
        .unwrap();
    let here = SocketAddr::from(([127, 0, 0, 1], monitor.address().port()));
    assert_eq!(get(here, "/metrics").status, 200);
    drop(monitor);
    let none = Monitor::builder().listen("127.0.0.1:0").unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidInput);
}
