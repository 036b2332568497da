//! What is watched: a monitor that a URL names, or a monitor that this process starts, on an
//! address of its own, for a database that a path names.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::Duration;

use whitewater_monitor::Monitor;
use whitewater_monitor::api::Databases;

use super::client::Client;
use super::follow::Told;
use crate::ww::failure::{Failure, Result};
use crate::ww::serve::Served;
use crate::ww::session::Session;

/// See the [module](self).
pub(super) struct Source {
    pub client: Client,
    /// The place of the database in the monitor's paths.
    pub id: usize,
    /// The monitor of this process.
    _served: Option<Served>,
}

impl Source {
    /// Finds the monitor at the URL `place`, or opens the database at the path `place`. What
    /// following it meets later goes to `news`.
    ///
    /// # Errors
    /// The URL is none, nobody answers there, or the database cannot be opened.
    pub fn of(
        session: &Session<'_>,
        place: &Path,
        poll: Duration,
        news: Sender<Told>,
    ) -> Result<Self> {
        match place.to_str().and_then(|text| text.split_once("://")) {
            Some(("http", rest)) => Source::at(rest),
            Some(_) => Err(Failure::usage(format_args!(
                "{}: a monitor's URL begins with http://",
                place.display()
            ))),
            None => Source::in_files(session, place, poll, news),
        }
    }

    /// The monitor at a URL without its scheme.
    fn at(url: &str) -> Result<Self> {
        let (host, wanted) = parts(url).map_err(|e| Failure::usage(format_args!("{url}: {e}")))?;
        let client = Client::new(host);
        let all: Databases = client.get("/api/v1/databases").map_err(Failure::Other)?;
        let known = |id: &usize| all.databases.iter().any(|database| database.id == *id);
        let Some(id) = wanted.or(Some(0)).filter(known) else {
            let ids = all.databases.iter();
            let ids: Vec<_> = ids.map(|d| format!("/db/{} ({})", d.id, d.label)).collect();
            return Err(Failure::negative(format_args!(
                "{url}: there is no such database; there is {}",
                ids.join(", ")
            )));
        };
        Ok(Source {
            client,
            id,
            _served: None,
        })
    }

    fn in_files(
        session: &Session<'_>,
        dir: &Path,
        poll: Duration,
        news: Sender<Told>,
    ) -> Result<Self> {
        if !dir.is_dir() {
            return Err(Failure::Other(format!(
                "{}: there is no such directory; a monitor is named by its URL, such as \
                 http://127.0.0.1:8080/",
                dir.display()
            )));
        }
        let tell = move |followed: Result<(), whitewater::Error>| {
            // Who shows it may have ended.
            let _ = news.send(Told::Followed(followed.map_err(|e| e.to_string())));
        };
        let builder = Monitor::builder();
        let served = Served::start(session, dir, builder, "127.0.0.1:0", poll, tell)?;
        Ok(Source {
            client: Client::new(served.monitor.address().to_string()),
            id: 0,
            _served: Some(served),
        })
    }
}

/// The host with its port, and the database that a URL without its scheme names.
fn parts(url: &str) -> Result<(String, Option<usize>), &'static str> {
    let (host, path) = url.split_once('/').unwrap_or((url, ""));
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '@' | '?' | '#');
    if host.is_empty() || host.contains(odd) {
        return Err("there is no host in it");
    }
    // What is behind the last colon of an address in brackets is no port.
    let has_port = host.rfind(':') > host.rfind(']');
    let host = if has_port {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let mut pieces = path.split('/').filter(|piece| !piece.is_empty());
    let id = match (pieces.next(), pieces.next()) {
        (None, _) => None,
        (Some("db"), Some(id)) => Some(id.parse().map_err(|_| "/db/ wants a number")?),
        _ => return Err("the path is neither / nor that of a database, such as /db/0"),
    };
    Ok((host, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_those_of_pages() {
        let host = |host: &str, id| Ok((host.to_owned(), id));
        assert_eq!(parts("localhost:8080"), host("localhost:8080", None));
        assert_eq!(parts("localhost:8080/"), host("localhost:8080", None));
        assert_eq!(parts("db.example"), host("db.example:80", None));
        assert_eq!(parts("[::1]"), host("[::1]:80", None));
        assert_eq!(parts("[::1]:9/db/2"), host("[::1]:9", Some(2)));
        assert_eq!(parts("h:1/db/0/write-path"), host("h:1", Some(0)));
        for bad in [
            "",
            "/db/0",
            "h:1/metrics",
            "h:1/db",
            "h:1/db/x",
            "h\r\nX: y",
            "u@h",
        ] {
            assert!(parts(bad).is_err(), "{bad}");
        }
    }
}
