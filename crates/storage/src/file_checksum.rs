//! Checksums of whole files. The manifest may have one for each table.
//!
//! Blocks have their own checksums. The checksum of a file also covers bytes between blocks, and
//! reveals that a whole file was exchanged for another. The manifest has the name of the checksum
//! function. RocksDB comes with one function, which is implemented here.

use crate::error::{Error, Result};
use crate::fs::Fs;
use crate::manifest::FileMetaData;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// The name of RocksDB's `FileChecksumGenCrc32cFactory` in manifests.
pub const CRC32C: &[u8] = b"FileChecksumCrc32c";

/// How many bytes are read at a time.
const CHUNK: usize = 256 << 10;

/// The CRC-32C of a growing file.
#[derive(Debug, Default)]
pub struct Digest {
    /// Written by: the thread that writes the file. Read by: the same thread at the end (relaxed).
    /// Publishes nothing.
    sum: AtomicU32,
}

impl Digest {
    /// Adds the next bytes of the file.
    pub fn add(&self, data: &[u8]) {
        let sum = crc32c::crc32c_append(self.sum.load(Ordering::Relaxed), data);
        self.sum.store(sum, Ordering::Relaxed);
    }

    /// The checksum so far, not masked.
    pub fn crc(&self) -> u32 {
        self.sum.load(Ordering::Relaxed)
    }

    /// The checksum so far in the manifest's form: big-endian, not masked.
    pub fn sum(&self) -> Vec<u8> {
        self.crc().to_be_bytes().to_vec()
    }
}

/// The CRC-32C of a file.
///
/// # Errors
/// Errors of reading the file.
pub fn of(fs: &dyn Fs, path: &Path) -> Result<Vec<u8>> {
    let mut file = fs.open_sequential(path)?;
    let mut chunk = vec![0; CHUNK];
    let digest = Digest::default();
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(digest.sum()),
            n => digest.add(&chunk[..n]),
        }
    }
}

/// The CRC-32C of a file, not masked, if the manifest has it.
pub fn crc_of(meta: &FileMetaData) -> Option<u32> {
    let sum = meta.file_checksum.as_slice().try_into().ok()?;
    (meta.file_checksum_func_name == CRC32C).then(|| u32::from_be_bytes(sum))
}

/// Compares the file at `path` with its checksum in the manifest. `false` if the manifest has no
/// checksum, or one of an unknown function.
///
/// # Errors
/// `Corruption` naming the file, if the checksum differs; errors of reading the file.
pub fn check(fs: &dyn Fs, path: &Path, meta: &FileMetaData) -> Result<bool> {
    if meta.file_checksum_func_name != CRC32C {
        return Ok(false);
    }
    let found = of(fs, path)?;
    if found != meta.file_checksum {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let what = format!(
            "the file's checksum is {}, the manifest says {}",
            hex(&found),
            hex(&meta.file_checksum)
        );
        return Err(Error::corruption(what).in_file(path, None));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::fs::mem::MemFs;

    #[test]
    fn checksums_are_rocksdbs() {
        let (fs, path) = (MemFs::new(), Path::new("/000007.sst"));
        fs.create(path).unwrap().append(b"123456789").unwrap();
        // The check value of CRC-32C.
        let sum = 0xe306_9283_u32.to_be_bytes();
        assert_eq!(of(&fs, path).unwrap(), sum);
        let digest = Digest::default();
        digest.add(b"1234");
        digest.add(b"56789");
        assert_eq!(digest.sum(), sum);

        let mut meta = FileMetaData::default();
        assert!(!check(&fs, path, &meta).unwrap());
        meta.file_checksum_func_name = b"SomebodysOwn".to_vec();
        assert!(!check(&fs, path, &meta).unwrap());
        meta.file_checksum_func_name = CRC32C.to_vec();
        meta.file_checksum = sum.to_vec();
        assert!(check(&fs, path, &meta).unwrap());
        meta.file_checksum[3] ^= 1;
        let e = check(&fs, path, &meta).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert_eq!(e.file(), Some(path));
        assert!(e.to_string().contains("e3069283"), "{e}");
    }
}
