//! A small HTTP server: GET and HEAD only, one request for each connection, everything bounded.
//!
//! A thread accepts connections; each of at most [`Limits::connections`] has a thread of its own
//! that reads one request, answers it and closes. A request has to arrive and an answer has to be
//! taken within a time, so a slow peer holds a thread for seconds at most. Streams of events may
//! take up half of the connections; each ends after a while, and browsers then come back.
//!
//! * [`request`]: reading and refusing; [`host`]: which hosts may be named; [`response`]: answers.

mod host;
pub(crate) mod request;
pub(crate) mod response;

use request::{Refusal, Request};
use response::{Response, head, write_by};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What bounds connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The largest number of connections at a time.
    pub connections: usize,
    /// How long a request may take to arrive.
    pub request: Duration,
    /// How long an answer, or a piece of a stream, may take to be taken.
    pub response: Duration,
    /// How long a stream lasts.
    pub stream: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 16,
            request: Duration::from_secs(2),
            response: Duration::from_secs(10),
            stream: Duration::from_secs(600),
        }
    }
}

/// What a request gets.
pub(crate) enum Answer {
    /// A complete answer.
    Whole(Response),
    /// Pieces of text as they come, as `text/event-stream`.
    Stream(Box<dyn Pieces>),
}

/// The source of a stream.
pub(crate) trait Pieces: Send {
    /// The next piece. Waits no longer than `timeout`; an empty piece if there is none by then.
    /// `None` at the end.
    fn next(&mut self, timeout: Duration) -> Option<String>;
}

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// The answer to `request`.
    fn answer(&self, request: &Request) -> Answer;
}

/// The type of streams.
const STREAM: &str = "text/event-stream";
/// How long a stream waits for a piece before it looks whether the server ends.
const LOOK: Duration = Duration::from_millis(200);
/// How long a stream may be silent; a comment tells then that it is alive.
const SILENCE: Duration = Duration::from_secs(15);

/// A running server; ends when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads of a server share.
struct Shared {
    limits: Limits,
    allowed_hosts: Vec<String>,
    /// Set when the server ends. Written by: the thread that drops the server. Read by: all of its
    /// threads. Publishes nothing: relaxed.
    ending: AtomicBool,
    connections: Mutex<Connections>,
    /// Notified when a connection has ended.
    ended: Condvar,
}

/// The connections that are open.
#[derive(Default)]
struct Connections {
    open: HashMap<u64, TcpStream>,
    streams: usize,
    next: u64,
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        let lock = self.connections.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }
}

