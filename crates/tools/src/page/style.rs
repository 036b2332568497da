//! What all charts share: the drawing area, colours, number formats and legends.

use std::fmt::Write as _;

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::escaped;
use crate::bench::engine::{Failure, Result};

/// The width and height of a chart in pixels.
pub const SIZE: (u32, u32) = (960, 320);
/// The height in pixels of the area below the drawing, for labels.
pub const BELOW: i32 = 24;
/// The width in pixels of the area left of the drawing, for figures and the unit.
pub const LEFT: i32 = 76;
/// The font of figures and labels, with its size in pixels.
pub const LETTERS: (&str, i32) = ("sans-serif", 15);
/// The colour of axes and grid.
pub const LINES: RGBColor = RGBColor(0x80, 0x80, 0x80);

/// The area that a chart is drawn on.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The colours of series, visible on both light and dark pages.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0x3b, 0x82, 0xf6),
    RGBColor(0xf9, 0x73, 0x16),
    RGBColor(0x10, 0xa3, 0x7f),
    RGBColor(0xd9, 0x46, 0xef),
    RGBColor(0xe1, 0x1d, 0x48),
    RGBColor(0xca, 0x8a, 0x04),
    RGBColor(0x06, 0xa5, 0xc4),
    RGBColor(0x7c, 0x83, 0x92),
    RGBColor(0x8b, 0x5c, 0xf6),
    RGBColor(0x84, 0xa1, 0x0f),
];

/// The colour of a series. When all colours have been used, they recur darker, and
/// then lighter.
pub fn colour(series: usize) -> RGBColor {
    let RGBColor(r, g, b) = COLOURS[series % COLOURS.len()];
    let shade = |part: u8| match series / COLOURS.len() % 3 {
        0 => part,
        1 => part / 5 * 3,
        _ => 255 - (255 - part) / 5 * 3,
    };
    RGBColor(shade(r), shade(g), shade(b))
}

/// A number on an axis with ticks at intervals of `step`, with as many decimal
/// places as tell one tick from the next.
pub fn tick(value: f64, step: f64) -> String {
    if value == 0.0 || step <= 0.0 {
        return format!("{value:.0}");
    }
    if value.abs() >= 1e3 || step >= 1.0 {
        let (unit, letter) = match value.abs() {
            value if value >= 1e9 => (1e9, " G"),
            value if value >= 1e6 => (1e6, " M"),
            value if value >= 1e3 => (1e3, " k"),
            _ => (1.0, ""),
        };
        return format!("{:.*}{letter}", places(step / unit), value / unit);
    }
    format!("{value:.*}", places(step))
}

/// The distance between ticks of an axis that has about `count` of them.
pub fn step(axis: std::ops::Range<f64>, count: usize) -> f64 {
    let ticks = RangedCoordf64::from(axis).key_points(BoldPoints(count));
    match ticks[..] {
        [first, second, ..] => second - first,
        _ => 0.0,
    }
}

/// The number of decimal places that a step needs, at most 6.
fn places(step: f64) -> usize {
    let needed = |places: &usize| {
        let scaled = step * 10_f64.powi(*places as i32);
        (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0) && scaled >= 0.999
    };
    (0..6).find(needed).unwrap_or(6)
}

/// The SVG text of what `draw` draws.
///
/// # Errors
/// Any error of the drawing library.
pub fn svg(draw: impl FnOnce(&Area<'_>) -> std::result::Result<(), String>) -> Result<String> {
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    draw(&root)
        .and_then(|()| root.present().map_err(|error| error.to_string()))
        .map_err(|error| Failure(format!("chart: {error}")))?;
    drop(root);
    Ok(svg + "\n")
}

/// The names and colours of series, as HTML.
pub fn legend<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut html = "<p class=\"legend\">".to_owned();
    for (at, name) in names.enumerate() {
        let RGBColor(r, g, b) = colour(at);
        let name = escaped(name);
        let _ = write!(
            html,
            "<span><i style=\"background:#{r:02x}{g:02x}{b:02x}\"></i>{name}</span>"
        );
    }
    html + "</p>\n"
}

/// A number with an SI prefix.
pub fn short(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{:.1} G", value / 1e9),
        value if value >= 1e6 => format!("{:.1} M", value / 1e6),
        value if value >= 1e4 => format!("{:.0} k", value / 1e3),
        value if value >= 1e3 => format!("{:.1} k", value / 1e3),
        value if value >= 10.0 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 0.095 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ticks_have_different_labels() {
        for (step, least, text) in [
            (0.005, 0.005, "0.005"),
            (0.2, 1.4, "1.4"),
            (1.0, 3.0, "3"),
            (250.0, 1_250.0, "1.25 k"),
            (50_000.0, 150_000.0, "150 k"),
            (500_000.0, 1_500_000.0, "1.5 M"),
            (250_000.0, 1_750_000.0, "1.75 M"),
            (0.0, 7.0, "7"),
            (0.005, 0.0, "0"),
        ] {
            assert_eq!(tick(least, step), text, "{step}");
            if step > 0.0 {
                let labels: Vec<_> = (0..8).map(|n| tick(f64::from(n) * step, step)).collect();
                let apart = labels.iter().collect::<std::collections::BTreeSet<_>>();
                assert_eq!(apart.len(), labels.len(), "{labels:?}");
            }
        }
    }

    #[test]
    fn no_two_of_thirty_series_have_the_same_colour() {
        let all: Vec<_> = (0..30)
            .map(colour)
            .map(|RGBColor(r, g, b)| (r, g, b))
            .collect();
        let apart = all.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(apart.len(), all.len(), "{all:?}");
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (0.5, "0.5"),
            (3.0, "3"),
            (15.5, "16"),
            (1500.0, "1.5 k"),
            (150_000.0, "150 k"),
            (2.5e6, "2.5 M"),
            (3e9, "3.0 G"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
