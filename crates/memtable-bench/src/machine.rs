//! The machine that a run is measured on, as far as the system describes it.

use std::fs;
use std::path::Path;

/// The machine, and how busy it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The name of the processor.
    pub processor: String,
    /// The number of cores that this process may use.
    pub cores: usize,
    /// The average number of tasks that ran or waited to run, over 1, 5 and 15 minutes.
    pub load: String,
    /// Whether the system provides huge pages on its own.
    pub huge_pages: String,
    /// The name and version of the system's kernel.
    pub kernel: String,
}

/// The text for what the system does not report.
const UNKNOWN: &str = "unknown";

impl Machine {
    /// The machine in its present state.
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
            kernel: kernel(),
        }
    }

    /// The description of the machine in one line.
    pub fn line(&self) -> String {
        format!(
            "{}, {} cores, {}, load average {}, transparent huge pages: {}",
            self.processor, self.cores, self.kernel, self.load, self.huge_pages
        )
    }
}

fn kernel() -> String {
    let read = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    match (read("ostype"), read("osrelease")) {
        (Ok(name), Ok(version)) => format!("{} {}", name.trim(), version.trim()),
        _ => UNKNOWN.to_owned(),
    }
}

/// The type of the file system that `path` is on, or would be on: `ext4`, `tmpfs`.
pub fn file_system(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|place| place.canonicalize().ok());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    there
        .and_then(|place| kind_at(&mounts, &place))
        .unwrap_or_else(|| UNKNOWN.to_owned())
}

/// The type of the mount that holds `place`: of the mount points above it the longest,
/// and of equal ones the last.
fn kind_at(mounts: &str, place: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        let kind = after.split(' ').next()?;
        place
            .starts_with(&point)
            .then(|| (point.len(), kind.to_owned()))
    });
    mounts
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind)
}

/// The current load averages.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<_> = text.split_whitespace().take(3).collect();
    if load.is_empty() {
        UNKNOWN.to_owned()
    } else {
        load.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_nearest_to_a_path_counts() {
        let mounts = "1 0 0:1 / / rw - overlay overlay rw\n\
                      2 1 0:2 / /tmp rw shared:7 - tmpfs tmpfs rw\n\
                      3 1 8:1 / /a\\040b rw - ext4 /dev/a rw\n";
        let kind = |place| kind_at(mounts, Path::new(place));
        assert_eq!(kind("/tmp/db").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/tmpdb").as_deref(), Some("overlay"));
        assert_eq!(kind("/a b/db").as_deref(), Some("ext4"));
        assert_eq!(kind_at("", Path::new("/tmp")), None);
        assert_ne!(file_system(Path::new("/")), "");
    }

    #[test]
    fn the_line_has_everything() {
        let machine = Machine::now();
        assert!(machine.cores > 0);
        let line = machine.line();
        for part in [
            &machine.processor,
            &machine.load,
            &machine.huge_pages,
            &machine.kernel,
        ] {
            assert!(!part.is_empty() && line.contains(part.as_str()), "{line}");
        }
    }
}
