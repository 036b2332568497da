//! Grouped bar charts as SVG.

use plotters::prelude::*;

use super::style::{self, Area, BELOW, LEFT, LETTERS, LINES, SIZE, colour, legend, step, tick};
use crate::bench::engine::Result;

/// The approximate width of a letter of a label, in pixels.
const LETTER: f64 = 7.5;

/// A grouped bar chart: one group for each label, with one bar for each series.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What the bars count, for instance "ops/s".
    pub unit: &'static str,
    /// The labels of the groups.
    pub groups: Vec<String>,
    /// The names of the series, with a value for each group that has one.
    pub series: Vec<(String, Vec<Option<f64>>)>,
}

impl Chart {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        !self.values().any(|value| value > 0.0)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let all = self.series.iter().flat_map(|(_, values)| values);
        all.filter_map(|value| *value)
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

    fn draw(&self, root: &Area<'_>) -> std::result::Result<(), String> {
        let top = self.values().fold(0.0, f64::max) * 1.08;
        let width = self.groups.len() as f64;
        let step = step(0.0..top, 6);
        // Labels that would overlap alternate between two lines.
        let longest = self.groups.iter().map(|group| group.chars().count()).max();
        let room = f64::from(SIZE.0 as i32 - LEFT) / width.max(1.0);
        let crowded = longest.unwrap_or(0) as f64 * LETTER > room;
        let second_line = if crowded { LETTERS.1 + 2 } else { 0 };
        let mut chart = ChartBuilder::on(root)
            .margin(8)
            .set_label_area_size(LabelAreaPosition::Left, LEFT)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW + second_line)
            .build_cartesian_2d(0.0..width, 0.0..top)
            .map_err(|error| error.to_string())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_labels(6)
            .y_desc(self.unit)
            .y_label_formatter(&|value| tick(*value, step))
            .axis_style(LINES)
            .bold_line_style(LINES.mix(0.4))
            .light_line_style(TRANSPARENT)
            .label_style(LETTERS)
            .axis_desc_style(LETTERS)
            .draw()
            .map_err(|error| error.to_string())?;
        let labels = self.groups.iter().enumerate().map(|(at, label)| {
            let centre = plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Center,
                plotters::style::text_anchor::VPos::Top,
            );
            let style = LETTERS.into_text_style(root).pos(centre);
            let down = 6 + second_line * (at as i32 % 2);
            EmptyElement::at((at as f64 + 0.5, 0.0)) + Text::new(label.clone(), (0, down), style)
        });
        chart
            .draw_series(labels)
            .map_err(|error| error.to_string())?;
        chart
            .draw_series(self.bars())
            .map_err(|error| error.to_string())?;
        Ok(())
    }

    fn bars(&self) -> impl Iterator<Item = Rectangle<(f64, f64)>> {
        let each = 0.84 / self.series.len().max(1) as f64;
        self.series
            .iter()
            .enumerate()
            .flat_map(move |(series, (_, values))| {
                values.iter().enumerate().filter_map(move |(group, value)| {
                    let left = group as f64 + 0.08 + each * series as f64;
                    let corners = [(left, 0.0), (left + each * 0.9, (*value)?)];
                    Some(Rectangle::new(corners, colour(series).filled()))
                })
            })
    }
}
