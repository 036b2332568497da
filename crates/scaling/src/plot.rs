//! Charts of curves as SVG.

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// A curve.
#[derive(Debug, Clone)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// The points: a number of threads, and the value for it.
    pub points: Vec<(usize, f64)>,
    /// Whether the points are drawn as dots, because they were measured.
    pub dots: bool,
    /// The index of the colour; a measured curve has the colour of its modelled curve.
    pub colour: usize,
}

/// A chart.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The name of the file, without its extension.
    pub file: String,
    /// The title above the chart.
    pub title: String,
    /// The unit of the vertical axis.
    pub unit: String,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// The curves.
    pub curves: Vec<Curve>,
}

const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 160, 180),
    RGBColor(127, 127, 127),
    RGBColor(140, 86, 75),
];

/// The width of a chart. The legend takes [`LEGEND`] of it, beside the plot, where it
/// does not cover anything.
const WIDTH: u32 = 1000;
/// The width of the legend.
const LEGEND: u32 = 190;

impl Chart {
    /// Draws the chart into a file in `directory`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn draw(&self, directory: &Path) -> Result<(), Box<dyn Error>> {
        let path = directory.join(format!("{}.svg", self.file));
        let root = SVGBackend::new(&path, (WIDTH, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let all = || self.curves.iter().flat_map(|curve| &curve.points);
        let most = all().map(|point| point.1).fold(0.0, f64::max);
        let least = all().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let last = all().map(|point| point.0).max().unwrap_or(1) as f64;
        let (plot, legend) = root.split_horizontally(WIDTH - LEGEND);
        let mut builder = ChartBuilder::on(&plot);
        builder
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(64);
        let x = (1.0..last.max(2.0)).log_scale().base(2.0);
        if self.logarithmic {
            let y = (least / 1.5..most * 1.5).log_scale();
            let mut chart = builder.build_cartesian_2d(x, y)?;
            self.fill(&mut chart)?;
        } else {
            let mut chart = builder.build_cartesian_2d(x, 0.0..most * 1.08)?;
            self.fill(&mut chart)?;
        }
        self.draw_legend(&legend)?;
        root.present()?;
        Ok(())
    }

    fn fill<'a, Y>(
        &self,
        chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<LogCoord<f64>, Y>>,
    ) -> Result<(), Box<dyn Error>>
    where
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .x_desc("threads")
            .y_desc(&self.unit)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| number(*y))
            .light_line_style(WHITE)
            .draw()?;
        for curve in &self.curves {
            let colour = COLOURS[curve.colour % COLOURS.len()];
            let points = curve.points.iter().map(|&(x, y)| (x as f64, y));
            if curve.dots {
                let dots = points.map(|point| Circle::new(point, 4, colour.filled()));
                chart.draw_series(dots)?;
            } else {
                let style = colour.stroke_width(2);
                chart.draw_series(LineSeries::new(points, style))?;
            }
        }
        Ok(())
    }

    fn draw_legend(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
        for (curve, y) in self.curves.iter().zip((50..).step_by(18)) {
            let colour = COLOURS[curve.colour % COLOURS.len()];
            if curve.dots {
                area.draw(&Circle::new((13, y), 4, colour.filled()))?;
            } else {
                let line = vec![(4, y), (22, y)];
                area.draw(&PathElement::new(line, colour.stroke_width(2)))?;
            }
            let name = Text::new(curve.name.clone(), (32, y - 6), ("sans-serif", 12));
            area.draw(&name)?;
        }
        Ok(())
    }
}

/// A number with three significant digits.
#[must_use]
pub fn number(value: f64) -> String {
    let (scaled, suffix) = match value {
        v if v >= 999_500.0 => (v / 1e6, " M"),
        v if v >= 9_995.0 => (v / 1e3, " k"),
        v => (v, ""),
    };
    match scaled {
        s if s >= 99.5 || (s == s.round() && s >= 10.0) => format!("{s:.0}{suffix}"),
        s if s >= 9.95 => format!("{s:.1}{suffix}"),
        s => format!("{s:.2}{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown: Vec<_> = [15_736_161.0, 440_000.0, 1_000_000.0, 78.6, 1.82, 12_345.0]
            .map(number)
            .into();
        assert_eq!(
            shown,
            ["15.7 M", "440 k", "1.00 M", "78.6", "1.82", "12.3 k"]
        );
    }

    #[test]
    fn a_chart_is_a_file_with_its_curves() {
        let directory = tempfile::tempdir().unwrap();
        let chart = |logarithmic| Chart {
            file: format!("chart-{logarithmic}"),
            title: "A title".into(),
            unit: "entries/s".into(),
            logarithmic,
            curves: vec![
                Curve {
                    name: "a model".into(),
                    points: vec![(1, 1e6), (64, 2e7)],
                    dots: false,
                    colour: 0,
                },
                Curve {
                    name: "what was measured".into(),
                    points: vec![(2, 1.5e6)],
                    dots: true,
                    colour: 0,
                },
            ],
        };
        for logarithmic in [true, false] {
            chart(logarithmic).draw(directory.path()).unwrap();
            let path = directory.path().join(format!("chart-{logarithmic}.svg"));
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.contains("A title") && text.contains("what was measured"));
            assert!(text.contains("<polyline") && text.contains("<circle"));
        }
    }
}
