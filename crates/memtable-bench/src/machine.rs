//! What a run was measured on, as far as the system says.

use std::fs;

/// The machine and how busy it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name of the processor.
    pub processor: String,
    /// Cores this process may use.
    pub cores: usize,
    /// Tasks that ran or waited to run, on average over 1, 5 and 15 minutes.
    pub load: String,
    /// Whether the system gives huge pages by itself.
    pub huge_pages: String,
}

/// For what the system does not say.
const UNKNOWN: &str = "unknown";

impl Machine {
    /// The machine now.
    pub fn now() -> Self {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = processors
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == "model name");
        let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        Machine {
            processor: name.map_or(UNKNOWN, |(_, name)| name.trim()).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            load: load(),
            huge_pages: huge
                .ok()
                .and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned()))
                .unwrap_or_else(|| UNKNOWN.to_owned()),
        }
    }

    /// All of it in one line.
    pub fn line(&self) -> String {
        format!(
            "{}, {} cores, load average {}, transparent huge pages: {}",
            self.processor, self.cores, self.load, self.huge_pages
        )
    }
}

/// The load averages now.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<_> = text.split_whitespace().take(3).collect();
    match load.is_empty() {
        true => UNKNOWN.to_owned(),
        false => load.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_everything() {
        let machine = Machine::now();
        assert!(machine.cores > 0);
        let line = machine.line();
        for part in [&machine.processor, &machine.load, &machine.huge_pages] {
            assert!(!part.is_empty() && line.contains(part.as_str()), "{line}");
        }
    }
}
