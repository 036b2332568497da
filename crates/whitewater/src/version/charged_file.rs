//! Table and blob files whose reads a rate limiter limits.

use crate::rate_limiter::Client;
use bytes::{Bytes, BytesMut};
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::fs::RandomAccessFile;
use whitewater_storage::sst::Charged;

/// A file that asks a rate limiter before it is read, if the calling thread's reads are charged
/// ([`Charged`]). Reads of more than comes with one refill are made in parts, one for
/// each refill.
#[derive(Debug)]
pub(super) struct ChargedFile {
    pub file: Arc<dyn RandomAccessFile>,
    pub limiter: Arc<Client>,
}

impl ChargedFile {
    /// `file`, or the same behind `limiter` if there is one.
    pub fn behind(
        limiter: Option<&Arc<Client>>,
        file: Arc<dyn RandomAccessFile>,
    ) -> Arc<dyn RandomAccessFile> {
        match limiter.cloned() {
            Some(limiter) => Arc::new(ChargedFile { file, limiter }),
            None => file,
        }
    }

    /// Waits until some of `len` bytes may be read. Returns how many: all of them if the read is
    /// not charged, or empty.
    fn granted(&self, len: usize) -> usize {
        match Charged::priority() {
            Some(priority) if len > 0 => {
                // Not more than `len`.
                self.limiter.request_read(len as u64, priority) as usize
            }
            _ => len,
        }
    }
}

impl RandomAccessFile for ChargedFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let granted = self.granted(len);
        if granted == len {
            return self.file.read_at(offset, len);
        }
        let mut whole = BytesMut::zeroed(len);
        let (first, rest) = whole.split_at_mut(granted);
        self.file.read_into(offset, first)?;
        self.read_into(offset + granted as u64, rest)?;
        Ok(whole.freeze())
    }
    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let mut done = 0;
        loop {
            let granted = self.granted(buf.len() - done);
            let part = &mut buf[done..done + granted];
            self.file.read_into(offset + done as u64, part)?;
            done += granted;
            if done == buf.len() {
                return Ok(());
            }
        }
    }
    fn len(&self) -> Result<u64> {
        self.file.len()
    }
    fn is_empty(&self) -> Result<bool> {
        self.file.is_empty()
    }
    fn prefetch(&self, offset: u64, len: usize) {
        self.file.prefetch(offset, len);
    }
    fn takes_hints(&self) -> bool {
        self.file.takes_hints()
    }
    fn has_page_cache(&self) -> bool {
        self.file.has_page_cache()
    }
    fn data_from(&self, offset: u64) -> u64 {
        self.file.data_from(offset)
    }
    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_limiter::{RateLimiter, RateLimiterMode};
    use std::sync::Mutex;
    use whitewater_storage::ErrorKind;
    use whitewater_storage::sst::IoPriority;

    /// A file of the numbers from 0 to 255, which records what is read.
    #[derive(Debug, Default)]
    struct Numbers(Mutex<Vec<(u64, usize)>>);

    impl RandomAccessFile for Numbers {
        fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
            self.0.lock().unwrap().push((offset, len));
            let all: Vec<u8> = (0..=255).collect();
            let from = offset as usize;
            let part = all.get(from..from + len);
            let part = part.ok_or_else(|| whitewater_storage::Error::corruption("short"))?;
            Ok(Bytes::copy_from_slice(part))
        }
        fn len(&self) -> Result<u64> {
            Ok(256)
        }
        fn path(&self) -> &Path {
            Path::new("/numbers")
        }
    }

    fn charged(mode: RateLimiterMode) -> (ChargedFile, Arc<Numbers>) {
        let numbers = Arc::new(Numbers::default());
        // 100 bytes each microsecond.
        let limiter = RateLimiter::new(100_000_000, 1, 10, false, mode);
        let limiter = Client::new(limiter, None);
        let file = numbers.clone();
        (ChargedFile { file, limiter }, numbers)
    }

    fn read(file: &ChargedFile, numbers: &Numbers, len: usize) -> Vec<(u64, usize)> {
        numbers.0.lock().unwrap().clear();
        let expected: Vec<u8> = (0..len).map(|n| n as u8 + 5).collect();
        assert_eq!(file.read_at(5, len).unwrap(), expected);
        let first = std::mem::take(&mut *numbers.0.lock().unwrap());
        let mut buf = vec![0; len];
        file.read_into(5, &mut buf).unwrap();
        assert_eq!(buf, expected);
        assert_eq!(std::mem::take(&mut *numbers.0.lock().unwrap()), first);
        first
    }

    #[test]
    fn a_charged_read_is_made_in_parts_of_one_refill() {
        let (file, numbers) = charged(RateLimiterMode::KReadsOnly);
        let _charged = Charged::at(IoPriority::Low);
        let parts = read(&file, &numbers, 250);
        assert_eq!(parts, [(5, 100), (105, 100), (205, 50)]);
        assert_eq!(read(&file, &numbers, 100), [(5, 100)]);
        assert_eq!(read(&file, &numbers, 0), [(5, 0)]);
        let e = file.read_at(200, 150).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
    }

    #[test]
    fn reads_that_are_free_or_not_limited_are_made_at_once() {
        let (file, numbers) = charged(RateLimiterMode::KAllIo);
        assert_eq!(read(&file, &numbers, 250), [(5, 250)]);
        let _charged = Charged::at(IoPriority::User);
        file.limiter.close();
        assert_eq!(read(&file, &numbers, 250), [(5, 250)]);
        let (file, numbers) = charged(RateLimiterMode::KWritesOnly);
        assert_eq!(read(&file, &numbers, 250), [(5, 250)]);
    }
}
