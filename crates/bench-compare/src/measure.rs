//! Memory, files and bytes of this process, as the system counts them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Resident memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// All of it, pages of mapped files included.
    pub resident: u64,
    /// What only this process has: heap and stacks.
    pub anonymous: u64,
    /// The most that was ever resident.
    pub peak: u64,
}

impl Memory {
    /// That of this process now; zeros where the system does not tell.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kib = |name| field(&text, name).unwrap_or(0) << 10;
        Memory {
            resident: kib("VmRSS"),
            anonymous: kib("RssAnon"),
            peak: kib("VmHWM"),
        }
    }
}

/// Bytes that went in and out, since the process began or between two times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes that calls of the system have read, from the page cache or not.
    pub read_by_calls: u64,
    /// Bytes that calls of the system have written. Writes through a mapping are not among them.
    pub written_by_calls: u64,
    /// Bytes that came from the disk. Always 0 on tmpfs.
    pub read_from_disk: u64,
    /// Bytes that pages were made dirty with, to go to the disk. Always 0 on tmpfs.
    pub written_to_disk: u64,
}

impl Traffic {
    /// That of this process until now; zeros where the system does not tell.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
        let bytes = |name| field(&text, name).unwrap_or(0);
        Traffic {
            read_by_calls: bytes("rchar"),
            written_by_calls: bytes("wchar"),
            read_from_disk: bytes("read_bytes"),
            written_to_disk: bytes("write_bytes"),
        }
    }

    /// What came since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Traffic {
            read_by_calls: self.read_by_calls - earlier.read_by_calls,
            written_by_calls: self.written_by_calls - earlier.written_by_calls,
            read_from_disk: self.read_from_disk - earlier.read_from_disk,
            written_to_disk: self.written_to_disk - earlier.written_to_disk,
        }
    }
}

/// The number after `name` and a colon.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(key, _)| *key == name)?;
    value.split_whitespace().next()?.parse().ok()
}

/// The space that the files of a directory take, in bytes, without holes. A file that is deleted
/// meanwhile does not count.
///
/// # Errors
/// A directory cannot be read.
pub fn file_bytes(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(data) if data.is_dir() => bytes += file_bytes(&entry.path())?,
            // Blocks are of 512 bytes, whatever the file system's are.
            Ok(data) => bytes += data.blocks() * 512,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_of_this_process() {
        let before = Traffic::now();
        let memory = Memory::now();
        assert!(memory.anonymous > 0 && memory.resident >= memory.anonymous);
        assert!(memory.peak >= memory.resident);
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("within")).unwrap();
        fs::write(directory.path().join("within/file"), vec![1; 100_000]).unwrap();
        let traffic = Traffic::now().since(before);
        assert!(traffic.written_by_calls >= 100_000);
        let bytes = file_bytes(directory.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_hole_takes_no_space() {
        let directory = tempfile::tempdir().unwrap();
        let file = fs::File::create(directory.path().join("hole")).unwrap();
        file.set_len(1 << 30).unwrap();
        assert!(file_bytes(directory.path()).unwrap() < 1 << 20);
    }
}
