//! Answers.

use super::request::Refusal;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a browser may do with an answer: load scripts, styles and data from here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// An answer with a body that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    /// Where a browser goes instead.
    pub location: Option<String>,
}

impl Response {
    /// An answer that has what was asked for.
    pub fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Response {
            status: 200,
            content_type,
            body: body.into(),
            location: None,
        }
    }

    /// A line of text with a status.
    pub fn text(status: u16, text: &str) -> Self {
        Response {
            status,
            ..Self::ok("text/plain; charset=utf-8", format!("{text}\n"))
        }
    }

    /// Leads to another place here.
    pub fn moved(location: &str) -> Self {
        Response {
            location: Some(location.to_owned()),
            ..Self::text(302, location)
        }
    }

    pub(super) fn refused(refusal: Refusal) -> Self {
        Self::text(refusal.status, refusal.text)
    }

    /// Writes the answer, whose last byte must be taken by `deadline`.
    ///
    /// # Errors
    /// Those of the connection; `TimedOut`.
    pub(super) fn write(
        &self,
        stream: &mut TcpStream,
        head_only: bool,
        deadline: Instant,
    ) -> io::Result<()> {
        let mut out = head(self.status, self.content_type);
        // Writing to a string cannot fail.
        let _ = write!(out, "Content-Length: {}\r\n", self.body.len());
        if let Some(location) = &self.location {
            let _ = write!(out, "Location: {location}\r\n");
        }
        out.push_str("\r\n");
        let mut bytes = out.into_bytes();
        if !head_only {
            bytes.extend_from_slice(&self.body);
        }
        write_by(stream, &bytes, deadline)
    }
}

/// The head of an answer, without the empty line at its end.
pub(super) fn head(status: u16, content_type: &str) -> String {
    let mut out = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n",
        reason(status)
    );
    if status == 405 {
        out.push_str("Allow: GET, HEAD\r\n");
    }
    out
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        302 => "Found",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

/// Writes `bytes`, the last of which must be taken by `deadline`.
///
/// # Errors
/// Those of the connection; `TimedOut`.
pub(super) fn write_by(stream: &mut TcpStream, bytes: &[u8], deadline: Instant) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
