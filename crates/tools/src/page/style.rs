//! What charts have in common: colours, figures, legends.

use std::fmt::Write as _;

use plotters::prelude::*;

use super::escaped;

/// Pixels of a chart.
pub const SIZE: (u32, u32) = (960, 320);
/// Pixels below the drawing, for labels.
pub const BELOW: i32 = 24;
/// Pixels left of the drawing, for figures and the unit.
pub const LEFT: i32 = 76;
/// Size of figures and labels, in pixels.
pub const LETTERS: (&str, i32) = ("sans-serif", 15);
/// Axes and grid.
pub const LINES: RGBColor = RGBColor(0x80, 0x80, 0x80);

/// Colours that show on light and on dark pages.
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

/// The colour of a series.
pub fn colour(series: usize) -> RGBColor {
    COLOURS[series % COLOURS.len()]
}

/// Names and colours of series, as HTML.
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

/// A number with a prefix of the SI.
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
