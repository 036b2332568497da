//! A file system of its own, in a file, that can lose its power: ext4, mounted
//! through a loop device. From one moment on nothing reaches the device, as if the
//! machine had gone; after the next mount, which replays ext4's own journal, there
//! is what was made durable, and whatever else had got there.
//!
//! Mounting takes the rights of root; the commands are those of e2fsprogs, mount and
//! xfsprogs, whose `xfs_io` shuts ext4 down, too.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of the device.
const SIZE: u64 = 512 << 20;

/// The device, its file system mounted but between a [cut](Device::cut) and the end
/// of [`Device::restore`]. It is unmounted when it is dropped.
#[derive(Debug)]
pub struct Device {
    image: PathBuf,
    mount: PathBuf,
}

impl Device {
    /// Makes one, its file and the directory it is mounted at in `dir`.
    ///
    /// # Errors
    /// A command that is not there, or fails: mostly for want of rights.
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

    /// Where its files are.
    pub fn path(&self) -> &Path {
        &self.mount
    }

    fn mount(&self) -> Result<(), String> {
        run(
            "mount",
            &["-o".as_ref(), "loop".as_ref(), &self.image, &self.mount],
        )
    }

    /// Cuts the power, while who uses the file system goes on, and fails.
    ///
    /// # Errors
    /// The command is not there, or fails.
    pub fn cut(&self) -> Result<(), String> {
        let shutdown = [
            "-x".as_ref(),
            "-c".as_ref(),
            "shutdown".as_ref(),
            self.path(),
        ];
        run("xfs_io", &shutdown)
    }

    /// Turns the power on again. Nobody uses the file system any more.
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
        // Nobody to tell; the file goes with its directory.
        let _ = run("umount", &[self.path()]);
    }
}

fn run(command: &str, arguments: &[&Path]) -> Result<(), String> {
    let done = Command::new(command).args(arguments).output();
    let done = done.map_err(|e| format!("{command}: {e}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{command}: {}, {}",
            done.status,
            String::from_utf8_lossy(&done.stderr).trim()
        )),
    }
}
