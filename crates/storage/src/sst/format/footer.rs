//! The footer: the last 53 bytes of a table. Its magic number says of which kind the table is.
//!
//! Format versions 2 to 7 of block-based tables are read and written. Up to version 5 the footer
//! has no checksum of its own. From version 6 on it has one. It then gives the metaindex by its
//! size (the block ends where the footer begins), and the metaindex has the handle of the index.
//!
//! Plain tables have format version 0, with a footer of the last 48 bytes, which lacks the type of
//! checksum and the version. Cuckoo tables have version 1. No block of these has a trailer.

use crate::checksum::{ChecksumType, checksum, context};
use crate::coding::get_fixed32;
use crate::error::{Error, Result};
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};

/// Length of the footers of format versions 1 and up.
pub(crate) const FOOTER_LEN: usize = 53;

/// Length of the footers of format version 0.
pub(crate) const FOOTER_LEN_0: usize = 48;

/// The versions of block-based tables that are read and written.
pub(crate) const VERSIONS: std::ops::RangeInclusive<u32> = 2..=7;

/// The first version in which footers have a checksum, checksums depend on the position of a block,
/// and the metaindex has the handle of the index.
pub(crate) const CONTEXT_VERSION: u32 = 6;

const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const LEGACY_MAGIC: u64 = 0xdb47_7524_8b80_fb57;
const PLAIN_MAGIC: u64 = 0x8242_2296_63bf_9564;
const LEGACY_PLAIN_MAGIC: u64 = 0x4f34_18eb_7a8f_13b8;
const CUCKOO_MAGIC: u64 = 0x9267_89d0_c5f1_7873;

/// The version of footers of cuckoo tables.
const CUCKOO_VERSION: u32 = 1;

/// First bytes of the middle part from version 6 on.
const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

/// Offset of the footer's own checksum, version 6 on.
const CHECKSUM_AT: usize = 5;

/// The kind of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TableKind {
    #[default]
    BlockBased,
    Plain,
    Cuckoo,
}

/// The content of a footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) kind: TableKind,
    pub(crate) format_version: u32,
    pub(crate) checksum: ChecksumType,
    pub(crate) metaindex: BlockHandle,
    /// Absent from version 6 on, where the metaindex has it.
    pub(crate) index: Option<BlockHandle>,
    /// Part of every block's checksum; 0 before version 6.
    pub(crate) base_context: u32,
}

impl Footer {
    /// Decodes the footer that starts at `offset` of its file.
    ///
    /// # Errors
    /// `Corruption` if the bytes are not the end of a table; `NotSupported` for versions that
    /// cannot be read.
    pub(crate) fn decode(bytes: &[u8; FOOTER_LEN], offset: u64) -> Result<Footer> {
        let magic = u64::from_le_bytes(*bytes.last_chunk().expect("53 bytes"));
        let (kind, versions) = match magic {
            MAGIC => (TableKind::BlockBased, VERSIONS),
            PLAIN_MAGIC => (TableKind::Plain, 1..=CONTEXT_VERSION - 1),
            LEGACY_PLAIN_MAGIC => return decode_version_0(bytes),
            CUCKOO_MAGIC => (TableKind::Cuckoo, 1..=CONTEXT_VERSION - 1),
            LEGACY_MAGIC => {
                return Err(Error::not_supported(
                    "block-based table of format version 0",
                ));
            }
            _ => {
                return Err(Error::corruption(format_args!(
                    "bad table magic number {magic:#018x}"
                )));
            }
        };
        let (part, mut tail) = bytes[1..].split_at(40);
        let version = get_fixed32(&mut tail).expect("12 bytes");
        if !versions.contains(&version) {
            return Err(Error::not_supported(format_args!(
                "table format version {version}"
            )));
        }
        let Some(ty) = ChecksumType::from_u8(bytes[0]) else {
            return Err(Error::corruption(format_args!(
                "unknown checksum type {}",
                bytes[0]
            )));
        };
        if version >= CONTEXT_VERSION {
            return decode_extended(bytes, offset, version, ty);
        }
        let (metaindex, index) = decode_handles(part)?;
        Ok(Footer {
            kind,
            format_version: version,
            checksum: ty,
            metaindex,
            index: Some(index),
            base_context: 0,
        })
    }

    /// The footer of a plain table.
    pub(crate) fn plain(metaindex: BlockHandle) -> [u8; FOOTER_LEN_0] {
        let mut out = Vec::with_capacity(FOOTER_LEN_0);
        metaindex.encode(&mut out);
        BlockHandle::default().encode(&mut out);
        out.resize(40, 0);
        out.extend_from_slice(&LEGACY_PLAIN_MAGIC.to_le_bytes());
        out.try_into().expect("48 bytes")
    }

    /// The footer of a cuckoo table.
    pub(crate) fn cuckoo(metaindex: BlockHandle) -> Footer {
        Footer {
            kind: TableKind::Cuckoo,
            format_version: CUCKOO_VERSION,
            checksum: ChecksumType::NoChecksum,
            metaindex,
            index: None,
            base_context: 0,
        }
    }

