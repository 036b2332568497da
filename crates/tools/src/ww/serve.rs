//! Shows the state of a database that another process has open.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::Args;
use tempfile::TempDir;
use whitewater::Error;
use whitewater_monitor::{Builder, Monitor};

use super::failure::{Failure, Result};
use super::open;
use super::session::{Place, Session};
use crate::interrupt;

/// Serves a page, JSON and metrics about a database that another process may have open.
///
/// The database is opened as a secondary instance, which follows the other process by reading its
/// files. So tables, levels and written entries are seen; reads, stalls and times are known to
/// the process alone, which can show them with the crate whitewater-monitor.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww serve --db /data/db
  ww serve /data/db --listen 127.0.0.1:9090 --poll 5")]
pub struct Serve {
    #[command(flatten)]
    place: Place,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Allow an address that other machines reach.
    #[arg(long)]
    allow_remote: bool,
    /// A name that requests may use for this machine besides localhost and addresses.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Show the smallest and largest key of tables.
    #[arg(long)]
    show_keys: bool,
    /// How often the files of the other process are looked at, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    poll: f64,
}

/// A number of seconds from a hundredth to a day.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok();
    let found = found.filter(|seconds| (0.01..=86_400.0).contains(seconds));
    found.ok_or_else(|| "a number from 0.01 to 86400".to_owned())
}

impl Serve {
    /// Runs the command, until it is interrupted.
    ///
    /// # Errors
    /// The database cannot be opened, or the address cannot be listened on.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let dir = self.place.of(session)?;
        let mut builder = Monitor::builder()
            .allow_remote(self.allow_remote)
            .show_keys(self.show_keys);
        for host in &self.allow_host {
            builder = builder.allow_host(host);
        }
        let poll = Duration::from_secs_f64(self.poll);
        let quiet = session.global.quiet;
        let tell = move |followed| {
            if let Err(e) = followed
                && !quiet
            {
                interrupt::note(&format!("ww: warning: {e}\n"));
            }
        };
        let served = Served::start(session, &dir, builder, &self.listen, poll, tell)?;
        session.line(format_args!("http://{}/", served.monitor.address()))?;
        session.out.flush()?;
        interrupt::listen("ww: ending").map_err(|e| Failure::Other(e.to_string()))?;
        while !interrupt::requested() {
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

/// A monitor of a secondary instance that follows its primary.
pub(super) struct Served {
    pub monitor: Monitor,
    /// Dropped to end the thread that follows.
    end: Option<mpsc::Sender<()>>,
    follower: Option<JoinHandle<()>>,
    /// The directory of the instance's own files, unless the user has named another.
    _own: TempDir,
}

impl Served {
    /// Opens the database in `dir` and serves it on `address`. Whether its files could be followed
    /// is told to `tell`, every `poll`.
    ///
    /// # Errors
    /// The database cannot be opened, or the address cannot be listened on.
    pub fn start(
        session: &Session<'_>,
        dir: &Path,
        builder: Builder,
        address: &str,
        poll: Duration,
        mut tell: impl FnMut(Result<(), Error>) + Send + 'static,
    ) -> Result<Self> {
        let own = tempfile::tempdir().map_err(|e| Failure::Other(e.to_string()))?;
        let db = open::to_follow(session, dir, own.path())?;
        let monitor = builder
            .add_as(dir.display().to_string(), &db)
            .listen(address)
            .map_err(|e| Failure::Other(format!("{address}: {e}")))?;
        let (end, ended) = mpsc::channel::<()>();
        let follow = move || {
            while ended.recv_timeout(poll) == Err(RecvTimeoutError::Timeout) {
                tell(db.try_catch_up_with_primary());
            }
        };
        let follower = thread::Builder::new()
            .name("ww-follow".to_owned())
            .spawn(follow)
            .map_err(|e| Failure::Other(e.to_string()))?;
        Ok(Served {
            monitor,
            end: Some(end),
            follower: Some(follower),
            _own: own,
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end = None;
        if let Some(follower) = self.follower.take() {
            // A panic was reported when it happened.
            let _ = follower.join();
        }
    }
}
