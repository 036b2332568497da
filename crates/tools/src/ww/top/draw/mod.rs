//! The state as text: a line with what is watched, one with the views, whether writers are held
//! back, the view, and a line about keys.
//!
//! * `banner`: whether writers are held back, and why.
//! * `overview`, `write_path`, `levels`, `events`: the views.
//! * `parts`: what they are made of.

mod banner;
mod events;
mod levels;
mod overview;
mod parts;
mod write_path;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use whitewater_monitor::units;

use super::state::{State, View};
use parts::BAD;

/// From this width on, views may have two columns.
const WIDE: u16 = 150;
/// The lines around a view and the banner: what is watched, views, keys.
const AROUND: u16 = 3;
const KEYS: &str = "q quits  p pauses  Tab: views  up, down: scroll";

/// Draws the state, and returns how far its view can be scrolled.
pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) -> usize {
    let body = body(state, area.width);
    let most = longest(&body);
    let banner = shortened(banner(state, area.width), room_for_banner(area, most));
    let banner_height = u16::try_from(banner.len()).unwrap_or(u16::MAX);
    let rows = [1, 1, banner_height].map(Constraint::Length);
    let rows = [&rows[..], &[Constraint::Min(0), Constraint::Length(1)]].concat();
    let rows = Layout::vertical(rows).split(area);
    Paragraph::new(title(state, rows[0].width)).render(rows[0], buffer);
    buffer.set_style(rows[0], Style::new().reversed());
    views(state.view).render(rows[1], buffer);
    Paragraph::new(banner).render(rows[2], buffer);
    let hidden = most.saturating_sub(usize::from(rows[3].height));
    let skipped = state.scroll.min(hidden);
    let columns = Layout::horizontal(body.iter().map(|_| Constraint::Fill(1))).split(rows[3]);
    for (lines, place) in body.into_iter().zip(columns.iter()) {
        let shown: Vec<_> = lines.into_iter().skip(skipped).collect();
        Paragraph::new(shown).render(*place, buffer);
    }
    footer(state, hidden - skipped).render(rows[4], buffer);
    hidden
}

/// How many lines the whole state has.
pub(super) fn height(state: &State, width: u16) -> u16 {
    let lines = banner(state, width).len() + longest(&body(state, width));
    AROUND.saturating_add(u16::try_from(lines).unwrap_or(u16::MAX))
}

fn longest(columns: &[Vec<Line<'static>>]) -> usize {
    columns.iter().map(Vec::len).max().unwrap_or(0)
}

/// The lines of the view, in columns.
fn body(state: &State, width: u16) -> Vec<Vec<Line<'static>>> {
    let Some((overview, write_path)) = &state.figures else {
        return vec![vec![Line::from(" Nothing is known yet.")]];
    };
    match state.view {
        View::Overview => overview::lines(state, overview, width),
        View::WritePath => vec![write_path::lines(write_path, width)],
        View::Levels => vec![levels::lines(overview, width)],
        View::Events => vec![events::lines(&state.events, width)],
    }
}

/// What is watched. What does not fit is left out, but for the place.
fn title(state: &State, width: u16) -> String {
    let paused = if state.paused { "  PAUSED" } else { "" };
    let mut text = format!(" ww top{paused}  {}", state.place);
    let mut add = |part: &str| {
        let part = format!("  {part}");
        if Span::raw(&*text).width() + Span::raw(&*part).width() <= usize::from(width) {
            text += &part;
        }
    };
    if let Some((overview, write_path)) = &state.figures {
        if overview.database.label != state.place {
            add(&overview.database.label);
        }
        add(&format!(
            "open for {}",
            units::clock(overview.uptime_seconds)
        ));
        if !overview.reads_only && !overview.commit_protocol.is_empty() {
            add(&format!(
                "{} commit, {}",
                overview.commit_protocol, write_path.memtable
            ));
        }
    }
    text
}

fn views(chosen: View) -> Line<'static> {
    let mut spans = Vec::new();
    for (at, view) in View::ALL.into_iter().enumerate() {
        let name = format!(" {} {} ", at + 1, view.name());
        spans.push(if view == chosen {
            name.reversed()
        } else {
            Span::raw(name)
        });
    }
    Line::from(spans)
}

/// Whether writers are held back, and why.
fn banner(state: &State, width: u16) -> Vec<Line<'static>> {
    match &state.figures {
        None => vec![Line::default()],
        Some((overview, _)) => banner::lines(overview, width),
    }
}

/// How many lines the banner may have: a third of the screen, and more if the view, which has
/// `view` lines, leaves them.
fn room_for_banner(area: Rect, view: usize) -> usize {
    let height = usize::from(area.height);
    let left = height.saturating_sub(usize::from(AROUND) + view);
    left.max(height / 3).max(1)
}

/// The first `most` lines. The last one says if there were more.
fn shortened(mut lines: Vec<Line<'static>>, most: usize) -> Vec<Line<'static>> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let style = last.style;
            let text = last.to_string();
            let kept = text.chars().count().saturating_sub(4);
            let text: String = text.chars().take(kept).collect();
            *last = Line::styled(text + " ...", style);
        }
    }
    lines
}

/// Keys, or what is wrong with the source.
fn footer(state: &State, below: usize) -> Line<'static> {
    if let Some(why) = &state.silence {
        return Line::styled(format!(" No answer, figures are old: {why}"), BAD);
    }
    if let Some(why) = &state.lost {
        return Line::styled(format!(" The files cannot be followed: {why}"), BAD);
    }
    let mut text = format!(" {KEYS}");
    if below > 0 {
        text += &format!(" ({below} more)");
    }
    Line::styled(text, Style::new().dim())
}
