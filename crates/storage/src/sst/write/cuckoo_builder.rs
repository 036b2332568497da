//! Writes a cuckoo table.
//!
//! Entries are kept in memory, because the place of each depends on all of them.

use crate::error::{Error, Result};
use crate::fs::WritableFile;
use crate::key::{TAG_SIZE, ValueType, append_internal_key, pack_tag, tag, user_key};
use crate::sst::format::cuckoo::{CuckooHash, IDENTITY_LEN, property};
use crate::sst::format::footer::Footer;
use crate::sst::format::properties::{TableProperties, name};
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::options::table_format::CuckooTableOptions;
use crate::sst::write::bare_file::{BareFile, Counts};
use crate::sst::write::cuckoo_places::CuckooPlaces;
use crate::sst::write::entry_check::check_entry;
use std::cmp::Ordering;

/// What unused bytes of buckets are filled with.
const FILL: u8 = b'a';

/// Writes one cuckoo table.
pub(crate) struct CuckooTableBuilder {
    options: TableBuilderOptions,
    format: CuckooTableOptions,
    file: BareFile,
    counts: Counts,
    /// The internal keys, all of one length.
    keys: Vec<u8>,
    key_len: usize,
    /// The values, all of one length. Deletions have none.
    values: Vec<u8>,
    value_len: Option<usize>,
    /// Whether all entries are values with sequence number 0.
    is_last_level: bool,
}

impl CuckooTableBuilder {
    pub(crate) fn new(
        options: TableBuilderOptions,
        format: CuckooTableOptions,
        file: Box<dyn WritableFile>,
    ) -> Self {
        CuckooTableBuilder {
            options,
            format,
            file: BareFile::new(file),
            counts: Counts::default(),
            keys: Vec::new(),
            key_len: 0,
            values: Vec::new(),
            value_len: None,
            is_last_level: true,
        }
    }

