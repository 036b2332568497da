//! The state as text: a line with what is watched, one with the views, one that says whether
//! writers are held back, the view, and a line about keys.
//!
//! * `overview`, `write_path`, `levels`, `events`: the views.
//! * `parts`: what they are made of.

mod events;
mod levels;
mod overview;
mod parts;
mod write_path;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};
use whitewater_monitor::api::{Database, Limit, Overview, Stall};
use whitewater_monitor::units;

use super::state::{State, View};
use parts::{BAD, Cell, GOOD, WARNING, table};

/// From this width on, views may have two columns.
const WIDE: u16 = 150;
/// The lines around a view: what is watched, views, whether writers are held back, keys.
const AROUND: u16 = 4;
const KEYS: &str = "q quits  p pauses  Tab, arrows: views  up, down: scroll";

/// Draws the state, and returns how far its view can be scrolled.
pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) -> usize {
    let rows = [1, 1, 1].map(Constraint::Length);
    let rows = [&rows[..], &[Constraint::Min(0), Constraint::Length(1)]].concat();
    let rows = Layout::vertical(rows).split(area);
    title(state).render(rows[0], buffer);
    buffer.set_style(rows[0], Style::new().reversed());
    views(state.view).render(rows[1], buffer);
    banner(state).render(rows[2], buffer);
    let body = body(state, rows[3].width);
    let most = body.iter().map(Vec::len).max().unwrap_or(0);
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
    let lines = body(state, width).iter().map(Vec::len).max();
    AROUND.saturating_add(u16::try_from(lines.unwrap_or(0)).unwrap_or(u16::MAX))
}

/// The lines of the view, in columns.
fn body(state: &State, width: u16) -> Vec<Vec<Line<'static>>> {
    let Some((overview, write_path)) = &state.figures else {
        return vec![vec![Line::from(" Nothing is known yet.")]];
    };
    match state.view {
        View::Overview => overview::lines(state, overview, width),
        View::WritePath => vec![write_path::lines(write_path)],
        View::Levels => vec![levels::lines(overview)],
        View::Events => vec![events::lines(&state.events)],
    }
}

fn title(state: &State) -> Paragraph<'static> {
    let mut text = format!(" ww top  {}", state.place);
    if let Some((overview, write_path)) = &state.figures {
        if overview.database.label != state.place {
            text += &format!("  {}", overview.database.label);
        }
        text += &format!("  open for {}", units::clock(overview.uptime_seconds));
        if !overview.reads_only && !overview.commit_protocol.is_empty() {
            text += &format!(
                "  {} commit, {}",
                overview.commit_protocol, write_path.memtable
            );
        }
    }
    if state.paused {
        text += "  PAUSED";
    }
    Paragraph::new(text)
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
fn banner(state: &State) -> Paragraph<'static> {
    let line = match &state.figures {
        None => Line::default(),
        Some((overview, _)) => held_back(overview),
    };
    Paragraph::new(line)
}

fn held_back(overview: &Overview) -> Line<'static> {
    let Overview {
        database: Database { open, .. },
        error,
        stall,
        ..
    } = overview;
    if !open {
        return Line::styled(" The database is closed.", BAD);
    }
    if overview.reads_only {
        let text = " Seen by its files. Reads, times, stalls and events are known to its process.";
        return Line::styled(text, Style::new().dim());
    }
    if !error.is_empty() {
        return Line::styled(format!(" Writes are refused: {error}"), BAD);
    }
    let style = match stall.condition.as_str() {
        "normal" => return Line::styled(" Writes are not held back.", GOOD),
        "delayed" => WARNING,
        _ => BAD,
    };
    let mut text = format!(" Writes are {}", stall.condition);
    if stall.delayed_rate > 0 {
        let rate = units::bytes(stall.delayed_rate as f64);
        text += &format!(" (to {rate} per second)");
    }
    for family in stall.families.iter().filter(|f| !f.reason.is_empty()) {
        text += &format!("; {}: {} ({})", family.family, family.reason, family.cause);
    }
    Line::styled(text + ".", style)
}

/// Keys, or what is wrong with the source.
fn footer(state: &State, below: usize) -> Paragraph<'static> {
    if let Some(why) = &state.silence {
        let text = format!(" No answer, figures are old: {why}");
        return Paragraph::new(Line::styled(text, BAD));
    }
    if let Some(why) = &state.lost {
        let text = format!(" The files cannot be followed: {why}");
        return Paragraph::new(Line::styled(text, BAD));
    }
    let mut text = format!(" {KEYS}");
    if below > 0 {
        text += &format!("  ({below} more lines)");
    }
    Paragraph::new(Line::styled(text, Style::new().dim())).wrap(Wrap { trim: false })
}

/// What decides whether writers are held back, beside the values from which they are.
fn limits(stall: &Stall) -> Vec<Line<'static>> {
    let unit = |limit: &Limit| match limit.name.as_str() {
        "pending-bytes" => units::bytes,
        _ => units::count,
    };
    let or_never = |limit: &Limit, value: u64| match value {
        0 => "never".to_owned(),
        value => unit(limit)(value as f64),
    };
    let rows = stall.families.iter().flat_map(|family| {
        family.limits.iter().map(move |limit| {
            let style = match limit.value {
                value if limit.stop > 0 && value >= limit.stop => BAD,
                value if limit.delay > 0 && value >= limit.delay => WARNING,
                _ => Style::new(),
            };
            vec![
                Cell::from(&*family.family),
                Cell::from(&*limit.name),
                Cell::new(unit(limit)(limit.value as f64), style),
                Cell::from(or_never(limit, limit.delay)),
                Cell::from(or_never(limit, limit.stop)),
            ]
        })
    });
    let names = [
        "family",
        "what holds back",
        "now",
        "delays from",
        "stops from",
    ];
    table(&names, 2, &rows.collect::<Vec<_>>())
}
