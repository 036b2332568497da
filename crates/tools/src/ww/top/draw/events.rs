//! The view of the last events.

use std::collections::VecDeque;

use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use whitewater_monitor::api::Event;
use whitewater_monitor::units::clock;

use super::parts::{WARNING, wrapped};

/// The view: newest first.
pub(super) fn lines(events: &VecDeque<Event>, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    lines.extend(last(events, events.len(), width));
    lines
}

/// The last `most` events, newest first.
pub(super) fn last(events: &VecDeque<Event>, most: usize, width: u16) -> Vec<Line<'static>> {
    if events.is_empty() {
        return vec![Line::from(" No event was told yet.")];
    }
    let last = events.iter().rev().take(most);
    last.flat_map(|event| event_lines(event, width)).collect()
}

/// An event in lines of `width`. The time is that of UTC.
fn event_lines(event: &Event, width: u16) -> Vec<Line<'static>> {
    let style = if event.warning { WARNING } else { Style::new() };
    let time = format!(" {:>8}Z ", clock((event.unix_ms / 1000 % 86_400) as f64));
    let mut family = event.family.replace(char::is_control, " ");
    if !family.is_empty() {
        family.push(' ');
    }
    let before = Span::raw(&*time).width() + Span::raw(&*family).width();
    // Behind a family's name that fills the line, the text is cut, and not a column of letters.
    let room = usize::from(width).saturating_sub(before).max(20);
    let mut lines = Vec::new();
    for (at, piece) in wrapped(&event.text, room).into_iter().enumerate() {
        let begin = if at == 0 {
            vec![
                Span::styled(time.clone(), Style::new().dim()),
                Span::raw(family.clone()).cyan(),
            ]
        } else {
            vec![Span::raw(" ".repeat(before))]
        };
        let text = [Span::styled(piece, style)];
        lines.push(Line::from_iter(begin.into_iter().chain(text)));
    }
    lines
}
