//! Parts of views: headings, tables and lines of small bars.

use ratatui::style::{Color, Style, Stylize};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};

/// What is due or slow.
pub(super) const WARNING: Style = Style::new().fg(Color::Yellow);
/// What is wrong.
pub(super) const BAD: Style = Style::new().fg(Color::Red).bold();
/// What is as it should be.
pub(super) const GOOD: Style = Style::new().fg(Color::Green);

/// A heading with an empty line before it.
pub(super) fn heading(text: &str) -> [Line<'static>; 2] {
    [Line::default(), Line::from(text.to_owned().bold().cyan())]
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in a style.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        // Names come from the database and may have anything in them.
        let text = text.into().replace(char::is_control, " ");
        Cell { text, style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::new(text, Style::new())
    }
}

/// Rows under `names`, in lines of `width`. The first `left` columns are aligned to the left, the
/// others to the right. Of those to the right, the last ones are left out if they do not fit, so
/// that no number is cut; `>` in the line of the names says so.
pub(super) fn table(
    names: &[&str],
    left: usize,
    rows: &[Vec<Cell>],
    width: u16,
) -> Vec<Line<'static>> {
    let head: Vec<_> = names
        .iter()
        .map(|name| Cell::new(*name, Style::new().dim()))
        .collect();
    let all = || std::iter::once(&head).chain(rows);
    let widest = |column: usize| {
        let cells = all().filter_map(|row| row.get(column));
        cells.map(|cell| Span::raw(&*cell.text).width()).max()
    };
    let widths: Vec<_> = (0..names.len()).map(|c| widest(c).unwrap_or(0)).collect();
    let fitting = fitting(&widths, left, usize::from(width));
    let line = |row: &Vec<Cell>| {
        let mut spans = Vec::new();
        for (column, (cell, width)) in row.iter().zip(&widths[..fitting]).enumerate() {
            let missing = width.saturating_sub(Span::raw(&*cell.text).width());
            let (before, after) = if column < left {
                (0, missing)
            } else {
                (missing, 0)
            };
            spans.push(Span::raw(" ".repeat(gap(column) + before)));
            spans.push(Span::styled(cell.text.clone(), cell.style));
            spans.push(Span::raw(" ".repeat(after)));
        }
        Line::from(spans)
    };
    let mut lines: Vec<_> = all().map(line).collect();
    if fitting < widths.len() {
        lines[0].push_span(" >".dim());
    }
    lines
}

/// The spaces before a column.
fn gap(column: usize) -> usize {
    if column == 0 { 1 } else { 2 }
}

/// How many columns of these widths are shown in lines of `width`. The first `left` always are.
fn fitting(widths: &[usize], left: usize, width: usize) -> usize {
    let ends = widths.iter().enumerate().scan(0, |end, (column, width)| {
        *end += gap(column) + width;
        Some(*end)
    });
    let ends: Vec<_> = ends.collect();
    if ends.last().is_none_or(|end| *end <= width) {
        return widths.len();
    }
    let with_mark = ends.iter().filter(|end| **end + 2 <= width).count();
    with_mark.max(left.min(widths.len()))
}

/// A text in lines of `width` with a space before each.
pub(super) fn text(text: &str, style: Style, width: u16) -> Vec<Line<'static>> {
    let lines = wrapped(text, usize::from(width).saturating_sub(1));
    let lines = lines.into_iter();
    lines
        .map(|line| Line::styled(format!(" {line}"), style))
        .collect()
}

/// A text in pieces of at most `width` columns, between its words. A word that is longer is broken.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = text.replace(char::is_control, " ");
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for word in text.split_whitespace() {
        let length = Span::raw(word).width();
        if used > 0 && used + 1 + length <= width {
            line.push(' ');
            line.push_str(word);
            used += 1 + length;
            continue;
        }
        if used > 0 {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        for c in word.chars() {
            let length = Span::raw(c.to_string()).width();
            if used > 0 && used + length > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += length;
        }
    }
    lines.push(line);
    lines
}

/// The last `width` of `values` as bars up to the largest of them; a space for what is not known.
pub(super) fn bars(values: impl DoubleEndedIterator<Item = Option<f64>>, width: usize) -> String {
    let set = bar::NINE_LEVELS;
    let steps = [
        set.empty,
        set.one_eighth,
        set.one_quarter,
        set.three_eighths,
        set.half,
        set.five_eighths,
        set.three_quarters,
        set.seven_eighths,
        set.full,
    ];
    let mut last: Vec<_> = values.rev().take(width).collect();
    last.reverse();
    let most = last.iter().flatten().copied().fold(0.0, f64::max);
    let step = |value: &Option<f64>| match value {
        Some(value) if most > 0.0 => {
            // What is not nothing is seen.
            let share = (value / most * 8.0).ceil().clamp(0.0, 8.0);
            steps[share as usize]
        }
        _ => steps[0],
    };
    last.iter().map(step).collect()
}

/// A figure that may not be known.
pub(super) fn known(value: Option<f64>, unit: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), unit)
}
