//! Asks a monitor over HTTP. Each request has a connection of its own, which the monitor ends with
//! its answer. Encryption, redirections and answers in chunks are not known here: monitors have
//! none.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);
/// How long an answer may take. Monitors give up after as long.
const ANSWER: Duration = Duration::from_secs(10);
/// The most bytes that an answer may have.
const MOST: usize = 16 << 20;

/// Asks the monitor at an address.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// `HOST:PORT`.
    host: String,
}

impl Client {
    /// A client of the monitor at `host`, which has a port.
    pub fn new(host: impl Into<String>) -> Self {
        Client { host: host.into() }
    }

    /// Gets what is at `path`.
    ///
    /// # Errors
    /// Nobody answers in time, or with something else than such a value; in words.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        let (status, body) = self.ask(path).map_err(|e| format!("{}: {e}", self.host))?;
        let text = String::from_utf8_lossy(&body);
        if status != 200 {
            // Of a page, its first line will do.
            let what = text.lines().next().unwrap_or_default();
            return Err(format!("{}{path}: status {status}: {what}", self.host));
        }
        serde_json::from_str(&text)
            .map_err(|e| format!("{}{path}: that is no monitor's answer: {e}", self.host))
    }

    /// The status and the body of the answer.
    fn ask(&self, path: &str) -> io::Result<(u16, Vec<u8>)> {
        let mut stream = self.connect()?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.host
        );
        stream.set_write_timeout(Some(ANSWER))?;
        stream.write_all(request.as_bytes())?;
        let bytes = read_by(&mut stream, Instant::now() + ANSWER)?;
        parse(&bytes).ok_or_else(|| io::Error::other("the answer is not a whole one of HTTP/1.1"))
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut failed = io::Error::other("the name has no address");
        for address in self.host.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Ok(stream),
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }
}

/// Reads to the end, which must come by `deadline`.
fn read_by(stream: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(late()),
            Err(e) => return Err(e),
        }
        if bytes.len() > MOST {
            return Err(io::Error::other("the answer is too large"));
        }
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer in time")
}

/// The status and the body of an answer that has a length; `None` if it is not whole.
fn parse(bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?;
    let status = status.split(' ').next()?.parse().ok()?;
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    let (_, length) = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    let length: usize = length.trim().parse().ok()?;
    let body = &bytes[end + 4..];
    (body.len() == length).then(|| (status, body.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// What the client makes of `answer`, which a server sends to anybody.
    fn got(answer: &'static [u8]) -> Result<Vec<u64>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = listener.local_addr().expect("an address").to_string();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 1024];
            let read = stream.read(&mut request).expect("a request");
            let _ = stream.write_all(answer);
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let got = Client::new(host.clone()).get("/x");
        let request = server.join().expect("it has served");
        assert!(request.starts_with("GET /x HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("Host: {host}\r\n")), "{request}");
        got
    }

    #[test]
    fn whole_answers_are_read() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX: y\r\n\r\n[1, 2]";
        assert_eq!(got(answer), Ok(vec![1, 2]));
    }

    #[test]
    fn what_is_no_answer_of_a_monitor_is_said() {
        for (answer, said) in [
            (&b""[..], "not a whole one"),
            (b"SSH-2.0-server\r\n\r\n", "not a whole one"),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n[1, 2]",
                "not a whole one",
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
                "not a whole one",
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>",
                "no monitor's answer",
            ),
            (
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno\nmore",
                "status 404: no",
            ),
            (
                b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
                "status 503",
            ),
        ] {
            let error = got(answer).expect_err("no answer");
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn nobody_there_is_said_with_the_address() {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let host = free.expect("a port").to_string();
        let error = Client::new(&*host).get::<u64>("/").expect_err("nobody");
        assert!(error.starts_with(&host), "{error}");
    }
}
