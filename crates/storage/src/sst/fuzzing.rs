//! Fuzz targets below a whole table; see [`crate::fuzzing`].

use crate::fuzzing::{InMemory, reader_options};
use crate::key::{InternalComparator, TAG_SIZE};
use crate::sst::compress::decompress;
use crate::sst::filter::{Filter, FilterQuery};
use crate::sst::format::block::{Block, Cursor, EntryLayout};
use crate::sst::format::footer::{FOOTER_LEN, Footer};
use crate::sst::format::properties::TableProperties;
use crate::sst::options::read_options::BlockReadOptions;
use crate::sst::read::index_cursor::IndexCursor;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::Table;
use bytes::Bytes;
use std::sync::Arc;

/// Layouts by the first byte of an input of [`block`].
pub(crate) const LAYOUTS: [EntryLayout; 4] = [
    EntryLayout::Values,
    EntryLayout::Handles,
    EntryLayout::DeltaHandles { first_key: false },
    EntryLayout::DeltaHandles { first_key: true },
];

/// A footer; more bytes are taken for what stands before it.
pub fn footer(data: &[u8]) {
    if let Some(bytes) = data.last_chunk::<FOOTER_LEN>() {
        let offset = data.len() - FOOTER_LEN;
        let _ = Footer::decode(bytes, offset as u64);
    }
}

/// Lets the blocks of a table be read unchecked, if its footer has no checksum
/// of its own.
pub(crate) fn without_checksums(table: &mut [u8]) {
    let offset = table.len().saturating_sub(FOOTER_LEN) as u64;
    if let Some(bytes) = table.last_chunk_mut::<FOOTER_LEN>()
        && Footer::decode(bytes, offset).is_ok_and(|f| (1..6).contains(&f.format_version))
    {
        bytes[0] = 0;
    }
}

/// A block: the number of its layout, a byte for the shortest key, the block.
pub fn block(data: &[u8]) {
    let Some((&[layout, min_key], data)) = data.split_first_chunk::<2>() else {
        return;
    };
    let layout = LAYOUTS[usize::from(layout) % LAYOUTS.len()];
    let Ok(block) = Block::new(Bytes::copy_from_slice(data)) else {
        return;
    };
    let mut cursor = Cursor::new(layout, usize::from(min_key % 16));
    let (mut entries, mut offsets) = (Vec::new(), Vec::new());
    cursor.seek_to_first(&block);
    while cursor.valid() {
        entries.push((cursor.key(&block).to_vec(), cursor.value(&block).to_vec()));
        offsets.push(cursor.offset());
        assert!(entries.len() <= data.len(), "every entry takes bytes");
        cursor.next(&block);
    }
    let whole = cursor.failure().is_none();
    let mut steps = 0;
    cursor.seek_to_last(&block);
    let mut backward = Vec::new();
    while cursor.valid() {
        backward.push((cursor.key(&block).to_vec(), cursor.value(&block).to_vec()));
        steps += 1;
        assert!(steps <= data.len(), "every entry takes bytes");
        cursor.prev(&block);
    }
    let sorted = entries.is_sorted_by(|a, b| a.0 < b.0);
    // Restart points may lie anywhere; where they are those of a block in
    // order, all ways lead to its entries.
    let sane = whole && sorted && restarts_are_sane(&block, layout, &offsets);
    if sane && cursor.failure().is_none() {
        backward.reverse();
        assert_eq!(backward, entries);
    }
    for (key, _) in entries.iter().step_by(1 + entries.len() / 32) {
        cursor.seek(&block, |k| k.cmp(key));
        if sane {
            assert!(cursor.valid() && cursor.key(&block) == key);
        }
    }
    let order = InternalComparator::default();
    let internal = entries.iter().all(|(key, _)| key.len() >= TAG_SIZE)
        && entries.is_sorted_by(|a, b| order.compare(&a.0, &b.0).is_lt());
    for (key, _) in entries.iter().step_by(1 + entries.len() / 32) {
        if key.len() >= TAG_SIZE && layout == EntryLayout::Values {
            cursor.seek_bytewise(&block, 0..block.num_restarts(), key);
            if sane && internal {
                assert!(cursor.valid() && cursor.key(&block) == key);
            }
        }
    }
}

/// Whether the restart points of a block with entries at `offsets` are entries
/// with whole keys, in order, the first entry among them.
fn restarts_are_sane(block: &Block, layout: EntryLayout, offsets: &[usize]) -> bool {
    let mut rest = offsets.iter();
    let whole = block.restart_keys(layout).all(|key| key.is_some());
    whole
        && block.restarts().next() == offsets.first().copied()
        && block.restarts().all(|at| rest.any(|&offset| offset == at))
}

/// A properties block.
pub fn properties(data: &[u8]) {
    let Ok(block) = Block::new(Bytes::copy_from_slice(data)) else {
        return;
    };
    let Ok(properties) = TableProperties::decode(&block) else {
        return;
    };
    let again = Block::new(properties.encode().into()).expect("encoded");
    assert_eq!(TableProperties::decode(&again), Ok(properties));
}

/// A filter: one byte for the length of the key, the key, the filter.
pub fn filter(data: &[u8]) {
    let Some((&len, rest)) = data.split_first() else {
        return;
    };
    let Some((key, filter)) = rest.split_at_checked(usize::from(len)) else {
        return;
    };
    let filter = Filter::new(Bytes::copy_from_slice(filter));
    for key in [key, filter_key(key)] {
        filter.may_match(&FilterQuery::new(key));
    }
}

/// Another key of the same input.
fn filter_key(key: &[u8]) -> &[u8] {
    &key[key.len() / 2..]
}

/// A compressed block: its type and the payload.
pub fn compressed(data: &[u8]) {
    if let Some((&ty, payload)) = data.split_first()
        && ty != 0
    {
        let _ = decompress(ty, payload, None);
    }
}

/// Inputs that a table is made of: its footer and some of each kind of block.
pub(crate) fn table_seeds(data: &[u8]) -> Vec<crate::fuzzing::seeds::Seed> {
    let mut out = vec![(
        "footer",
        data[data.len().saturating_sub(FOOTER_LEN)..].to_vec(),
    )];
    let file = Arc::new(InMemory::new(data));
    let Ok(table) = Table::open(file, data.len() as u64, reader_options()) else {
        return out;
    };
    let readahead = &mut ReadAhead::default();
    for (name, &handle) in &table.metaindex {
        let Ok((raw, 0)) = table.file().read_raw(handle, true, readahead) else {
            continue;
        };
        let name = String::from_utf8_lossy(name);
        if name.contains("filter") && !name.contains("partitioned") {
            out.push(("filter", [&b"\x05key-1"[..], &raw].concat()));
        } else if name.contains("properties") {
            out.push(("properties", raw.to_vec()));
        }
    }
    let layout = LAYOUTS
        .iter()
        .position(|&l| l == table.index_format().layout);
    let of_block = |layout: usize, block: &[u8]| ("block", [&[layout as u8, 0], block].concat());
    out.push(of_block(layout.unwrap_or(0), table.index().data()));
    let mut index = IndexCursor::new(&table, BlockReadOptions::FROM_FILE, Vec::new());
    let mut some = index.seek_to_first(&table).is_ok();
    for _ in 0..2 {
        if !some || !index.valid() {
            break;
        }
        if let Ok((raw, ty)) = table.file().read_raw(index.handle(), true, readahead) {
            match ty {
                0 => out.push(of_block(0, &raw)),
                ty => out.push(("compressed", [&[ty], &raw[..]].concat())),
            }
        }
        some = index.next(&table).is_ok();
    }
    out
}