    /// The bytes of the footer at `offset` of its file. From version 6 on the metaindex must end
    /// there. Not for plain tables.
    pub(crate) fn encode(&self, offset: u64) -> [u8; FOOTER_LEN] {
        let mut out = Vec::with_capacity(FOOTER_LEN);
        out.push(self.checksum as u8);
        if self.format_version >= CONTEXT_VERSION {
            debug_assert_eq!(self.metaindex.end(), Some(offset));
            out.extend_from_slice(&EXTENDED_MAGIC);
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&self.base_context.to_le_bytes());
            out.extend_from_slice(&(self.metaindex.size as u32).to_le_bytes());
        } else {
            self.metaindex.encode(&mut out);
            self.index.unwrap_or_default().encode(&mut out);
        }
        out.resize(41, 0);
        out.extend_from_slice(&self.format_version.to_le_bytes());
        let magic = match self.kind {
            TableKind::BlockBased => MAGIC,
            TableKind::Plain => PLAIN_MAGIC,
            TableKind::Cuckoo => CUCKOO_MAGIC,
        };
        out.extend_from_slice(&magic.to_le_bytes());
        let mut out: [u8; FOOTER_LEN] = out.try_into().expect("53 bytes");
        if self.format_version >= CONTEXT_VERSION {
            let sum =
                checksum(self.checksum, &out).wrapping_add(context(self.base_context, offset));
            out[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        }
        out
    }
}

/// Decodes the footer of a plain table: handles and a magic number.
fn decode_version_0(bytes: &[u8; FOOTER_LEN]) -> Result<Footer> {
    let (metaindex, index) = decode_handles(&bytes[FOOTER_LEN - FOOTER_LEN_0..][..40])?;
    Ok(Footer {
        kind: TableKind::Plain,
        format_version: 0,
        checksum: ChecksumType::NoChecksum,
        metaindex,
        index: Some(index),
        base_context: 0,
    })
}

/// The handles of metaindex and index.
fn decode_handles(mut part: &[u8]) -> Result<(BlockHandle, BlockHandle)> {
    let mut next = || BlockHandle::decode(&mut part);
    match (next(), next()) {
        (Some(metaindex), Some(index)) => Ok((metaindex, index)),
        _ => Err(Error::corruption("bad block handle in table footer")),
    }
}

fn decode_extended(
    bytes: &[u8; FOOTER_LEN],
    offset: u64,
    version: u32,
    ty: ChecksumType,
) -> Result<Footer> {
    let mut part = &bytes[1..41];
    let mut take = || get_fixed32(&mut part).expect("40 bytes");
    let (extended, stored) = (take(), take());
    let (base_context, metaindex_size) = (take(), take());
    if extended.to_le_bytes() != EXTENDED_MAGIC || part[16..] != [0; 8] {
        return Err(Error::corruption("bad extended table footer"));
    }
    let mut zeroed = *bytes;
    zeroed[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
    let computed = checksum(ty, &zeroed).wrapping_add(context(base_context, offset));
    if ty != ChecksumType::NoChecksum && stored != computed {
        return Err(Error::corruption(format_args!(
            "table footer checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"
        )));
    }
    let size = u64::from(metaindex_size);
    let Some(start) = offset.checked_sub(size + TRAILER_LEN as u64) else {
        return Err(Error::corruption("metaindex larger than its table"));
    };
    Ok(Footer {
        kind: TableKind::BlockBased,
        format_version: version,
        checksum: ty,
        metaindex: BlockHandle {
            offset: start,
            size,
        },
        index: None,
        base_context,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn handle(offset: u64, size: u64) -> BlockHandle {
        BlockHandle { offset, size }
    }

    fn sample() -> [u8; FOOTER_LEN] {
        let footer = Footer {
            kind: TableKind::BlockBased,
            format_version: 5,
            checksum: ChecksumType::CRC32c,
            metaindex: handle(1 << 40, 300),
            index: Some(handle(77, 1 << 33)),
            base_context: 0,
        };
        footer.encode(1 << 41)
    }

    #[test]
    fn every_version_round_trips() {
        let at = (1 << 40) + 305;
        for format_version in VERSIONS {
            for checksum in (1..5).filter_map(ChecksumType::from_u8) {
                let extended = format_version >= CONTEXT_VERSION;
                let footer = Footer {
                    kind: TableKind::BlockBased,
                    format_version,
                    checksum,
                    metaindex: handle(1 << 40, 300),
                    index: (!extended).then_some(handle(77, 1 << 33)),
                    base_context: if extended { 0xdead_beef } else { 0 },
                };
                let mut bytes = footer.encode(at);
                assert_eq!(Footer::decode(&bytes, at), Ok(footer));
                if extended && checksum != ChecksumType::NoChecksum {
                    assert!(Footer::decode(&bytes, at + 1).is_err());
                    bytes[10] ^= 1;
                    assert!(Footer::decode(&bytes, at).is_err());
                }
            }
        }
    }

    #[test]
    fn foreign_and_future_tables_are_told_apart_from_damage() {
        let kind = |b: &[u8; FOOTER_LEN]| Footer::decode(b, 0).expect_err("bad").kind();
        let mut b = sample();
        b[45..].copy_from_slice(&CUCKOO_MAGIC.to_le_bytes());
        assert_eq!(
            Footer::decode(&b, 0).expect("a cuckoo table").kind,
            TableKind::Cuckoo
        );
        b[41] = 6;
        assert_eq!(kind(&b), ErrorKind::NotSupported);
        b[41] = 5;
        b[45..].copy_from_slice(&LEGACY_MAGIC.to_le_bytes());
        assert_eq!(kind(&b), ErrorKind::NotSupported);
        b[45] ^= 1;
        assert_eq!(kind(&b), ErrorKind::Corruption);
        let mut b = sample();
        b[41] = 8;
        assert_eq!(kind(&b), ErrorKind::NotSupported);
        b[41] = 6; // no extended magic inside
        assert_eq!(kind(&b), ErrorKind::Corruption);
    }
}
