//! The operating system's files, written by many threads at once.
//!
//! * I1: `allocated` is raised only after the space below it is allocated and, if the file is
//!   mapped, its windows are mapped; it is lowered before the file is cut. So no store goes beyond
//!   the end of the file, and none goes to a page that the file system has not allocated.
//! * I2: fdatasync calls take turns, and a failure is recorded before the next call starts. The
//!   system reports an error only once per open file, so one of two concurrent calls would miss it.
//!
//! Mappings and `write` calls use the same pages of the page cache, so the two can be mixed: a
//! window that could not be mapped is written by calls.
//!
//! Lock order: `growth`, then `syncing`.

#[cfg(target_os = "linux")]
use super::super::map::Mapping;
use super::super::shared::{FailedSync, SharedAccess, SharedFile, SharedOptions, check_range};
use super::{named, platform};
use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io;
#[cfg(target_os = "linux")]
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The zeros that one call writes: a page and no more. Linux caches the bytes of one call as one
/// large folio if it can. It then scans the whole folio at every later write of a few bytes, and
/// writes all of it back for a store into any of its pages.
static ZEROS: [u8; 4096] = [0; 4096];

/// How many bytes probing a mapping needs.
#[cfg(target_os = "linux")]
const PROBE: u64 = ZEROS.len() as u64;

/// The file systems (by `statfs` type) on which files are mapped. On these, allocated space still
/// belongs to the file when it is overwritten. Other file systems may copy on write (btrfs, ZFS,
/// bcachefs), share space with a copy of the file (XFS, OCFS2, NFS), hide a file system that does
/// (overlay, FUSE), or lose their server. There, a failure that a `write` call reports as an error
/// comes as a signal from a mapping.
#[cfg(target_os = "linux")]
const MAPPABLE: [u32; 2] = [
    0xef53,      // ext2, ext3, ext4
    0x0102_1994, // tmpfs
];

/// Returns the type of the file system that a file is on, if it is known.
#[cfg(target_os = "linux")]
type TypeOf = fn(&File) -> Option<u32>;

#[cfg(target_os = "linux")]
fn type_of(file: &File) -> Option<u32> {
    let fs = rustix::fs::fstatfs(file).ok()?;
    Some(fs.f_type as u32)
}

/// A file written at any position by many threads.
#[derive(Debug)]
pub(super) struct OsShared {
    file: File,
    path: PathBuf,
    #[cfg(target_os = "linux")]
    map: Option<Mapping>,
    #[cfg(target_os = "linux")]
    access: SharedAccess,
    /// How many bytes may be written to (I1). Written by `extend` and `truncate` under `growth`,
    /// read by every write. Publishes, to the writes, the windows and the space below it.
    allocated: AtomicU64,
    /// Whether extensions write zeros. Written by `initialize`, read by `extend` (relaxed).
    /// Publishes nothing.
    initialize: AtomicBool,
    growth: Mutex<Growth>,
    syncing: Mutex<()>,
    failed: FailedSync,
}

/// How far before an extension pages of a mapping stay memory of this process. Bytes. Logs are
/// extended when half of a step of up to 4 MiB is left, so only late writers are further behind.
const STAYS: u64 = 4 << 20;

/// How many bytes of pages leave the process' memory at once. For each call, the system interrupts
/// all cores that run a thread of the process: calls for 256 KiB took 4% of the time of 32 writers
/// on two cores.
const LEAVES: u64 = 2 << 20;

/// The progress of `extend`.
#[derive(Debug)]
struct Growth {
    /// Pages below this offset were warmed at some time.
    warmed: u64,
    /// Pages below this offset were left.
    left: u64,
}

impl OsShared {
    /// Opens `path`. If `from` is given, the file was renamed from there and keeps its content;
    /// otherwise it becomes empty.
    pub fn open(path: &Path, from: Option<&Path>, options: SharedOptions) -> Result<Self> {
        #[cfg(target_os = "linux")]
        {
            let mut shared = Self::open_unmapped(path, from, options)?;
            shared.choose_access(type_of)?;
            Ok(shared)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let shared = Self::open_unmapped(path, from, options)?;
            if options.access == SharedAccess::Mapped {
                return Err(shared.not_mappable(&io::ErrorKind::Unsupported.into()));
            }
            Ok(shared)
        }
    }

    fn open_unmapped(path: &Path, from: Option<&Path>, options: SharedOptions) -> Result<Self> {
        let mut open = OpenOptions::new();
        open.read(true).write(true);
        let file = match from {
            Some(_) => open.open(path),
            None => open.create(true).truncate(true).open(path),
        };
        let file = named("open a file for shared writing", path, file)?;
        let mut shared = OsShared {
            file,
            path: path.to_path_buf(),
            #[cfg(target_os = "linux")]
            map: None,
            #[cfg(target_os = "linux")]
            access: options.access,
            initialize: AtomicBool::new(options.initialize),
            allocated: AtomicU64::new(0),
            growth: Mutex::new(Growth { warmed: 0, left: 0 }),
            syncing: Mutex::new(()),
            failed: FailedSync::default(),
        };
        if from.is_some() {
            shared.adopt()?;
        }
        Ok(shared)
    }