    pub(crate) fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let comparator = &self.options.comparator;
        let last = match self.keys.len().checked_sub(self.key_len) {
            Some(at) => &self.keys[at..],
            None => &[],
        };
        let (seq, ty) = check_entry(comparator, last, internal_key, value)?;
        let user = user_key(internal_key);
        if !matches!(ty, ValueType::Value | ValueType::Deletion) {
            return Err(refused(format_args!("Unsupported key type {}", ty as u8)));
        }
        if !last.is_empty() && internal_key.len() != self.key_len {
            return Err(refused("all keys have to be the same size"));
        }
        if !last.is_empty() && comparator.compare_user(user_key(last), user) == Ordering::Equal {
            return Err(refused("Same key is being inserted again."));
        }
        if self.format.identity_as_first_hash && user.len() < IDENTITY_LEN {
            return Err(refused("identity_as_first_hash needs keys of 8 bytes"));
        }
        if ty == ValueType::Value {
            if self.value_len.is_some_and(|len| len != value.len()) {
                return Err(refused("all values have to be the same size"));
            }
            self.value_len = Some(value.len());
            self.values.extend_from_slice(value);
        }
        self.key_len = internal_key.len();
        self.keys.extend_from_slice(internal_key);
        self.is_last_level &= tag(internal_key) == pack_tag(0, ValueType::Value as u8);
        self.counts.see(internal_key, value, seq, ty);
        Ok(())
    }

    /// The size of the file, if it were finished now with one more entry.
    pub(crate) fn file_size(&self) -> u64 {
        let entries = self.num_entries();
        if entries == 0 {
            return 0;
        }
        let bucket = (self.key_len + self.value_len.unwrap_or(0)) as u64;
        self.table_size(entries + 1).saturating_mul(bucket)
    }

    pub(crate) fn num_entries(&self) -> u64 {
        self.counts.properties.num_entries
    }

    pub(crate) fn finish(mut self) -> Result<(TableProperties, u64)> {
        let entries = self.num_entries();
        let hash = CuckooHash {
            table_size: self.table_size(entries),
            identity_first: self.format.identity_as_first_hash,
            module: self.format.use_module_hash,
        };
        let (mut functions, mut empty_key) = (2, Vec::new());
        if entries > 0 {
            let block_size = self.format.cuckoo_block_size.max(1);
            let mut places = CuckooPlaces::new(hash, block_size, self.format.max_search_depth)?;
            let user_keys = self.keys.chunks_exact(self.key_len).map(user_key);
            places.place_all(&user_keys.collect::<Vec<_>>())?;
            functions = places.functions();
            empty_key = self.empty_key()?;
            self.write_buckets(&places, &empty_key)?;
        }
        self.set_properties(hash, functions, empty_key);
        let footer = |metaindex, offset| Footer::cuckoo(metaindex).encode(offset).to_vec();
        self.file.finish(&self.counts.properties, footer)?;
        Ok((self.counts.properties, self.file.offset()))
    }

    /// The number of buckets that keys are hashed to, for this many entries.
    fn table_size(&self, entries: u64) -> u64 {
        let wanted = entries as f64 / self.format.hash_table_ratio;
        if self.format.use_module_hash {
            return wanted as u64;
        }
        let mut size = 2u64;
        while (size as f64) < wanted && size < 1 << 62 {
            size *= 2;
        }
        size
    }

    /// A key that is not in the table, as it stands in unused buckets.
    fn empty_key(&self) -> Result<Vec<u8>> {
        let keys = || self.keys.chunks_exact(self.key_len).map(user_key);
        let (smallest, largest) = (keys().min(), keys().max());
        let before = smallest.and_then(|key| neighbour(key, 0, |byte| byte.wrapping_sub(1)));
        let after = || largest.and_then(|key| neighbour(key, 0xff, |byte| byte.wrapping_add(1)));
        let Some(user) = before.or_else(after) else {
            return Err(refused("Unable to find unused key"));
        };
        if self.is_last_level {
            return Ok(user);
        }
        let mut key = Vec::with_capacity(self.key_len);
        append_internal_key(&mut key, &user, 0, ValueType::Value as u8);
        Ok(key)
    }

    fn write_buckets(&mut self, places: &CuckooPlaces, empty_key: &[u8]) -> Result<()> {
        let value_len = self.value_len.unwrap_or(0);
        let stored_len = empty_key.len();
        // The position of each entry among the values.
        let mut values = Vec::with_capacity(places.buckets().len());
        let mut next = 0;
        for key in self.keys.chunks_exact(self.key_len) {
            let is_value = tag(key) as u8 == ValueType::Value as u8;
            values.push(is_value.then_some(next));
            next += usize::from(is_value);
        }
        let mut bucket = Vec::new();
        for place in places.buckets() {
            bucket.clear();
            match place {
                Some(entry) => {
                    let at = entry * self.key_len;
                    bucket.extend_from_slice(&self.keys[at..at + stored_len]);
                    if let Some(value) = values[entry] {
                        let at = value * value_len;
                        bucket.extend_from_slice(&self.values[at..at + value_len]);
                    }
                }
                None => bucket.extend_from_slice(empty_key),
            }
            bucket.resize(stored_len + value_len, FILL);
            self.file.append(&bucket)?;
        }
        Ok(())
    }

    fn set_properties(&mut self, hash: CuckooHash, functions: u32, empty_key: Vec<u8>) {
        let value_len = self.value_len.unwrap_or(0) as u64;
        let user_key_len = self.key_len.saturating_sub(TAG_SIZE) as u32;
        self.counts.properties.data_size = self.file.offset();
        self.counts.set_properties(&self.options);
        let p = &mut self.counts.properties;
        p.set_number(name::FORMAT_VERSION, 0);
        p.set_number(name::FIXED_KEY_LENGTH, empty_key.len() as u64);
        let block_size = self.format.cuckoo_block_size.max(1);
        for (name, number) in [
            (property::BLOCK_SIZE, block_size),
            (property::HASH_FUNCTIONS, functions),
            (property::USER_KEY_LEN, user_key_len),
        ] {
            p.set_bytes(name, number.to_le_bytes());
        }
        for (name, flag) in [
            (property::IDENTITY_FIRST, hash.identity_first),
            (property::IS_LAST_LEVEL, self.is_last_level),
            (property::MODULE_HASH, hash.module),
        ] {
            p.set_bytes(name, [u8::from(flag)]);
        }
        p.set_bytes(property::TABLE_SIZE, hash.table_size.to_le_bytes());
        p.set_bytes(property::VALUE_LEN, value_len.to_le_bytes());
        p.set_bytes(property::EMPTY_KEY, empty_key);
    }
}

/// RocksDB's errors for what a cuckoo table cannot hold.
fn refused(what: impl std::fmt::Display) -> Error {
    Error::not_supported(format_args!("cuckoo table: {what}"))
}

/// The key next to `key`, if it is taken for a number: the last byte that is not `end` changes by
/// `step`, and those after it wrap around.
fn neighbour(key: &[u8], end: u8, step: impl Fn(u8) -> u8) -> Option<Vec<u8>> {
    let last = key.iter().rposition(|&byte| byte != end)?;
    let mut key = key.to_vec();
    key[last..].iter_mut().for_each(|byte| *byte = step(*byte));
    Some(key)
}
