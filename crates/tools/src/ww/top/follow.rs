//! The thread that asks the monitor at intervals, so that keys are answered while it waits.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use whitewater_monitor::api::{Event, Overview, Point, WritePath};

use super::client::Client;

/// What is told to who shows it.
#[derive(Debug)]
pub(super) enum Told {
    /// What the monitor has answered, or why there is no answer.
    Answered(Result<Box<News>, String>),
    /// Whether the files of the other process could be followed.
    Followed(Result<(), String>),
}

/// The figures of a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct News {
    /// Whether points and events are all that there are, and not only those since the last news.
    pub whole: bool,
    pub overview: Overview,
    pub write_path: WritePath,
    /// The rates of newer intervals, oldest first.
    pub points: Vec<Point>,
    /// Newer events, oldest first.
    pub events: Vec<Event>,
}

/// Asks for the figures of a database, and only once for each point and event.
pub(super) struct Asker {
    client: Client,
    /// `/api/v1/{id}`.
    prefix: String,
    /// The end of the last interval, in Unix milliseconds, and the number of the last event.
    seen: (u64, u64),
    uptime: f64,
}

impl Asker {
    pub fn new(client: Client, id: usize) -> Self {
        Asker {
            client,
            prefix: format!("/api/v1/{id}"),
            seen: (0, 0),
            uptime: 0.0,
        }
    }

    /// Asks.
    ///
    /// # Errors
    /// Those of [`Client::get`]. The next answer is a whole one then: it may be of another process.
    pub fn ask(&mut self) -> Result<News, String> {
        let news = self.news();
        if news.is_err() {
            self.seen = (0, 0);
        }
        news
    }

    fn news(&mut self) -> Result<News, String> {
        let at = |path: &str| format!("{}/{path}", self.prefix);
        let overview: Overview = self.client.get(&at("overview"))?;
        if overview.uptime_seconds < self.uptime {
            // The database was opened again, and the numbers of its events begin again.
            self.seen = (0, 0);
        }
        let (time, number) = self.seen;
        let news = News {
            whole: self.seen == (0, 0),
            write_path: self.client.get(&at("write-path"))?,
            points: self.client.get(&at(&format!("series?since={time}")))?,
            events: self.client.get(&at(&format!("events?since={number}")))?,
            overview,
        };
        self.uptime = news.overview.uptime_seconds;
        if let Some(point) = news.points.last() {
            self.seen.0 = point.unix_ms;
        }
        if let Some(event) = news.events.last() {
            self.seen.1 = event.number;
        }
        Ok(news)
    }
}

/// Starts the thread, which asks every `interval` and tells `news`. It ends when the sender that
/// is returned is dropped; what is sent to it says whether it pauses.
///
/// # Errors
/// The system has no thread.
pub(super) fn start(
    mut asker: Asker,
    interval: Duration,
    news: Sender<Told>,
) -> io::Result<Sender<bool>> {
    let (commands, commanded) = mpsc::channel();
    let ask = move || {
        let mut paused = false;
        loop {
            if !paused {
                let told = Told::Answered(asker.ask().map(Box::new));
                if news.send(told).is_err() {
                    return;
                }
            }
            match commanded.recv_timeout(interval) {
                Ok(now) => paused = now,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    thread::Builder::new()
        .name("ww-ask".to_owned())
        .spawn(ask)?;
    Ok(commands)
}
