//! A limit to the memory of a child process, page cache included: a memory control group.
//!
//! Where systemd runs, it is asked for a scope. Elsewhere a group is made by hand, which takes
//! root: in the hierarchy of version 2, or in that of version 1 where the memory controller is
//! there.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use crate::{Failure, Result, fail};

/// How a limit is imposed.
#[derive(Debug)]
enum Means {
    /// A scope of systemd; with `--user` if this user is not root.
    Scope { user: bool },
    /// A group, which the child joins.
    Group(PathBuf),
}

/// A limit for child processes. Its group is removed when it is dropped.
#[derive(Debug)]
pub struct Limit {
    bytes: u64,
    means: Means,
}

/// Where version 2, or the hierarchies of version 1, are mounted.
const ROOT: &str = "/sys/fs/cgroup";

impl Limit {
    /// A limit of this many bytes.
    ///
    /// # Errors
    /// The machine has no way to impose one; the message says what was tried and is missing.
    pub fn new(bytes: u64) -> Result<Self> {
        let by_systemd = scope(bytes);
        let Err(no_scope) = by_systemd else {
            return by_systemd;
        };
        let root = Path::new(ROOT);
        let by_group = group(root, bytes);
        let Err(no_group) = by_group else {
            return by_group;
        };
        first_version(root, bytes).or_else(|no_first| {
            fail(format!(
                "the memory of a process cannot be limited on this machine: no scope of systemd \
                 ({no_scope}), and no control group of version 2 ({no_group}) or of version 1 \
                 ({no_first}). Run it on a machine with systemd, or as root where {ROOT} has the \
                 memory controller"
            ))
        })
    }

    /// A command that runs `program` within the limit.
    pub fn command(&self, program: &OsStr) -> Command {
        let Means::Scope { user } = self.means else {
            return Command::new(program);
        };
        let mut command = in_scope(self.bytes, user);
        command.arg(program);
        command
    }

    /// The group that the child must [join](join) by itself.
    pub fn group(&self) -> Option<&Path> {
        match &self.means {
            Means::Scope { .. } => None,
            Means::Group(path) => Some(path),
        }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let Means::Group(path) = &self.means {
            // It fails if a child is still there; the group stays then, empty soon.
            let _ = fs::remove_dir(path);
        }
    }
}

/// Moves this process into a group.
///
/// # Errors
/// The system refuses.
pub fn join(group: &Path) -> Result<()> {
    let joined = fs::write(group.join("cgroup.procs"), "0");
    joined.map_err(|error| Failure(format!("cannot join {}: {error}", group.display())))
}

fn in_scope(bytes: u64, user: bool) -> Command {
    let mut command = Command::new("systemd-run");
    if user {
        command.arg("--user");
    }
    command.args(["--scope", "--quiet", "-p"]);
    command.arg(format!("MemoryMax={bytes}"));
    command.args(["-p", "MemorySwapMax=0", "--"]);
    command
}

fn scope(bytes: u64) -> Result<Limit> {
    if !Path::new("/run/systemd/system").is_dir() {
        return fail("systemd does not run");
    }
    for user in [false, true] {
        let mut command = in_scope(bytes, user);
        let tried = command.arg("true").stdin(Stdio::null()).output();
        if tried.is_ok_and(|output| output.status.success()) {
            let means = Means::Scope { user };
            return Ok(Limit { bytes, means });
        }
    }
    fail("systemd-run makes none for this user")
}

fn group(root: &Path, bytes: u64) -> Result<Limit> {
    let Ok(controllers) = fs::read_to_string(root.join("cgroup.controllers")) else {
        return fail(format!("{} is not of version 2", root.display()));
    };
    if !controllers.split_whitespace().any(|name| name == "memory") {
        return fail("the memory controller is not in it");
    }
    // It may be on already, or this user may not be allowed to turn it on.
    let _ = fs::write(root.join("cgroup.subtree_control"), "+memory");
    // There is no file for swap without swap.
    made(root, bytes, "memory.max", |path| {
        let _ = fs::write(path.join("memory.swap.max"), "0");
    })
}

