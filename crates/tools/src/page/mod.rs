//! The page that the benchmarks write with `--html_file`: tables and charts in one
//! self-contained file, light or dark as the reader prefers.

use std::fmt::Write as _;
use std::path::Path;

use crate::bench::engine::{Failure, Result};

mod chart;
mod lines;
mod style;

pub use chart::Chart;
pub use lines::{Axis, Lines};

/// The contents of a page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The heading of the page.
    pub title: String,
    /// Facts about the run, as names and values.
    pub facts: Vec<(&'static str, String)>,
    /// The sections, one after the other.
    pub sections: Vec<Section>,
    /// The command lines that produced the page.
    pub commands: Vec<String>,
    /// How to read the page, in notes of a sentence or two.
    pub notes: Vec<String>,
}

/// A section: charts above a table.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading of the section.
    pub title: String,
    /// The text below the heading.
    pub about: String,
    /// The bar chart, if there is something to draw.
    pub chart: Option<Chart>,
    /// More charts, if there is something to draw.
    pub lines: Vec<Lines>,
    /// The titles of the table's columns; without any, there is no table.
    pub columns: Vec<String>,
    /// The rows of the table; the first field is a name, the others are figures.
    pub rows: Vec<Vec<String>>,
}

const STYLE: &str = "\
:root { color-scheme: light dark; --back: #ffffff; --text: #1c2128; --faint: #59636e; --line: #d1d9e0; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14181d; --text: #e6edf3; --faint: #9198a1; --line: #3d444d; }
}
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
dt, .about, footer { color: var(--faint); }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem; border-bottom: 1px solid var(--line); text-align: right; white-space: pre; }
th { white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back); }
svg { width: 100%; height: auto; }
figure { margin: 1rem 0; }
figcaption { font-weight: 600; }
pre { background: color-mix(in srgb, var(--text) 6%, transparent); padding: .6rem .8rem; font-size: 13px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
dd { overflow-wrap: anywhere; }
svg text { fill: var(--text); }
.legend span { margin-right: 1.2rem; white-space: nowrap; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
";

impl Page {
    /// The page as HTML.
    ///
    /// # Errors
    /// A chart cannot be drawn.
    pub fn html(&self) -> Result<String> {
        let title = escaped(&self.title);
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>\n"
        );
        for (name, value) in &self.facts {
            let _ = writeln!(
                html,
                "<dt>{}</dt><dd>{}</dd>",
                escaped(name),
                escaped(value)
            );
        }
        html += "</dl>\n";
        for section in &self.sections {
            section.append(&mut html)?;
        }
        if !self.commands.is_empty() {
            html += "<section>\n<h2>Command lines</h2>\n<pre class=\"wide\">";
            for command in &self.commands {
                let _ = writeln!(html, "{}", escaped(command));
            }
            html += "</pre>\n</section>\n";
        }
        html += "<footer>\n";
        for note in &self.notes {
            let _ = writeln!(html, "<p>{}</p>", escaped(note));
        }
        html += "</footer>\n</body>\n</html>\n";
        Ok(html)
    }
}

impl Section {
    fn append(&self, html: &mut String) -> Result<()> {
        let _ = writeln!(html, "<section>\n<h2>{}</h2>", escaped(&self.title));
        if !self.about.is_empty() {
            let _ = writeln!(html, "<p class=\"about\">{}</p>", escaped(&self.about));
        }
        if let Some(chart) = self.chart.as_ref().filter(|chart| !chart.is_empty()) {
            *html += &chart.legend();
            *html += &chart.svg()?;
        }
        for lines in self.lines.iter().filter(|lines| !lines.is_empty()) {
            let _ = writeln!(
                html,
                "<figure>\n<figcaption>{}</figcaption>",
                escaped(&lines.caption)
            );
            *html += &lines.legend();
            *html += &lines.svg()?;
            *html += "</figure>\n";
        }
        if !self.columns.is_empty() {
            *html += "<div class=\"wide\"><table>\n";
            append_row(html, "th", &self.columns);
            for row in &self.rows {
                append_row(html, "td", row);
            }
            *html += "</table></div>\n";
        }
        *html += "</section>\n";
        Ok(())
    }
}

fn append_row(html: &mut String, tag: &str, fields: &[String]) {
    *html += "<tr>";
    for field in fields {
        let mut text = escaped(field);
        if tag == "th" {
            // A heading may be broken after an equals sign.
            text = text.replace('=', "=<wbr>");
        }
        let _ = write!(html, "<{tag}>{text}</{tag}>");
    }
    *html += "</tr>\n";
}

/// Text with HTML's special characters escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Checks that the file that a flag names can be written; does nothing if the name
/// is empty. An existing file is not changed.
///
/// # Errors
/// The file that cannot be written, by name.
pub fn try_file(path: &str) -> Result<()> {
    if path.is_empty() {
        return Ok(());
    }
    let failure = |error: std::io::Error| Failure(format!("{path}: {error}"));
    let existed = Path::new(path).exists();
    let mut options = std::fs::OpenOptions::new();
    let file = options.append(true).create(true).open(path);
    file.map_err(failure)?;
    if existed {
        return Ok(());
    }
    std::fs::remove_file(path).map_err(failure)
}

/// Writes `text` to the file that a flag names; does nothing if the name is empty.
///
/// # Errors
/// The file that cannot be written, by name.
pub fn save(path: &str, text: impl FnOnce() -> Result<String>) -> Result<()> {
    if path.is_empty() {
        return Ok(());
    }
    std::fs::write(Path::new(path), text()?).map_err(|error| Failure(format!("{path}: {error}")))
}

#[cfg(test)]
mod tests;
