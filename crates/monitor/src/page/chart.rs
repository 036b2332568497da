//! Line charts over time, as SVG without styles of their own: the style sheet has the colours.

use maud::{Markup, html};
use std::fmt::Write as _;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 120.0;
/// Room above the highest value.
const TOP: f64 = 8.0;

/// A line of a chart: its name and a value for each moment, if there is one.
pub(super) struct Line {
    pub name: &'static str,
    pub values: Vec<Option<f64>>,
}

/// A chart titled `title`, whose values `unit` turns into text. The newest values are at the right;
/// `moments` is the number of moments that its width has room for.
pub(super) fn chart(
    title: &str,
    unit: fn(f64) -> String,
    moments: usize,
    lines: &[Line],
) -> Markup {
    let values = lines.iter().flat_map(|line| &line.values);
    let top = values.flatten().copied().fold(0.0, f64::max);
    html! {
        figure.chart {
            figcaption {
                (title)
                @for (at, line) in lines.iter().enumerate() {
                    span.legend { i class={ "c" (at) } {} (line.name) " "
                        b { (line.values.last().copied().flatten().map_or("-".into(), unit)) } }
                }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label=(title) {
                @for part in 1..4 {
                    @let y = HEIGHT - f64::from(part) * (HEIGHT - TOP) / 4.0;
                    line.grid x1="0" x2=(WIDTH) y1=(y) y2=(y) {}
                }
                @for (at, line) in lines.iter().enumerate() {
                    @for points in pieces(line, moments, top) {
                        polyline class={ "c" (at) } points=(points) {}
                    }
                }
            }
            div.scale { span { (unit(top)) } span { "0" } }
        }
    }
}

/// The pieces of a line between moments without a value, as points.
fn pieces(line: &Line, moments: usize, top: f64) -> Vec<String> {
    let scale = if top > 0.0 { (HEIGHT - TOP) / top } else { 0.0 };
    let step = WIDTH / moments.max(2).saturating_sub(1) as f64;
    let first = WIDTH - step * line.values.len().saturating_sub(1) as f64;
    let mut pieces = vec![String::new()];
    for (at, value) in line.values.iter().enumerate() {
        match (value, pieces.last_mut()) {
            (Some(value), Some(piece)) => {
                let (x, y) = (first + step * at as f64, HEIGHT - value * scale);
                // Writing to a string cannot fail.
                let _ = write!(piece, "{x:.1},{y:.1} ");
            }
            _ => pieces.push(String::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_the_right_and_has_gaps() {
        let line = Line {
            name: "n",
            values: vec![Some(0.0), None, Some(2.0), Some(1.0)],
        };
        let pieces = pieces(&line, 4, 2.0);
        assert_eq!(pieces, ["0.0,120.0 ", "320.0,8.0 480.0,64.0 "]);
    }

    #[test]
    fn titles_are_escaped() {
        let text = chart("<a&b>", |n| n.to_string(), 2, &[]).into_string();
        assert!(text.contains("&lt;a&amp;b&gt;"), "{text}");
        assert!(!text.contains("<a&"), "{text}");
    }
}
