//! Which path answers what.

use crate::api::{Databases, Event, File, OptionInForce};
use crate::events::EventLog;
use crate::metrics::{self, Names};
use crate::overview::overview;
use crate::page;
use crate::sample::unix_ms;
use crate::server::request::{Request, decode};
use crate::server::response::Response;
use crate::server::{Answer, Handler, Pieces};
use crate::watched::Watched;
use crate::write_path::write_path;
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

/// The largest number of events, and of files, in an answer.
const MOST: usize = 1000;

/// Answers requests about databases.
pub(crate) struct Routes {
    pub databases: Arc<Vec<Watched>>,
    /// How old figures may be that are slow to get.
    pub age: Duration,
    /// Whether keys may be shown.
    pub show_keys: bool,
}

impl Handler for Routes {
    fn answer(&self, request: &Request) -> Answer {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        let response = match parts[..] {
            [""] => self.front(),
            ["assets", name] => asset(name),
            ["metrics"] => self.metrics(request),
            ["api", "v1", "databases"] => json(&Databases {
                databases: self.databases.iter().map(Watched::entry).collect(),
            }),
            ["api", "v1", id, "events", "stream"] => return self.stream(id, request),
            ["api", "v1", id, what] => self.of_database(id, what, request),
            ["api", "v1", id, "properties", name] => self.property(id, name, request),
            ["db", id] => self.page(id, request, page::Kind::Overview),
            ["db", id, "write-path"] => self.page(id, request, page::Kind::WritePath),
            _ => missing(),
        };
        Answer::Whole(response)
    }
}

fn missing() -> Response {
    Response::text(404, "there is nothing here")
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => Response::ok(JSON, text),
        Err(e) => Response::text(500, &e.to_string()),
    }
}

fn asset(name: &str) -> Response {
    match name {
        "monitor.css" => Response::ok("text/css; charset=utf-8", page::STYLE),
        "monitor.js" => Response::ok("text/javascript; charset=utf-8", page::SCRIPT),
        _ => missing(),
    }
}

impl Routes {
    fn find(&self, id: &str) -> Option<&Watched> {
        self.databases.get(id.parse::<usize>().ok()?)
    }

    fn front(&self) -> Response {
        match self.databases.len() {
            1 => Response::moved("/db/0"),
            _ => {
                let entries: Vec<_> = self.databases.iter().map(Watched::entry).collect();
                Response::ok(HTML, page::front(&entries))
            }
        }
    }

    fn metrics(&self, request: &Request) -> Response {
        let Some(names) = Names::parse(request.parameter("names").as_deref()) else {
            return Response::text(400, "names are `whitewater`, `rocksdb` or `both`");
        };
        let text = metrics::text(self.databases.iter(), names, self.age);
        Response::ok("text/plain; version=0.0.4; charset=utf-8", text)
    }

    fn of_database(&self, id: &str, what: &str, request: &Request) -> Response {
        let Some(watched) = self.find(id) else {
            return missing();
        };
        let since = request.parameter("since").and_then(|n| n.parse().ok());
        match what {
            "overview" => json(&overview(watched, self.age)),
            "write-path" => json(&write_path(watched)),
            "series" => json(&watched.points(since.unwrap_or(0))),
            "levels" => json(&overview(watched, self.age).families),
            "jobs" => json(&watched.events.jobs()),
            "stalls" => json(&crate::overview::stall(watched)),
            "events" => {
                let mut events = watched.events.last(MOST);
                events.retain(|event| event.number > since.unwrap_or(0));
                json(&events)
            }
            "options" => json(&options(watched, !request.asks_for("all"))),
            "files" => self.files(watched),
            _ => missing(),
        }
    }