/// A group in the hierarchy of version 1 that has the memory controller.
fn first_version(root: &Path, bytes: u64) -> Result<Limit> {
    let hierarchy = root.join("memory");
    if !hierarchy.join("memory.limit_in_bytes").is_file() {
        return fail(format!("{} is no such hierarchy", hierarchy.display()));
    }
    made(&hierarchy, bytes, "memory.limit_in_bytes", |path| {
        // The sum of memory and swap. There is no such file without accounting for swap, so the
        // group is also kept from swapping.
        let _ = fs::write(path.join("memory.memsw.limit_in_bytes"), bytes.to_string());
        let _ = fs::write(path.join("memory.swappiness"), "0");
    })
}

/// A new group below `parent`. `file` takes the limit, and `forbid_swap` is called then.
fn made(parent: &Path, bytes: u64, file: &str, forbid_swap: impl FnOnce(&Path)) -> Result<Limit> {
    let path = parent.join(format!("whitewater-compare-{}", process::id()));
    let named = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    fs::create_dir(&path).map_err(named)?;
    let limit = Limit {
        bytes,
        means: Means::Group(path.clone()),
    };
    fs::write(path.join(file), bytes.to_string()).map_err(named)?;
    forbid_swap(&path);
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a directory that looks like a hierarchy.
    #[test]
    fn a_group_needs_the_memory_controller() {
        let root = tempfile::tempdir().unwrap();
        let message = |result: Result<Limit>| result.err().map(|failure| failure.0).unwrap();
        assert!(message(group(root.path(), 1 << 20)).ends_with("is not of version 2"));
        fs::write(root.path().join("cgroup.controllers"), "cpu hugetlb\n").unwrap();
        let missing = message(group(root.path(), 1 << 20));
        assert_eq!(missing, "the memory controller is not in it");
        fs::write(root.path().join("cgroup.controllers"), "cpu memory\n").unwrap();
        let limit = group(root.path(), 1 << 20).unwrap_or_else(|e| panic!("{e}"));
        let path = limit.group().unwrap().to_owned();
        assert_eq!(
            fs::read_to_string(path.join("memory.max")).unwrap(),
            "1048576"
        );
        assert_eq!(limit.command(OsStr::new("x")).get_program(), "x");
        join(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(fs::read_to_string(path.join("cgroup.procs")).unwrap(), "0");
    }

    #[test]
    fn a_group_of_the_first_version_needs_the_hierarchy_of_the_memory_controller() {
        let root = tempfile::tempdir().unwrap();
        let missing = first_version(root.path(), 1 << 20).err().unwrap().0;
        assert!(
            missing.ends_with("memory is no such hierarchy"),
            "{missing}"
        );
        let hierarchy = root.path().join("memory");
        fs::create_dir(&hierarchy).unwrap();
        fs::write(hierarchy.join("memory.limit_in_bytes"), "").unwrap();
        let limit = first_version(root.path(), 1 << 20).unwrap_or_else(|e| panic!("{e}"));
        let path = limit.group().unwrap();
        assert_eq!(path.parent(), Some(&*hierarchy));
        for file in ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] {
            assert_eq!(fs::read_to_string(path.join(file)).unwrap(), "1048576");
        }
    }

    #[test]
    fn a_scope_runs_the_program_in_its_limit() {
        let limit = Limit {
            bytes: 600,
            means: Means::Scope { user: true },
        };
        let command = limit.command(OsStr::new("x"));
        assert_eq!(command.get_program(), "systemd-run");
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        let all = "--user --scope --quiet -p MemoryMax=600 -p MemorySwapMax=0 -- x";
        assert_eq!(arguments.join(" "), all);
        assert_eq!(limit.group(), None);
    }
}
