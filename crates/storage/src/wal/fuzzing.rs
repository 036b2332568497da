//! The log format for fuzzers; see [`crate::fuzzing`].

use super::format::{BLOCK_SIZE, HEADER_SIZE, TYPE_OFFSET, header_size};
use crate::checksum::masked_crc32c;

/// Corrects the checksums of a log's physical records.
pub(crate) fn refit(log: &mut [u8]) {
    for mut rest in log.chunks_mut(BLOCK_SIZE) {
        while rest.len() >= HEADER_SIZE {
            let len = usize::from(u16::from_le_bytes([rest[4], rest[5]]));
            let kind = rest[TYPE_OFFSET];
            let Some((record, next)) = rest.split_at_mut_checked(header_size(kind) + len) else {
                break;
            };
            if kind == 0 && len == 0 {
                break; // room that was never written
            }
            let sum = masked_crc32c(&record[TYPE_OFFSET..]);
            record[..4].copy_from_slice(&sum.to_le_bytes());
            rest = next;
        }
    }
}
