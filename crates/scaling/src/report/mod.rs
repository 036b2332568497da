//! The report: tables between the markers of `docs/scaling.md` and
//! `docs/scaling/tables.md`, and charts beside them. What is between the markers is
//! the program's, what is around them is written by hand.

mod charts;
mod tables;

use crate::calibrate::Failure;
use crate::plot::Chart;
use crate::predict::{self, MACHINES, THREADS};
use crate::reads;
use crate::sensitivity;
use crate::{propose, validate};
use std::path::Path;

/// The pages that have markers, in the folder of the documents.
const PAGES: [&str; 2] = ["scaling.md", "scaling/tables.md"];

/// A part of a page.
#[derive(Debug, Clone)]
pub struct Section {
    /// What its markers say.
    pub name: &'static str,
    /// Markdown.
    pub text: String,
}

/// All that a report consists of.
#[derive(Debug)]
pub struct Report {
    sections: Vec<Section>,
    charts: Vec<Chart>,
    csv: String,
}

impl Report {
    /// Runs everything.
    ///
    /// # Errors
    /// A data file is damaged.
    pub fn make() -> Result<Self, Failure> {
        let published = validate::against_published()?;
        let (about, own) = validate::against_own()?;
        let (counted, counters) = validate::against_counters()?;
        let predictions = predict::all(&THREADS)?;
        let mut varied = String::new();
        for (machine, threads, sync) in [
            (MACHINES[2], 64, false),
            (MACHINES[3], 128, false),
            (MACHINES[2], 64, true),
        ] {
            let (ranking, effects) = sensitivity::effects(machine, threads, sync)?;
            varied += &tables::sensitivity(machine, threads, sync, &ranking, &effects);
        }
        let mut charts = charts::own(&own);
        charts.extend(charts::predictions(&predictions));
        charts.push(charts::blame(&predictions));
        charts.push(charts::collapse()?);
        Ok(Report {
            sections: vec![
                tables::machines()?,
                tables::published(&published),
                tables::own(&about, &own),
                tables::counters(&counted, &counters),
                tables::predictions(&predictions, &THREADS),
                tables::end_of_scaling(&predictions),
                Section {
                    name: "sensitivity",
                    text: varied,
                },
                tables::proposals(&propose::proposals()?),
                tables::reads(&reads::all()?),
            ],
            charts,
            csv: predict::csv(&predictions),
        })
    }

    /// The published figures, and predictions for few threads: a look whether
    /// all works, in seconds.
    ///
    /// # Errors
    /// A data file is damaged.
    pub fn quick() -> Result<Self, Failure> {
        const FEW: [usize; 2] = [1, 16];
        let predictions = predict::all(&FEW)?;
        Ok(Report {
            sections: vec![
                tables::published(&validate::against_published()?),
                tables::predictions(&predictions, &FEW),
                tables::end_of_scaling(&predictions),
                tables::reads(&reads::all()?),
            ],
            charts: Vec::new(),
            csv: predict::csv(&predictions),
        })
    }

    /// All sections, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        let each = self.sections.iter();
        each.map(|section| format!("<!-- {} -->\n{}\n", section.name, section.text))
            .collect()
    }

    /// Puts the sections into `scaling.md` and `scaling/tables.md` of `docs`, each
    /// where its markers are, and charts and predictions into the folder `scaling`.
    ///
    /// # Errors
    /// The files cannot be read or written, or a marker is missing.
    pub fn write(&self, docs: &Path) -> Result<(), Failure> {
        let mut pages = Vec::new();
        for name in PAGES {
            let path = docs.join(name);
            let text =
                std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            pages.push((path, text));
        }
        for section in &self.sections {
            let place = |(_, text): &mut (_, String)| {
                let replaced = replace(text, section);
                replaced.map(|replaced| *text = replaced)
            };
            let placed = pages.iter_mut().find_map(place);
            placed.ok_or_else(|| format!("no page of {PAGES:?} has markers {}", section.name))?;
        }
        let folder = docs.join("scaling");
        std::fs::create_dir_all(&folder)?;
        for chart in &self.charts {
            chart.draw(&folder).map_err(|e| e.to_string())?;
        }
        std::fs::write(folder.join("predictions.csv"), &self.csv)?;
        for (path, text) in pages {
            std::fs::write(path, text)?;
        }
        Ok(())
    }
}

/// `text` with `section` between its markers.
fn replace(text: &str, section: &Section) -> Option<String> {
    let begin = format!("<!-- begin: {} -->\n", section.name);
    let end = format!("<!-- end: {} -->", section.name);
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{}{end}{after}", section.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_goes_between_its_markers_and_nowhere_else() {
        let section = Section {
            name: "a",
            text: "new\n".into(),
        };
        let text = "x\n<!-- begin: a -->\nold\n<!-- end: a -->\ny\n";
        let replaced = replace(text, &section).unwrap();
        assert_eq!(replaced, "x\n<!-- begin: a -->\nnew\n<!-- end: a -->\ny\n");
        assert_eq!(replace(&replaced, &section).unwrap(), replaced);
        assert_eq!(replace("no markers", &section), None);
    }
}