    fn files(&self, watched: &Watched) -> Response {
        let files = match watched.observer.live_files() {
            Ok(files) => files,
            Err(e) => return Response::text(500, e.as_ref()),
        };
        let key = |key: Option<Vec<u8>>| {
            let key = key.filter(|_| self.show_keys)?;
            Some(key.escape_ascii().to_string())
        };
        let files: Vec<File> = files
            .into_iter()
            .take(MOST)
            .map(|file| File {
                family: file.column_family_name,
                name: file.name.trim_start_matches('/').to_owned(),
                level: u32::try_from(file.level).unwrap_or(0),
                bytes: file.size as u64,
                entries: file.num_entries,
                deletions: file.num_deletions,
                smallest: key(file.start_key),
                largest: key(file.end_key),
            })
            .collect();
        json(&files)
    }

    fn property(&self, id: &str, name: &str, request: &Request) -> Response {
        let (Some(watched), Some(name)) = (self.find(id), decode(name)) else {
            return missing();
        };
        // It lists the smallest and the largest key of each table.
        if name == "rocksdb.sstables" && !self.show_keys {
            return Response::text(403, "keys are not shown");
        }
        let family = request.parameter("cf");
        let family = family.as_deref().unwrap_or("default");
        let observer = &watched.observer;
        if let Some(map) = observer.property_map_value(family, &*name)
            && request.asks_for("map")
        {
            return json(&map);
        }
        match observer.property_value(family, &*name) {
            Some(text) => Response::ok("text/plain; charset=utf-8", text),
            None => missing(),
        }
    }

    fn page(&self, id: &str, request: &Request, kind: page::Kind) -> Response {
        let Some(watched) = self.find(id) else {
            return missing();
        };
        let databases: Vec<_> = self.databases.iter().map(Watched::entry).collect();
        let points = watched.points(unix_ms().saturating_sub(page::SHOWN_MS));
        let live = match kind {
            page::Kind::Overview => {
                let options = options(watched, true);
                page::overview(&overview(watched, self.age), &points, &options)
            }
            page::Kind::WritePath => page::write_path(&write_path(watched), &points),
        };
        if request.asks_for("live") {
            return Response::ok(HTML, live.into_string());
        }
        let events = watched.events.last(page::SHOWN_EVENTS);
        let page = page::Frame {
            kind,
            database: &watched.entry(),
            databases: &databases,
            events: &events,
        };
        Response::ok(HTML, page.html(&live))
    }

    fn stream(&self, id: &str, request: &Request) -> Answer {
        let Some(watched) = self.find(id) else {
            return Answer::Whole(missing());
        };
        let since = request.parameter("since").and_then(|n| n.parse().ok());
        let seen: Option<u64> = request.last_event_id.or(since);
        let last = watched.events.last_number();
        Answer::Stream(Box::new(EventStream {
            // A browser that saw an earlier run of the program may know greater numbers.
            seen: seen.map_or(last, |seen| seen.min(last)),
            events: watched.events.clone(),
        }))
    }
}

fn options(watched: &Watched, changed_only: bool) -> Vec<OptionInForce> {
    let options = watched.observer.options().into_iter();
    let options = options.filter(|option| !changed_only || option.value != option.default);
    let options = options.map(|option| OptionInForce {
        family: option.column_family,
        name: option.name,
        value: option.value,
        default: option.default,
        changes_live: option.changes_live,
    });
    options.collect()
}

/// Events as they happen.
struct EventStream {
    seen: u64,
    events: Arc<EventLog>,
}

impl Pieces for EventStream {
    fn next(&mut self, timeout: Duration) -> Option<String> {
        let events = self.events.after(self.seen, timeout);
        let mut text = String::new();
        for event in &events {
            self.seen = event.number;
            text.push_str(&piece(event));
        }
        Some(text)
    }
}

/// An event in the format of streams. JSON is one line, so the text cannot end early.
fn piece(event: &Event) -> String {
    let mut text = String::new();
    if let Ok(data) = serde_json::to_string(event) {
        // Writing to a string cannot fail.
        let _ = write!(text, "id: {}\nevent: event\ndata: {data}\n\n", event.number);
    }
    text
}
