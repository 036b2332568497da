//! Record types and header layout.
//!
//! A physical record is `u32 masked crc | u16 length | u8 type`, for
//! recyclable types `u32 log number`, then `length` bytes of payload. The
//! checksum covers everything after the length, so it also covers the log
//! number.

use crate::checksum::mask_crc;

/// Bytes per block; no physical record crosses a block's end.
pub(crate) const BLOCK_SIZE: usize = 32 * 1024;

/// Bytes before the payload of a plain record.
pub(crate) const HEADER_SIZE: usize = 7;

/// Bytes before the payload of a recyclable record.
pub(crate) const RECYCLABLE_HEADER_SIZE: usize = 11;

/// Offset of the first byte the checksum covers: the type.
pub(crate) const TYPE_OFFSET: usize = 6;

/// Record types as stored.
pub(crate) mod types {
    pub const FULL: u8 = 1;
    pub const FIRST: u8 = 2;
    pub const MIDDLE: u8 = 3;
    pub const LAST: u8 = 4;
    /// Added to the four above for the recyclable form.
    pub const RECYCLABLE: u8 = 4;
    pub const SET_COMPRESSION: u8 = 9;
    pub const TIMESTAMP_SIZES: u8 = 10;
    pub const RECYCLABLE_TIMESTAMP_SIZES: u8 = 11;
    pub const PREDECESSOR: u8 = 130;
    pub const RECYCLABLE_PREDECESSOR: u8 = 131;
    /// Types with this bit may be skipped by a reader that does not know them.
    pub const IGNORABLE_BIT: u8 = 0x80;
}

/// The only compression a log may name: zstd.
pub(crate) const ZSTD: u32 = 7;

/// The position of a fragment in its logical record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FragmentPosition {
    Full,
    First,
    Middle,
    Last,
}

/// The purpose of a physical record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is a part of a logical record.
    Data(FragmentPosition),
    /// It says how the logical records are compressed.
    SetCompression,
    /// It has the sizes of user-defined timestamps per column family.
    TimestampSizes,
    /// It describes the previous log.
    Predecessor,
    /// It is unknown, and may be skipped.
    Ignorable,
}

/// The purpose of records of type `t`; `None` for a type that makes the log unreadable.
pub(crate) fn purpose(t: u8) -> Option<Purpose> {
    Some(match t {
        types::FULL..=types::LAST => Purpose::Data(fragment_position(t)),
        5..=8 => Purpose::Data(fragment_position(t - types::RECYCLABLE)),
        types::SET_COMPRESSION => Purpose::SetCompression,
        types::TIMESTAMP_SIZES | types::RECYCLABLE_TIMESTAMP_SIZES => Purpose::TimestampSizes,
        types::PREDECESSOR | types::RECYCLABLE_PREDECESSOR => Purpose::Predecessor,
        t if t & types::IGNORABLE_BIT != 0 => Purpose::Ignorable,
        _ => return None,
    })
}

fn fragment_position(plain: u8) -> FragmentPosition {
    match plain {
        types::FULL => FragmentPosition::Full,
        types::FIRST => FragmentPosition::First,
        types::MIDDLE => FragmentPosition::Middle,
        _ => FragmentPosition::Last,
    }
}

/// Whether records of type `t` carry the log number.
pub(crate) fn is_recyclable(t: u8) -> bool {
    matches!(t, 5..=8) || (t >= 10 && t & 1 == 1)
}

/// Header bytes of records of type `t`.
pub(crate) fn header_size(t: u8) -> usize {
    if is_recyclable(t) {
        RECYCLABLE_HEADER_SIZE
    } else {
        HEADER_SIZE
    }
}

/// A decoded header, unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub crc: u32,
    pub length: usize,
    pub ty: u8,
}

impl Header {
    /// The header at the start of `src`, which holds at least its first
    /// [`HEADER_SIZE`] bytes.
    pub fn parse(src: &[u8]) -> Option<Header> {
        let h = src.first_chunk::<HEADER_SIZE>()?;
        Some(Header {
            crc: u32::from_le_bytes([h[0], h[1], h[2], h[3]]),
            length: usize::from(u16::from_le_bytes([h[4], h[5]])),
            ty: h[6],
        })
    }

    /// Header and payload bytes together.
    pub fn record_size(&self) -> usize {
        header_size(self.ty) + self.length
    }
}

/// The stored checksum of a record whose bytes from the type on are `covered`.
pub(crate) fn record_crc(covered: &[u8]) -> u32 {
    mask_crc(crc32c::crc32c(covered))
}
