//! Reading one request, with limits on size and time.

use std::io::{self, Read};
use std::time::{Duration, Instant};

/// The largest head of a request: request line and headers. Bytes.
pub(super) const MAX_HEAD: usize = 8 << 10;
/// The largest number of headers.
const MAX_HEADERS: usize = 64;
/// The longest target. Bytes.
const MAX_TARGET: usize = 1 << 10;

/// Why a request is refused: the status and a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: u16,
    pub text: &'static str,
}

const fn refusal(status: u16, text: &'static str) -> Refusal {
    Refusal { status, text }
}

/// A request that is well formed: a GET or HEAD without a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Whether only the head of the answer is asked for.
    pub head_only: bool,
    /// The path, which begins with a slash; not decoded.
    pub path: String,
    /// The query without its question mark; not decoded.
    pub query: String,
    /// The header `Host`.
    pub host: String,
    /// The header `Last-Event-ID`.
    pub last_event_id: Option<u64>,
    /// The header `Sec-Fetch-Site`, and whether the request is a navigation of a browser.
    pub fetch_site: Option<String>,
    pub navigates: bool,
}

impl Request {
    /// The decoded value of the query's parameter `name`.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(found, _)| *found == name);
        values.next().and_then(|(_, value)| decode(value))
    }

    /// Whether the query names `name`, with or without a value.
    pub fn asks_for(&self, name: &str) -> bool {
        let mut parts = self.query.split('&');
        parts.any(|part| part.split('=').next() == Some(name))
    }
}

/// Decodes `%41` and `+`. `None` if that is malformed or not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                let hex = |digit: u8| char::from(digit).to_digit(16);
                u8::try_from(hex(digits[0])? * 16 + hex(digits[1])?).ok()?
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

/// A stream whose reads can be given a time limit.
pub(super) trait TimedRead: Read {
    /// Limits the next read to `timeout`, which is not zero.
    ///
    /// # Errors
    /// Those of the stream.
    fn limit(&mut self, timeout: Duration) -> io::Result<()>;
}

impl TimedRead for std::net::TcpStream {
    fn limit(&mut self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))
    }
}

/// Reads a request that must be complete by `deadline`. `Ok(None)` if the peer has closed the
/// connection without a byte.
///
/// # Errors
/// Why the request is refused. An error of the connection counts as a request that is too slow.
pub(super) fn read(
    stream: &mut impl TimedRead,
    deadline: Instant,
) -> Result<Option<Request>, Refusal> {
    const SLOW: Refusal = refusal(408, "the request took too long");
    let mut head = Vec::with_capacity(1 << 10);
    let mut piece = [0; 1 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.limit(left).is_err() {
            return Err(SLOW);
        }
        let read = match stream.read(&mut piece) {
            Ok(0) if head.is_empty() => return Ok(None),
            Ok(0) => return Err(refusal(400, "the request ends too early")),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(SLOW),
        };
        head.extend_from_slice(&piece[..read]);
        if head.len() > MAX_HEAD {
            return Err(refusal(431, "the head of the request is too large"));
        }
        if let Some(request) = parse(&head)? {
            return Ok(Some(request));
        }
    }
}

/// Parses the head of a request; `None` while it is incomplete.
pub(super) fn parse(head: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let end = match parsed.parse(head) {
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(httparse::Status::Complete(end)) => end,
        Err(httparse::Error::TooManyHeaders) => {
            return Err(refusal(431, "the request has too many headers"));
        }
        Err(_) => return Err(refusal(400, "the request is malformed")),
    };
    let head_only = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(refusal(405, "only GET and HEAD are answered")),
    };
    if end < head.len() {
        return Err(refusal(
            400,
            "a request has no body here, and one is enough",
        ));
    }
    let target = parsed.path.unwrap_or_default();
    if target.len() > MAX_TARGET {
        return Err(refusal(414, "the target is too long"));
    }
    if !target.starts_with('/') {
        return Err(refusal(400, "the target must be a path"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        head_only,
        path: path.to_owned(),
        query: query.to_owned(),
        ..Request::default()
    };
    take_headers(&mut request, parsed.headers)?;
    Ok(Some(request))
}

fn take_headers(request: &mut Request, headers: &[httparse::Header<'_>]) -> Result<(), Refusal> {
    let mut host = None;
    for header in headers {
        let value = std::str::from_utf8(header.value).unwrap_or("?").trim();
        match header.name.to_ascii_lowercase().as_str() {
            "host" if host.is_some() => return Err(refusal(400, "there are two hosts")),
            "host" => host = Some(value.to_owned()),
            "transfer-encoding" => return Err(refusal(400, "a request has no body here")),
            "content-length" if value != "0" => {
                return Err(refusal(413, "a request has no body here"));
            }
            "last-event-id" => request.last_event_id = value.parse().ok(),
            "sec-fetch-site" => request.fetch_site = Some(value.to_ascii_lowercase()),
            "sec-fetch-mode" => request.navigates = value.eq_ignore_ascii_case("navigate"),
            _ => {}
        }
    }
    request.host = host.ok_or(refusal(400, "the request names no host"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        parse(text.as_bytes()).unwrap_err().status
    }

    #[test]
    fn a_request_is_taken_apart() {
        let text = "GET /api/v1/databases?since=3&cf=a%20b HTTP/1.1\r\nHost: localhost:1\r\n\
                    Last-Event-ID: 7\r\nSec-Fetch-Site: Cross-Site\r\n\r\n";
        let request = parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(request.path, "/api/v1/databases");
        assert_eq!(request.parameter("cf").as_deref(), Some("a b"));
        assert_eq!(request.parameter("since").as_deref(), Some("3"));
        assert_eq!(request.parameter("from"), None);
        assert!(request.asks_for("cf") && !request.asks_for("c"));
        assert_eq!(request.host, "localhost:1");
        assert_eq!(request.last_event_id, Some(7));
        assert_eq!(request.fetch_site.as_deref(), Some("cross-site"));
        for end in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..end]), Ok(None), "incomplete");
        }
    }

    #[test]
    fn what_is_no_plain_get_is_refused() {
        assert_eq!(status("POST / HTTP/1.1\r\nHost: a\r\n\r\n"), 405);
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(status("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
        assert_eq!(
            status("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"),
            413
        );
        assert_eq!(
            status("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400
        );
        assert_eq!(
            status("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n"),
            400
        );
        assert_eq!(status("GET / HTTP/9.1\r\nHost: a\r\n\r\n"), 400);
        assert_eq!(status("\u{1}\u{2}\r\n\r\n"), 400);
        let many = "A: b\r\n".repeat(65);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{many}\r\n")), 431);
        let long = "a".repeat(1025);
        assert_eq!(
            status(&format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n")),
            414
        );
    }

    #[test]
    fn texts_of_queries_are_decoded() {
        assert_eq!(decode("a%2Fb+c").as_deref(), Some("a/b c"));
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