    /// Fills any gaps in the file, and then counts its space as allocated. If that is not
    /// possible, `extend` will write all of it.
    fn adopt(&mut self) -> Result<()> {
        let meta = named("get the size of a file", &self.path, self.file.metadata())?;
        if meta.len() > 0 && self.reserve(0, meta.len())? {
            *self.allocated.get_mut() = meta.len();
        }
        Ok(())
    }

    /// Allocates space for a range; false if the file system cannot.
    fn reserve(&self, from: u64, to: u64) -> Result<bool> {
        let reserved = platform::allocate(&self.file, from, to);
        named("allocate space for a file", &self.path, reserved)
    }

    /// Writes zeros to a range that writers do not use yet.
    fn write_zeros(&self, mut from: u64, to: u64) -> Result<()> {
        while from < to {
            let now = (to - from).min(ZEROS.len() as u64);
            let result = platform::write_all_at(&self.file, &ZEROS[..now as usize], from);
            named("write zeros to a file", &self.path, result)?;
            from += now;
        }
        Ok(())
    }

    /// Maps the file if the options say so, and checks that the mapping works.
    #[cfg(target_os = "linux")]
    fn choose_access(&mut self, type_of: TypeOf) -> Result<()> {
        if self.access == SharedAccess::Positioned {
            return Ok(());
        }
        let of = type_of(&self.file);
        let mapped = if of.is_some_and(|of| MAPPABLE.contains(&of)) {
            self.probe()
        } else {
            Err(io::Error::other(format!(
                "on a file system of type {:#x}, a full disk would end the process",
                of.unwrap_or(0)
            )))
        };
        match mapped {
            Ok(map) => self.map = Some(map),
            Err(e) if self.access == SharedAccess::Mapped => {
                return Err(self.not_mappable(&e));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn not_mappable(&self, e: &io::Error) -> Error {
        Error::not_supported(format_args!("mapping a file for shared writing: {e}"))
            .in_file(&self.path, None)
    }

    /// Maps the first window and stores a word through it. The word keeps its value, because the
    /// file must be readable as a log whenever the process dies.
    #[cfg(target_os = "linux")]
    fn probe(&self) -> io::Result<Mapping> {
        let len = self.file.metadata()?.len();
        if len < PROBE {
            // Allocates space or fails, so that the store cannot meet a full disk.
            let missing = (PROBE - len) as usize;
            self.file.write_all_at(&ZEROS[..missing], len)?;
        }
        let map = Mapping::new();
        map.cover(&self.file, 0, PROBE)?;
        let mut there = [0; size_of::<usize>()];
        self.file.read_exact_at(&mut there, 0)?;
        let same = map.rewrite_word(0) == Some(there);
        if len < PROBE {
            self.file.set_len(len)?;
        }
        if !same {
            return Err(io::Error::other("the mapping shows other bytes"));
        }
        Ok(map)
    }

    #[cfg(target_os = "linux")]
    fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    #[cfg(not(target_os = "linux"))]
    fn is_mapped(&self) -> bool {
        false
    }

    /// Maps the windows of allocated space.
    #[cfg(target_os = "linux")]
    fn cover(&self, from: u64, to: u64) -> Result<()> {
        match &self.map {
            None => Ok(()),
            Some(map) => match map.cover(&self.file, from, to) {
                Err(e) if self.access == SharedAccess::Mapped => {
                    named("map a file", &self.path, Err(e))
                }
                // A window that is missing is written by `pwrite` calls.
                _ => Ok(()),
            },
        }
    }

    #[cfg(target_os = "linux")]
    fn warm(&self, from: u64, to: u64) -> Result<()> {
        match &self.map {
            Some(map) => named("fault in a mapped file", &self.path, map.warm(from, to)),
            None => Ok(()),
        }
    }

    /// Takes the mapped pages below `to` out of the process' memory: they were written.
    #[cfg(target_os = "linux")]
    fn leave(&self, growth: &mut Growth, to: u64) {
        if let Some(map) = &self.map
            && growth.left < to
        {
            map.leave(growth.left, to);
            growth.left = to;
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn leave(&self, _growth: &mut Growth, _to: u64) {}

    #[cfg(not(target_os = "linux"))]
    fn cover(&self, _from: u64, _to: u64) -> Result<()> {
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn warm(&self, _from: u64, _to: u64) -> Result<()> {
        Ok(())
    }
}

impl SharedFile for OsShared {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.failed.check()?;
        // Acquire: pairs with the stores in `extend`, for the windows.
        let allocated = self.allocated.load(Ordering::Acquire);
        check_range(offset, data.len(), allocated, &self.path)?;
        #[cfg(target_os = "linux")]
        if let Some(map) = &self.map
            && map.store(offset, data)
        {
            return Ok(());
        }
        let result = platform::write_all_at(&self.file, data, offset);
        named("write to a file", &self.path, result)
    }

    fn extend(&self, len: u64) -> Result<()> {
        let mut growth = self.growth.lock();
        self.failed.check()?;
        let initialize = self.initialize.load(Ordering::Relaxed);
        let old = self.allocated.load(Ordering::Relaxed); // only we write it
        if len > old {
            let reserved = self.reserve(old, len)?;
            if !reserved || (initialize && !self.is_mapped()) {
                self.write_zeros(old, len)?;
            }
        }
        let warm_to = len.max(growth.warmed);
        self.cover(growth.warmed, warm_to)?;
        // Warming makes pages dirty. If each write is synced, a page fault costs less than
        // writing back existing pages.
        let cool = if initialize { old } else { 0 };
        self.warm(growth.warmed.max(cool), warm_to)?;
        let written = growth.warmed.saturating_sub(STAYS) / LEAVES * LEAVES;
        self.leave(&mut growth, written);
        growth.warmed = warm_to;
        if len > old {
            if initialize {
                // Warm pages are dirty: this writes their zeros.
                self.sync()?;
            }
            // Release: pairs with the load in `write_at`.
            self.allocated.store(len, Ordering::Release);
        }
        Ok(())
    }

    fn prepares_memory(&self) -> bool {
        self.is_mapped()
    }

    fn initialize(&self, on: bool) {
        self.initialize.store(on, Ordering::Relaxed);
    }

    fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    fn memory_usage(&self) -> u64 {
        let growth = self.growth.lock();
        match self.is_mapped() {
            true => growth.warmed.saturating_sub(growth.left),
            false => 0,
        }
    }

    fn sync(&self) -> Result<()> {
        let _one_at_a_time = self.syncing.lock(); // upholds I2
        self.failed.check()?;
        let result = named("fdatasync", &self.path, self.file.sync_data());
        self.failed.remember(result)
    }

    /// Uses the call that drops cached pages. Before Linux looks for clean pages in the range, it
    /// starts to write back the dirty ones, without waiting. Mapped pages stay.
    fn start_writeback(&self, from: u64, to: u64) {
        platform::start_writeback(&self.file, from, to);
    }

    fn truncate(&self, len: u64) -> Result<()> {
        let mut growth = self.growth.lock();
        self.failed.check()?;
        let old = self.allocated.load(Ordering::Relaxed); // only we write it
        if len < old {
            // Relaxed needs no partner: no write is under way in that range.
            self.allocated.store(len, Ordering::Relaxed); // upholds I1
        }
        growth.warmed = growth.warmed.min(len);
        self.leave(&mut growth, len);
        let cut = || -> io::Result<()> {
            if len < self.file.metadata()?.len() {
                self.file.set_len(len)?;
            }
            Ok(())
        };
        named("truncate a file", &self.path, cut())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const TMPFS: TypeOf = |_| Some(0x0102_1994);

    /// btrfs, XFS, ZFS, bcachefs, overlay, FUSE, NFS, and one that does not tell.
    const SHARING: [TypeOf; 8] = [
        |_| Some(0x9123_683e),
        |_| Some(0x5846_5342),
        |_| Some(0x2fc1_2fc1),
        |_| Some(0xca45_1a4e),
        |_| Some(0x794c_7630),
        |_| Some(0x6573_5546),
        |_| Some(0x6969),
        |_| None,
    ];

    fn open_on(path: &Path, type_of: TypeOf, access: SharedAccess) -> Result<OsShared> {
        let mut file = OsShared::open_unmapped(path, None, access.into())?;
        file.choose_access(type_of)?;
        Ok(file)
    }

    #[test]
    fn no_file_is_mapped_whose_space_a_copy_could_take_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("000001.log");
        assert!(
            open_on(&path, TMPFS, SharedAccess::Auto)
                .unwrap()
                .is_mapped()
        );
        for type_of in SHARING {
            let file = open_on(&path, type_of, SharedAccess::Auto).unwrap();
            assert!(!file.is_mapped());
            file.extend(8192).unwrap();
            file.write_at(5000, b"by a call").unwrap();
            let mut there = [0; 9];
            file.file.read_exact_at(&mut there, 5000).unwrap();
            assert_eq!(&there, b"by a call");
            let e = open_on(&path, type_of, SharedAccess::Mapped).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            assert_eq!(e.file(), Some(&*path));
            assert!(e.to_string().contains("file system of type"), "{e}");
        }
    }
}
