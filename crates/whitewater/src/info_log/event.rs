//! Events for tools: `EVENT_LOG_v1 {"time_micros": 1, "job": 3, ...}`.
//!
//! The names of events and fields are RocksDB's, as are the spaces after colons and commas. The
//! JSON is written by hand: objects of numbers, texts and lists of numbers, in a fixed order,
//! are not worth a dependency.

use super::InfoLog;
use std::fmt::{Display, Write};
use std::time::UNIX_EPOCH;
use whitewater_concurrent::system;

/// An event that is being put together.
pub(crate) struct Event {
    text: String,
}

impl Event {
    /// The event `name` of the job with the number `job`.
    pub fn new(job: u64, name: &str) -> Self {
        let now = system::wall_clock().duration_since(UNIX_EPOCH);
        let micros = now.map_or(0, |d| d.as_micros());
        Event {
            text: format!("EVENT_LOG_v1 {{\"time_micros\": {micros}"),
        }
        .number("job", job)
        .text("event", name)
    }

    /// Adds a field that is a number.
    pub fn number(mut self, name: &str, value: impl Display) -> Self {
        // Writing to a string cannot fail, here and below.
        let _ = write!(self.text, ", \"{name}\": {value}");
        self
    }

    /// Adds a field that is text.
    pub fn text(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.text, ", \"{name}\": \"");
        for c in value.chars() {
            let _ = match c {
                '"' | '\\' => write!(self.text, "\\{c}"),
                c if c < ' ' => write!(self.text, "\\u{:04x}", c as u32),
                c => write!(self.text, "{c}"),
            };
        }
        self.text.push('"');
        self
    }

    /// Adds a field that is a list of numbers.
    pub fn list(mut self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        let values: Vec<_> = values.map(|value| value.to_string()).collect();
        let _ = write!(self.text, ", \"{name}\": [{}]", values.join(", "));
        self
    }

    /// Writes the event to `log`.
    pub fn log(mut self, log: &InfoLog) {
        self.text.push('}');
        log.write(&self.text);
    }

    #[cfg(test)]
    fn json(mut self) -> serde_json::Value {
        self.text.push('}');
        let json = self.text.strip_prefix("EVENT_LOG_v1 ").unwrap();
        serde_json::from_str(json).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::Event;

    #[test]
    fn events_are_json() {
        let event = Event::new(3, "flush_started")
            .text("cf_name", "a\"b\\c\n")
            .number("score", 1.5)
            .list("lsm_state", [2, 0, 1].into_iter())
            .list("none", std::iter::empty());
        let json = event.json();
        assert_eq!(json["job"], 3);
        assert_eq!(json["event"], "flush_started");
        assert_eq!(json["cf_name"], "a\"b\\c\n");
        assert_eq!(json["score"], 1.5);
        assert_eq!(json["lsm_state"], serde_json::json!([2, 0, 1]));
        assert_eq!(json["none"], serde_json::json!([]));
        assert!(json["time_micros"].as_u64().unwrap() > 1_600_000_000_000_000);
    }
}