impl Server {
    /// Serves `handler` on `listener`. Requests may name hosts of `allowed_hosts`.
    ///
    /// # Errors
    /// When the address is not known or the thread cannot be started.
    pub fn start(
        listener: TcpListener,
        handler: Arc<dyn Handler>,
        allowed_hosts: Vec<String>,
        limits: Limits,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            limits,
            allowed_hosts,
            ending: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
        });
        let acceptor = {
            let shared = shared.clone();
            let name = "ww-monitor".to_owned();
            let accept = move || accept(&listener, &shared, &handler);
            thread::Builder::new().name(name).spawn(accept)?
        };
        Ok(Server {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
        // Wakes the acceptor. If that fails, it is not waiting.
        let mut here = self.address;
        match here.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => here.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => here.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let _ = TcpStream::connect_timeout(&here, Duration::from_secs(1));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let mut connections = self.shared.connections();
        for stream in connections.open.values() {
            // Its thread finds the connection closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
        while !connections.open.is_empty() {
            let waited = self.shared.ended.wait(connections);
            connections = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, handler: &Arc<dyn Handler>) {
    for stream in listener.incoming() {
        if shared.is_ending() {
            return;
        }
        match stream {
            Ok(stream) => begin(stream, shared, handler),
            // Out of files, for instance: not a reason to spin.
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Gives a connection a thread, or refuses it.
fn begin(mut stream: TcpStream, shared: &Arc<Shared>, handler: &Arc<dyn Handler>) {
    const BUSY: Refusal = Refusal {
        status: 503,
        text: "there are too many connections",
    };
    let number = {
        let mut connections = shared.connections();
        let full = connections.open.len() >= shared.limits.connections;
        match stream.try_clone() {
            Ok(copy) if !full => {
                let number = connections.next;
                connections.next += 1;
                connections.open.insert(number, copy);
                Some(number)
            }
            _ => None,
        }
    };
    let Some(number) = number else {
        // So short that the system takes it at once.
        let soon = Instant::now() + Duration::from_millis(50);
        let _ = Response::refused(BUSY).write(&mut stream, false, soon);
        return;
    };
    let open = Open {
        number,
        streams: false,
        shared: shared.clone(),
    };
    let handler = handler.clone();
    let converse = move || {
        let mut open = open;
        converse(&mut stream, &mut open, &*handler);
    };
    // If no thread can be started, the closure is dropped and with it the connection.
    let _ = thread::Builder::new()
        .name("ww-monitor-http".to_owned())
        .spawn(converse);
}

/// A connection in the list, which it leaves when dropped.
struct Open {
    number: u64,
    streams: bool,
    shared: Arc<Shared>,
}

impl Open {
    /// Whether this connection may be a stream.
    fn become_stream(&mut self) -> bool {
        let mut connections = self.shared.connections();
        if connections.streams >= (self.shared.limits.connections / 2).max(1) {
            return false;
        }
        connections.streams += 1;
        self.streams = true;
        true
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut connections = self.shared.connections();
        connections.open.remove(&self.number);
        connections.streams -= usize::from(self.streams);
        self.shared.ended.notify_all();
    }
}

/// Reads one request and answers it.
fn converse(stream: &mut TcpStream, open: &mut Open, handler: &dyn Handler) {
    let limits = open.shared.limits;
    let request = match request::read(stream, Instant::now() + limits.request) {
        Ok(None) => return,
        Ok(Some(request)) => request,
        Err(refusal) => return refuse(stream, refusal, limits),
    };
    if let Err(refusal) = permit(&request, &open.shared.allowed_hosts) {
        return refuse(stream, refusal, limits);
    }
    let response = match handler.answer(&request) {
        Answer::Whole(response) => response,
        Answer::Stream(_) if request.head_only => Response::ok(STREAM, ""),
        Answer::Stream(pieces) if open.become_stream() => return stream_to(stream, open, pieces),
        Answer::Stream(_) => Response::text(503, "there are too many streams"),
    };
    // A peer that does not take its answer goes without.
    let _ = response.write(stream, request.head_only, Instant::now() + limits.response);
}

fn permit(request: &Request, allowed_hosts: &[String]) -> Result<(), Refusal> {
    if !host::is_allowed(&request.host, allowed_hosts) {
        return Err(Refusal {
            status: 421,
            text: "this is not the host that the request names",
        });
    }
    // A link from elsewhere may lead here, but no script of elsewhere gets an answer.
    if request.fetch_site.as_deref() == Some("cross-site") && !request.navigates {
        return Err(Refusal {
            status: 403,
            text: "requests of other sites are not answered",
        });
    }
    Ok(())
}

/// Answers with a refusal, and takes what the peer still sends, so that it gets to read the answer
/// instead of a reset.
fn refuse(stream: &mut TcpStream, refusal: Refusal, limits: Limits) {
    use std::io::Read;
    let deadline = Instant::now() + limits.request;
    let written = Response::refused(refusal).write(stream, false, deadline);
    if written.is_err() || stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let mut rest = [0; 4 << 10];
    for _ in 0..64 {
        let left = deadline.saturating_duration_since(Instant::now());
        let timed = !left.is_zero() && stream.set_read_timeout(Some(left)).is_ok();
        if !timed || !matches!(stream.read(&mut rest), Ok(1..)) {
            return;
        }
    }
}

fn stream_to(stream: &mut TcpStream, open: &Open, mut pieces: Box<dyn Pieces>) {
    let limits = open.shared.limits;
    let end = Instant::now() + limits.stream;
    let mut text = head(200, STREAM);
    text.push_str("\r\n");
    let mut spoken = Instant::now();
    loop {
        if !text.is_empty() {
            spoken = Instant::now();
            if write_by(stream, text.as_bytes(), spoken + limits.response).is_err() {
                return;
            }
        }
        if open.shared.is_ending() || Instant::now() >= end {
            return;
        }
        text = match pieces.next(LOOK) {
            None => return,
            Some(text) if text.is_empty() && spoken.elapsed() >= SILENCE => ":\n\n".to_owned(),
            Some(text) => text,
        };
    }
}
