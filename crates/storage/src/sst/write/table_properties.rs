//! The properties of a finished table, in their stored form.

use crate::sst::compress::CompressionType;
use crate::sst::format::footer::CONTEXT_VERSION;
use crate::sst::format::hash64::hash64;
use crate::sst::format::properties::{TableProperties, name};
use crate::sst::options::index_type::IndexType;
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::write::block_sink::BlockSink;
use crate::sst::write::index_builder::{IndexBuilder, WrittenIndex};
use std::fmt::Write;

/// The first format version whose compression property names a compression manager and the
/// compressions that were used.
const MANAGER_VERSION: u32 = 7;

/// The version of external tables that may have a global sequence number.
const EXTERNAL_VERSION: u32 = 2;

/// Sets the properties that do not depend on the index.
pub(crate) fn set_properties(p: &mut TableProperties, o: &TableBuilderOptions, sink: &BlockSink) {
    let table = &o.table;
    for (name, value) in [
        (name::NUM_ENTRIES, p.num_entries),
        (name::DELETED_KEYS, p.num_deletions),
        (name::MERGE_OPERANDS, p.num_merge_operands),
        (name::NUM_RANGE_DELETIONS, p.num_range_deletions),
        (name::RAW_KEY_SIZE, p.raw_key_size),
        (name::RAW_VALUE_SIZE, p.raw_value_size),
        (name::DATA_SIZE, p.data_size),
        (name::FILTER_SIZE, p.filter_size),
        (name::NUM_DATA_BLOCKS, p.num_data_blocks),
        (name::TAIL_START, p.data_size),
        (name::FORMAT_VERSION, u64::from(table.format_version)),
        (
            name::DATA_RESTART_INTERVAL,
            table.block_restart_interval as u64,
        ),
        (name::FIXED_KEY_LENGTH, 0),
        (name::COLUMN_FAMILY_ID, u64::from(o.column_family_id)),
        (name::CREATION_TIME, o.creation_time),
        (name::OLDEST_KEY_TIME, o.oldest_key_time),
        (name::FILE_CREATION_TIME, o.file_creation_time),
        (name::FILE_NUMBER, o.file_number),
    ] {
        p.set_number(name, value);
    }
    let extractor = o.prefix_extractor.as_ref().map(|e| e.name());
    let prefixes = extractor.is_some();
    for (name, text) in [
        (name::COMPARATOR, o.comparator.user.name()),
        (name::COLUMN_FAMILY_NAME, &o.column_family_name),
        (name::MERGE_OPERATOR, or_null(&o.merge_operator)),
        (name::PREFIX_EXTRACTOR, extractor.as_deref().unwrap_or(NONE)),
        (name::PROPERTY_COLLECTORS, "[]"),
        (name::COMPRESSION, &compressions(o, sink)),
        (name::WHOLE_KEY_FILTERING, flag(table.whole_key_filtering)),
        (name::PREFIX_FILTERING, flag(prefixes)),
    ] {
        p.set_bytes(name, text);
    }
    for (name, text) in [(name::DB_ID, &o.db_id), (name::SESSION_ID, &o.session_id)] {
        if !text.is_empty() {
            p.set_bytes(name, text);
        }
    }
    if o.external {
        p.set_bytes(name::EXTERNAL_VERSION, EXTERNAL_VERSION.to_le_bytes());
        p.set_bytes(name::GLOBAL_SEQNO, 0u64.to_le_bytes());
    }
}

/// Sets the properties of the index, which was written as `kind`.
pub(crate) fn set_index_properties(
    p: &mut TableProperties,
    index: &IndexBuilder,
    written: WrittenIndex,
    kind: IndexType,
) {
    p.index_size = written.size;
    for (name, value) in [
        (name::INDEX_SIZE, written.size),
        (name::INDEX_PARTITIONS, written.partitions),
        (name::TOP_INDEX_SIZE, written.top_size),
        (name::INDEX_USER_KEY, u64::from(index.has_user_keys())),
        (name::INDEX_DELTA, u64::from(index.has_delta_handles())),
        (
            name::INDEX_RESTART_INTERVAL,
            index.restart_interval() as u64,
        ),
    ] {
        p.set_number(name, value);
    }
    p.set_bytes(name::INDEX_TYPE, (kind as u32).to_le_bytes());
}

/// The number that is part of all checksums of a table; 0 before version 6. It only has to
/// differ between tables.
pub(crate) fn base_context(o: &TableBuilderOptions) -> u32 {
    if o.table.format_version < CONTEXT_VERSION {
        return 0;
    }
    let own = format!("{} {} {}", o.db_id, o.session_id, o.file_number);
    (hash64(own.as_bytes()) as u32).max(1)
}

fn compressions(o: &TableBuilderOptions, sink: &BlockSink) -> String {
    if o.table.format_version < MANAGER_VERSION {
        return o.compression.property_name().to_owned();
    }
    let mut used = String::new();
    for ty in sink.compressions() {
        write!(used, "{ty:02X}").expect("strings take all text");
    }
    let manager = match o.compression {
        CompressionType::None => "",
        _ if used.is_empty() => "",
        _ => "BuiltinV2",
    };
    format!("{manager};{used};")
}

/// RocksDB's text for "no object".
const NONE: &str = "nullptr";

fn or_null(name: &str) -> &str {
    if name.is_empty() { NONE } else { name }
}

fn flag(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}
