//! Shows what a Whitewater database does, live: a page for people, JSON for programs and metrics
//! for Prometheus, served by a few threads of the program that has the database open.
//!
//! ```
//! use whitewater::{DB, Options};
//! use whitewater_monitor::Monitor;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path();
//! let mut options = Options::default();
//! options.create_if_missing(true);
//! options.enable_statistics(); // reads, percentiles and caches need them
//! let db = DB::open(&options, path)?;
//! let monitor = Monitor::builder().add(&db).listen("127.0.0.1:0")?;
//! println!("http://{}/", monitor.address());
//! # Ok(())
//! # }
//! ```
//!
//! | path | what |
//! |---|---|
//! | `/` | the page of the database, or a list of databases |
//! | `/db/{id}`, `/db/{id}/write-path` | the pages of a database |
//! | `/metrics` | Prometheus' text format; `?names=rocksdb` with the names of RocksDB's exporters, `?names=both` |
//! | `/api/v1/databases` | [`Databases`](api::Databases) |
//! | `/api/v1/{id}/overview` | [`Overview`](api::Overview) |
//! | `/api/v1/{id}/write-path` | [`WritePath`](api::WritePath) |
//! | `/api/v1/{id}/series?since=` | [`Point`](api::Point)s that end after a Unix time in milliseconds |
//! | `/api/v1/{id}/levels`, `/jobs`, `/stalls` | parts of the overview |
//! | `/api/v1/{id}/events?since=` | the last [`Event`](api::Event)s |
//! | `/api/v1/{id}/events/stream?since=` | events as they happen, as `text/event-stream` |
//! | `/api/v1/{id}/options` | [`OptionInForce`](api::OptionInForce) that are not the default; `?all` for all |
//! | `/api/v1/{id}/files` | [`File`](api::File)s |
//! | `/api/v1/{id}/properties/{name}?cf=` | a property as text; `&map` for one that is a map |
//!
//! # Who may see it
//!
//! The monitor listens on a loopback address unless it is told otherwise
//! ([`Builder::allow_remote`]). It answers GET and HEAD only and changes nothing. A request must
//! name `localhost`, an address or an allowed host ([`Builder::allow_host`]), so that no web site
//! can have a browser read it. Keys are not shown unless they may be ([`Builder::show_keys`]),
//! values never. Connections, the sizes of requests and their times are bounded.
//!
//! # What watching costs
//!
//! A thread reads counters and some histograms once a second. Everything else is read when it is
//! asked for; what may open many tables is kept for ten seconds. The database does nothing more
//! than without a monitor, but for telling events of flushes and compactions.

#![forbid(unsafe_code)]

pub mod api;
mod builder;
mod events;
mod metrics;
mod overview;
mod page;
mod routes;
mod sample;
mod sampler;
mod server;
pub mod units;
mod watched;
mod write_path;

pub use builder::Builder;

use std::fmt;
use std::net::SocketAddr;

/// A monitor that runs; it ends when dropped. Databases may be dropped before it; the page then
/// says that they are closed.
pub struct Monitor {
    server: server::Server,
    _sampler: sampler::Sampler,
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor")
            .field("address", &self.address())
            .finish_non_exhaustive()
    }
}

impl Monitor {
    /// Begins to build a monitor.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}
