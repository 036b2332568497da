//! Line charts as SVG.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{self, Area, BELOW, LEFT, LETTERS, LINES, colour, legend, short, step, tick};
use crate::bench::engine::Result;

/// The horizontal axis.
#[derive(Clone, Debug)]
pub enum Axis {
    /// Labels at equal distances; the first is at 0, the next at 1.
    Labels(Vec<String>),
    /// A scale of numbers.
    Numbers,
}

/// A line chart with one line for each series.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The text above the drawing.
    pub caption: String,
    /// What the lines count, for instance "ops/s".
    pub unit: &'static str,
    /// The name of the horizontal axis.
    pub across: String,
    /// The horizontal axis.
    pub axis: Axis,
    /// Whether the vertical axis is logarithmic.
    pub logarithmic: bool,
    /// The height of an additional horizontal line.
    pub mark: Option<f64>,
    /// The minimum height that the vertical axis reaches; ignored if it is logarithmic.
    pub reach: f64,
    /// The names of the series, with their points.
    pub series: Vec<(String, Vec<(f64, f64)>)>,
}

/// Additional pixels below the drawing, for the name of the axis.
const NAME: i32 = 20;
/// A series over numbers has its points marked if they are at most this many; the
/// marks of more would overlap.
const MARKED: usize = 2;

impl Lines {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        !self.points().any(|(_, y)| y > 0.0)
    }

    /// The points that can be drawn.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.series.iter().flat_map(|(_, points)| points);
        let least = if self.logarithmic {
            0.0
        } else {
            f64::NEG_INFINITY
        };
        all.copied()
            .filter(move |(x, y)| x.is_finite() && y.is_finite() && *y > least)
    }

    /// The names and colours of the series, as HTML.
    pub fn legend(&self) -> String {
        legend(self.series.iter().map(|(name, _)| name.as_str()))
    }

    /// The chart as SVG.
    ///
    /// # Errors
    /// Any error of the drawing library.
    pub fn svg(&self) -> Result<String> {
        style::svg(|area| self.draw(area))
    }

    /// The height of a value: its logarithm to base 10, or the value itself.
    fn height(&self, y: f64) -> f64 {
        if self.logarithmic { y.log10() } else { y }
    }

    fn width(&self) -> Range<f64> {
        match &self.axis {
            Axis::Labels(labels) => -0.35..labels.len() as f64 - 0.65,
            Axis::Numbers => {
                let end = self.points().map(|(x, _)| x).fold(0.0, f64::max);
                0.0..if end > 0.0 { end } else { 1.0 }
            }
        }
    }

    fn heights(&self) -> Range<f64> {
        let ys = || self.points().map(|(_, y)| y);
        let top = ys().fold(self.mark.unwrap_or(0.0), f64::max);
        if !self.logarithmic {
            return 0.0..(top * 1.08).max(self.reach);
        }
        let bottom = ys().fold(f64::INFINITY, f64::min).log10().floor();
        bottom..top.log10().ceil().max(bottom + 1.0)
    }

    // Long: one drawing, from its frame to its labels.
    fn draw(&self, root: &Area<'_>) -> std::result::Result<(), String> {
        let (width, heights) = (self.width(), self.heights());
        let floor = heights.start;
        let decades = (heights.end - heights.start) as usize + 1;
        let (across, up) = match self.axis {
            Axis::Labels(_) => (0, if self.logarithmic { decades } else { 6 }),
            Axis::Numbers => (10, if self.logarithmic { decades } else { 6 }),
        };
        let steps = (step(width.clone(), across), step(heights.clone(), up));
        let mut chart = ChartBuilder::on(root)
            .margin(8)
            .margin_right(24)
            .set_label_area_size(LabelAreaPosition::Left, LEFT)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW + NAME)
            .build_cartesian_2d(width.clone(), heights)
            .map_err(|error| error.to_string())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(across)
            .y_labels(up)
            .x_desc(self.across.as_str())
            .y_desc(self.unit)
            .x_label_formatter(&|x| tick(*x, steps.0))
            .y_label_formatter(&|y| {
                if self.logarithmic {
                    short(10_f64.powf(*y))
                } else {
                    tick(*y, steps.1)
                }
            })
            .axis_style(LINES)
            .bold_line_style(LINES.mix(0.4))
            .light_line_style(TRANSPARENT)
            .label_style(LETTERS)
            .axis_desc_style(LETTERS)
            .draw()
            .map_err(|error| error.to_string())?;
        if let Axis::Labels(labels) = &self.axis {
            let below = Pos::new(HPos::Center, VPos::Top);
            let style = LETTERS.into_text_style(root).pos(below);
            let texts = labels.iter().enumerate().map(|(at, label)| {
                EmptyElement::at((at as f64, floor))
                    + Text::new(label.clone(), (0, 6), style.clone())
            });
            chart
                .draw_series(texts)
                .map_err(|error| error.to_string())?;
        }
        if let Some(mark) = self.mark {
            let ends = [width.start, width.end].map(|x| (x, self.height(mark)));
            chart
                .draw_series(LineSeries::new(ends, LINES.stroke_width(1)))
                .map_err(|error| error.to_string())?;
        }
        for (at, (_, points)) in self.series.iter().enumerate() {
            let points: Vec<_> = points
                .iter()
                .filter(|(x, y)| x.is_finite() && y.is_finite())
                .filter(|(_, y)| !self.logarithmic || *y > 0.0)
                .map(|(x, y)| (*x, self.height(*y)))
                .collect();
            let style = colour(at).stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style))
                .map_err(|error| error.to_string())?;
            if matches!(self.axis, Axis::Labels(_)) || points.len() <= MARKED {
                let dots = points
                    .iter()
                    .map(|point| Circle::new(*point, 4, colour(at).filled()));
                chart.draw_series(dots).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}
