//! A database with something in it, a monitor of it, and a client that speaks plain HTTP.

use serde::de::DeserializeOwned;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use whitewater::{DB, Options, WriteOptions};
use whitewater_monitor::{Builder, Monitor};

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

/// Sends `bytes` and reads to the end.
pub fn send(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // The server may have answered and closed before it has taken everything.
    let _ = stream.write_all(bytes);
    answer(&mut stream)
}

/// Reads an answer to its end.
pub fn answer(stream: &mut TcpStream) -> Answer {
    let mut all = Vec::new();
    // A reset after the answer is an end, too.
    let _ = stream.read_to_end(&mut all);
    let text = String::from_utf8(all).unwrap();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Answer {
            status: 0,
            head: text,
            body: String::new(),
        };
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Gets a path.
pub fn get(address: SocketAddr, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    send(address, request.as_bytes())
}

/// Gets a path and parses the answer.
pub fn get_json<T: DeserializeOwned>(address: SocketAddr, path: &str) -> T {
    let answer = get(address, path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    serde_json::from_str(&answer.body).unwrap_or_else(|e| panic!("{path}: {e}\n{}", answer.body))
}

/// Options with statistics, whose background work waits for flushes and compactions by hand.
pub fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_disable_auto_compactions(true);
    options.enable_statistics();
    options
}

/// A database with tables, a memtable, a column family and a snapshot of synced writes.
pub fn filled(options: &Options) -> (TempDir, DB) {
    let dir = tempfile::tempdir().unwrap();
    let families = ["default", "a\"<b>"].map(|name| (name, options.clone()));
    let db = DB::open_cf_with_opts(options, dir.path().join("db"), families).unwrap();
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    for round in 0..3 {
        for i in 0..100 {
            db.put(
                format!("secret-key-{i:03}"),
                format!("secret-value-{round}"),
            )
            .unwrap();
        }
        db.put_opt("synced", "1", &synced).unwrap();
        if round < 2 {
            db.flush().unwrap();
        }
    }
    db.delete("secret-key-000").unwrap();
    let odd = db.cf_handle("a\"<b>").unwrap();
    db.put_cf(&odd, "k", "v").unwrap();
    for i in 0..50 {
        db.get(format!("secret-key-{i:03}")).unwrap();
    }
    // Flushes return before they have deleted old logs and count as ended.
    db.wait_for_compact(&Default::default()).unwrap();
    (dir, db)
}

/// A builder with short intervals.
pub fn builder() -> Builder {
    Monitor::builder().interval(Duration::from_millis(20))
}

/// Waits until `look` has found something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
