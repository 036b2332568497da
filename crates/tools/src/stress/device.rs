//! A file system of its own, in a file, whose power can be cut: ext4 on a loop device. From
//! the cut on, nothing reaches the device, as if the machine had lost its power. The next
//! mount replays ext4's journal and shows what was durable, and possibly more.
//!
//! Mounting needs root. The commands come from e2fsprogs, mount and xfsprogs (its `xfs_io`
//! shuts down ext4, too).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The size of the device in bytes.
const SIZE: u64 = 512 << 20;

/// A device whose file system is mounted, except between [`Device::cut`] and the end of
/// [`Device::restore`]. Dropping it unmounts it.
#[derive(Debug)]
pub struct Device {
    image: PathBuf,
    mount: PathBuf,
}

impl Device {
    /// Creates a device. The image file and the mount point are in `dir`.
    ///
    /// # Errors
    /// A command is missing or fails, usually for lack of rights.
    pub fn create(dir: &Path) -> Result<Device, String> {
        let (image, mount) = (dir.join("device"), dir.join("mount"));
        let file = File::create(&image).and_then(|file| file.set_len(SIZE));
        file.map_err(|e| format!("{}: {e}", image.display()))?;
        fs::create_dir_all(&mount).map_err(|e| format!("{}: {e}", mount.display()))?;
        run("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), &image])?;
        let device = Device { image, mount };
        device.mount()?;
        Ok(device)
    }

    /// The directory that the file system is mounted at.
    pub fn path(&self) -> &Path {
        &self.mount
    }

    fn mount(&self) -> Result<(), String> {
        run(
            "mount",
            &["-o".as_ref(), "loop".as_ref(), &self.image, &self.mount],
        )
    }

    /// Cuts the power. Processes that use the file system continue and get errors.
    ///
    /// # Errors
    /// The command is missing or fails.
    pub fn cut(&self) -> Result<(), String> {
        let shutdown = [
            "-x".as_ref(),
            "-c".as_ref(),
            "shutdown".as_ref(),
            self.path(),
        ];
        run("xfs_io", &shutdown)
    }

    /// Restores the power. No process may use the file system at this time.
    ///
    /// # Errors
    /// A command fails.
    pub fn restore(&self) -> Result<(), String> {
        run("umount", &[self.path()])?;
        self.mount()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // There is nobody to report a failure to; the image goes away with its directory.
        let _ = run("umount", &[self.path()]);
    }
}

fn run(command: &str, arguments: &[&Path]) -> Result<(), String> {
    let done = Command::new(command).args(arguments).output();
    let done = done.map_err(|e| format!("{command}: {e}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{command}: {}, {}",
            done.status,
            String::from_utf8_lossy(&done.stderr).trim()
        ))
    }
}
