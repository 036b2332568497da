//! Framing: turns logical records into physical ones.
//!
//! Only this file writes headers, for the writer that appends and for the one that writes records
//! to reserved ranges.

use super::format::{HEADER_SIZE, RECYCLABLE_HEADER_SIZE, TYPE_OFFSET, ZSTD, record_crc, types};

/// What the physical records of a log have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framing {
    pub log_number: u64,
    pub recyclable: bool,
}

impl Framing {
    /// Bytes before each payload.
    #[inline]
    pub fn header_size(self) -> usize {
        header_size(self.recyclable)
    }

    /// Appends a logical record that is one physical record to `dst`: `parts`, which are `length`
    /// bytes.
    #[inline]
    pub fn put_full(self, dst: &mut Vec<u8>, parts: &[&[u8]], length: usize) {
        let start = self.put_header(dst, types::FULL, length);
        for part in parts {
            dst.extend_from_slice(part);
        }
        put_crc(dst, start);
    }

    /// Appends one physical record to `dst`. Its payload is the next `length` bytes of `source`;
    /// `begin` and `end` say whether it is the first and the last of its logical record.
    pub fn put_fragment(
        self,
        dst: &mut Vec<u8>,
        source: &mut Parts<'_>,
        length: usize,
        begin: bool,
        end: bool,
    ) {
        let ty = match (begin, end) {
            (true, true) => types::FULL,
            (true, false) => types::FIRST,
            (false, false) => types::MIDDLE,
            (false, true) => types::LAST,
        };
        let start = self.put_header(dst, ty, length);
        source.take(length, dst);
        put_crc(dst, start);
    }

    /// Appends the header of a physical record with `length` bytes of payload, but for its
    /// checksum. Returns where it starts.
    #[inline]
    fn put_header(self, dst: &mut Vec<u8>, mut ty: u8, length: usize) -> usize {
        if self.recyclable {
            ty += types::RECYCLABLE;
        }
        let start = dst.len();
        let stored_length = u16::try_from(length).expect("a fragment is shorter than a block");
        let [low, high] = stored_length.to_le_bytes();
        dst.extend_from_slice(&[0, 0, 0, 0, low, high, ty]);
        if self.recyclable {
            let low32 = self.log_number as u32;
            dst.extend_from_slice(&low32.to_le_bytes());
        }
        start
    }
}

/// Sets the checksum of the physical record that starts at `start` and ends with `dst`.
#[inline]
fn put_crc(dst: &mut [u8], start: usize) {
    let record = &mut dst[start..];
    let crc = record_crc(&record[TYPE_OFFSET..]);
    record[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Appends the record that says that all records after it are compressed. Its header is a plain one
/// in every kind of log.
pub(super) fn put_compression_note(dst: &mut Vec<u8>) {
    let payload = ZSTD.to_le_bytes();
    let mut covered = vec![types::SET_COMPRESSION];
    covered.extend_from_slice(&payload);
    dst.extend_from_slice(&record_crc(&covered).to_le_bytes());
    dst.extend_from_slice(&(payload.len() as u16).to_le_bytes());
    dst.extend_from_slice(&covered);
}

/// Bytes before each payload of a log of that kind.
#[inline]
pub(super) const fn header_size(recyclable: bool) -> usize {
    if recyclable {
        RECYCLABLE_HEADER_SIZE
    } else {
        HEADER_SIZE
    }
}

/// Reads several slices as if they were one.
pub(super) struct Parts<'a> {
    parts: &'a [&'a [u8]],
    /// How many bytes of the first part were taken.
    taken: usize,
}

impl<'a> Parts<'a> {
    /// Reads `parts` from the beginning.
    pub fn new(parts: &'a [&'a [u8]]) -> Self {
        Parts { parts, taken: 0 }
    }

    /// Moves the next `n` bytes, which exist, to the end of `dst`.
    pub fn take(&mut self, mut n: usize, dst: &mut Vec<u8>) {
        while n > 0
            && let Some((first, others)) = self.parts.split_first()
        {
            let rest = &first[self.taken..];
            let now = rest.len().min(n);
            dst.extend_from_slice(&rest[..now]);
            n -= now;
            self.taken += now;
            if self.taken == first.len() {
                self.parts = others;
                self.taken = 0;
            }
        }
    }
}
