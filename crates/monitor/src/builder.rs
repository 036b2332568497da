//! Building a monitor.

use crate::routes::Routes;
use crate::server::{Limits, Server};
use crate::watched::Watched;
use crate::{Monitor, sampler};
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use whitewater::Observer;

/// Makes a [`Monitor`].
#[derive(Debug, Clone)]
pub struct Builder {
    databases: Vec<(Option<String>, Observer)>,
    interval: Duration,
    allow_remote: bool,
    allowed_hosts: Vec<String>,
    show_keys: bool,
    limits: Limits,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            databases: Vec::new(),
            interval: Duration::from_secs(1),
            allow_remote: false,
            allowed_hosts: Vec::new(),
            show_keys: false,
            limits: Limits::default(),
        }
    }
}

impl Builder {
    /// Watches `db`, labelled with its path. The monitor does not keep it open.
    #[expect(
        clippy::should_implement_trait,
        reason = "it adds to a list, as builders do"
    )]
    pub fn add(mut self, db: impl Into<Observer>) -> Self {
        self.databases.push((None, db.into()));
        self
    }

    /// Watches `db`, labelled `label`.
    pub fn add_as(mut self, label: impl Into<String>, db: impl Into<Observer>) -> Self {
        self.databases.push((Some(label.into()), db.into()));
        self
    }

    /// How often figures are read for rates. At least 10 milliseconds; the default is a second.
    /// The last 600 intervals are kept.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(Duration::from_millis(10));
        self
    }

    /// Whether [`listen`](Self::listen) may take an address that other machines reach. The default
    /// is false. Nothing is encrypted and nobody is asked who he is: only in a network in which
    /// everybody may see what the database does.
    pub fn allow_remote(mut self, allow: bool) -> Self {
        self.allow_remote = allow;
        self
    }

    /// Requests may name `host`, without a port, in addition to `localhost` and addresses. Needed
    /// where browsers or Prometheus know this machine by a name. Names that a foreign site could
    /// lead here are refused otherwise.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Whether keys may be shown: the smallest and the largest of each table file. The default is
    /// false. Values are never shown.
    pub fn show_keys(mut self, show: bool) -> Self {
        self.show_keys = show;
        self
    }

    /// The largest number of connections at a time, half of which may be streams of events. From 1;
    /// the default is 16. More are refused with the status 503.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.connections = connections.max(1);
        self
    }

    /// How long a request may take to arrive. At least 10 milliseconds; the default is 2 seconds.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.limits.request = timeout.max(Duration::from_millis(10));
        self
    }

    /// Starts the monitor on `address`, such as `127.0.0.1:0`, whose port the system chooses.
    ///
    /// # Errors
    /// `PermissionDenied` for an address that other machines reach, unless
    /// [`allow_remote`](Self::allow_remote) is set; `InvalidInput` without a database; errors of
    /// the system.
    pub fn listen(self, address: impl ToSocketAddrs) -> io::Result<Monitor> {
        if self.databases.is_empty() {
            let what = "a monitor needs a database to watch";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let addresses: Vec<_> = address.to_socket_addrs()?.collect();
        let remote = addresses.iter().find(|address| !address.ip().is_loopback());
        if let Some(remote) = remote
            && !self.allow_remote
        {
            let what = format!("{remote} is not a loopback address; see Builder::allow_remote");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        let listener = TcpListener::bind(&addresses[..])?;
        let databases = self.databases.into_iter().enumerate();
        let databases = databases.map(|(id, (label, db))| Watched::new(id, label, db));
        let databases: Arc<Vec<_>> = Arc::new(databases.collect());
        let routes = Routes {
            databases: databases.clone(),
            age: self.interval * 10,
            show_keys: self.show_keys,
        };
        let server = Server::start(listener, Arc::new(routes), self.allowed_hosts, self.limits)?;
        let sampler = sampler::Sampler::start(databases, self.interval)?;
        Ok(Monitor {
            server,
            _sampler: sampler,
        })
    }
}
