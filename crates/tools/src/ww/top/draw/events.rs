//! The view of the last events.

use std::collections::VecDeque;

use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use whitewater_monitor::api::Event;
use whitewater_monitor::units::clock;

use super::parts::WARNING;

/// The view: newest first.
pub(super) fn lines(events: &VecDeque<Event>) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    if events.is_empty() {
        lines.push(Line::from(" No event was told yet."));
    }
    lines.extend(events.iter().rev().map(line));
    lines
}

/// An event as a line. The time is that of UTC.
pub(super) fn line(event: &Event) -> Line<'static> {
    let style = if event.warning { WARNING } else { Style::new() };
    let time = clock((event.unix_ms / 1000 % 86_400) as f64);
    let plain = |text: &str| text.replace(char::is_control, " ");
    Line::from(vec![
        Span::styled(format!(" {time:>8}Z "), Style::new().dim()),
        Span::raw(format!("{} ", plain(&event.family))).cyan(),
        Span::styled(plain(&event.text), style),
    ])
}
