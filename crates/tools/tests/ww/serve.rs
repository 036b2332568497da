//! `ww serve`: what it serves of a database that another process has open, and how it ends.

use super::{fails, made};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use whitewater::{DB, Options};

fn start(db: &Path) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ww"))
        .args(["serve", "--listen", "127.0.0.1:0", "--poll", "0.05"])
        .arg(db)
        .stdout(Stdio::piped())
        .spawn()
        .expect("ww starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("an address");
    let host = line.trim().strip_prefix("http://").expect("an address");
    let host = host.trim_end_matches('/').to_owned();
    (child, host)
}

fn get(host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("somebody listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_database_of_another_process_is_followed() {
    let dir = made();
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open_cf(&options, dir.path(), ["default", "orders"]).expect("opens");
    let (mut child, host) = start(dir.path());
    let overview = || {
        let answer = get(&host, "/api/v1/0/overview");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str::<serde_json::Value>(body).expect("JSON")
    };
    assert_eq!(overview()["families"][1]["name"], "orders");
    let files = overview()["families"][0]["levels"][0]["files"].as_u64();
    db.put("new", "entry").expect("written");
    db.flush().expect("flushed");
    let begin = Instant::now();
    while overview()["families"][0]["levels"][0]["files"].as_u64() == files {
        assert!(begin.elapsed() < Duration::from_secs(120), "nobody follows");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(get(&host, "/metrics").contains("whitewater_up{db="));
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().expect("a small number"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it lives");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    db.put("still", "open")
        .expect("the database is not disturbed");
}

#[test]
fn other_machines_are_let_in_only_on_request() {
    let dir = made();
    let message = fails(dir.path(), "serve {db} --listen 0.0.0.0:0", 3);
    assert!(message.contains("is not a loopback address"), "{message}");
    fails(dir.path(), "serve {db} --poll 0", 2);
    fails(&dir.path().join("nothing"), "serve {db}", 3);
}
