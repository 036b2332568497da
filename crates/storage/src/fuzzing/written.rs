//! Targets for what is written: an input says what goes into a file, which must be in it.
//!
//! All of them end by damaging one byte of the file. Readers may refuse it then; of a blob file
//! they return nothing that was not written.

use super::InMemory;
use crate::blob::{BlobFileReader, BlobFileWriter, BlobIndex};
use crate::error::ErrorKind;
use crate::fs::Fs;
use crate::fs::mem::MemFs;
use crate::fs::read_file;
use crate::key::{
    MAX_SEQUENCE, SequenceNumber, ValueType, append_internal_key, seek_key, tag, user_key,
};
use crate::sst::{
    CompressionOptions, CompressionType, Compressor, CuckooTableOptions, PlainEncoding,
    PlainTableOptions, PrefixTransform, Table, TableBuilder, TableBuilderOptions, TableFormat,
    TableReadOptions, TableReaderOptions,
};
use std::path::Path;
use std::sync::Arc;

/// The largest file that is read back. Bytes.
const MAX_FILE: u64 = 64 << 20;

/// What an input has left to say.
struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    /// The next byte; 0 at the end.
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    /// The next `len` bytes, or as many as there are.
    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// A value: a length, then some bytes that are repeated up to it.
    fn value(&mut self) -> Vec<u8> {
        let len = usize::from(self.byte()) << (self.byte() % 8);
        let repeated = 1 + usize::from(self.byte());
        let part = self.bytes(len.min(repeated));
        part.iter().copied().cycle().take(len).collect()
    }

    fn has_ended(&self) -> bool {
        self.0.is_empty()
    }
}

/// Changes one byte of a file.
fn damage(file: &mut [u8], (at, by): (usize, u8)) {
    let len = file.len();
    if let Some(byte) = file.get_mut(at % len.max(1)) {
        *byte ^= by.max(1);
    }
}

/// A blob file: a byte for the compression, three for the damage, then records of a key and a
/// value.
pub fn blob_writing(data: &[u8]) {
    let mut program = Program(data);
    let all = CompressionType::ALL;
    let compression = all[usize::from(program.byte()) % all.len()];
    let harm = (
        usize::from(program.byte()) << 8 | usize::from(program.byte()),
        program.byte(),
    );
    let Ok(mut compressor) = Compressor::new(compression, &CompressionOptions::default(), None)
    else {
        return; // not built in
    };
    let (fs, path) = (MemFs::new(), Path::new("/000007.blob"));
    let file = fs.create(path).expect("in memory");
    let mut writer = BlobFileWriter::new(file, 7, 3, compression).expect("in memory");
    let mut records = Vec::new();
    while !program.has_ended() {
        let len = usize::from(program.byte());
        let (key, value) = (program.bytes(len), program.value());
        let stored = compressor.compress_whatever(&value).expect("small values");
        let place = writer.add(key, stored).expect("in memory");
        let mut index = Vec::new();
        place.encode(&mut index);
        assert_eq!(BlobIndex::place(&index), Ok(place));
        records.push((key, value, place));
    }
    let meta = writer.finish().expect("in memory");
    let reader = BlobFileReader::open(fs.open_random(path).expect("there")).expect("complete");
    assert_eq!(reader.column_family(), 3);
    assert_eq!(reader.totals(), Ok((meta.count, meta.bytes)));
    for (key, value, place) in &records {
        assert_eq!(reader.get(key, place).as_deref(), Ok(&value[..]));
        let other = [key, &b"x"[..]].concat();
        assert!(reader.get(&other, place).is_err(), "a value of another key");
    }
    let mut bytes = read_file(&fs, path, MAX_FILE).expect("there");
    damage(&mut bytes, harm);
    let Ok(reader) = BlobFileReader::open(Arc::new(InMemory::new(&bytes))) else {
        return;
    };
    for (key, value, place) in &records {
        if let Ok(found) = reader.get(key, place) {
            assert!(found == value, "a damaged value is returned");
        }
    }
}

/// The first bytes of a key.
#[derive(Debug)]
struct First(usize);

impl PrefixTransform for First {
    fn name(&self) -> String {
        format!("rocksdb.FixedPrefix.{}", self.0)
    }

    fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
        user_key.get(..self.0)
    }
}

/// A plain table: bytes for its options, three for the damage, then entries.
pub fn plain_table(data: &[u8]) {
    let mut program = Program(data);
    let (flags, length) = (program.byte(), program.byte() % 8);
    let prefix = flags & 3;
    let format = PlainTableOptions {
        user_key_len: if flags & 4 > 0 { length.into() } else { 0 },
        hash_table_ratio: if prefix > 0 { 0.75 } else { 0.0 },
        encoding_type: match flags & 8 {
            0 => PlainEncoding::Plain,
            _ => PlainEncoding::Prefix,
        },
        store_index_in_file: flags & 16 > 0,
        index_sparseness: (program.byte() % 20).into(),
        bloom_bits_per_key: (program.byte() % 12).into(),
        ..PlainTableOptions::default()
    };
    let options = TableBuilderOptions {
        format: TableFormat::Plain(format),
        prefix_extractor: (prefix > 0).then(|| Arc::new(First(prefix.into())) as _),
        bloom_locality: (flags >> 5 & 1).into(),
        ..TableBuilderOptions::default()
    };
    let len = (flags & 4 > 0).then_some(usize::from(length));
    written_table(options, len, None, program);
}

/// A cuckoo table: bytes for its options, three for the damage, then entries.
pub fn cuckoo_table(data: &[u8]) {
    let mut program = Program(data);
    let (flags, length) = (program.byte(), program.byte() % 12);
    let format = CuckooTableOptions {
        hash_table_ratio: f64::from(1 + program.byte() % 100) / 100.0,
        max_search_depth: (program.byte() % 120).into(),
        cuckoo_block_size: (1 + program.byte() % 8).into(),
        identity_as_first_hash: flags & 1 > 0,
        use_module_hash: flags & 2 > 0,
    };
    let options = TableBuilderOptions {
        format: TableFormat::Cuckoo(format),
        ..TableBuilderOptions::default()
    };
    // In some tables keys and values differ in length, which is refused.
    let len = (flags & 4 == 0).then_some(usize::from(length));
    let value_len = (flags & 8 == 0).then_some(usize::from(flags >> 4));
    written_table(options, len, value_len, program);
}

/// An entry: internal key and value.
type Entry = (Vec<u8>, Vec<u8>);

/// The rest of a program as entries in the order of a table. Keys, or values, have one length if
/// that is given.
fn entries(
    mut program: Program<'_>,
    key_len: Option<usize>,
    value_len: Option<usize>,
) -> Vec<Entry> {
    let mut all: Vec<(Vec<u8>, SequenceNumber, ValueType, Vec<u8>)> = Vec::new();
    while !program.has_ended() {
        let kind = program.byte();
        let len = key_len.unwrap_or(usize::from(program.byte() % 16));
        let mut key = program.bytes(len).to_vec();
        key.resize(key_len.unwrap_or(key.len()), b'k');
        let ty = match kind % 8 {
            0 => ValueType::Deletion,
            1 => ValueType::Merge,
            2 => ValueType::SingleDeletion,
            _ => ValueType::Value,
        };
        let number = if kind & 8 > 0 {
            program.byte().into()
        } else {
            0
        };
        let mut value = match ty {
            ValueType::Deletion | ValueType::SingleDeletion => Vec::new(),
            _ => program.value(),
        };
        if ty == ValueType::Value {
            value.resize(value_len.unwrap_or(value.len()), b'v');
        }
        all.push((key, number, ty, value));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    all.dedup_by(|a, b| a.0 == b.0 && a.1 == b.1);
    let entry = |(key, number, ty, value): (Vec<u8>, _, ValueType, _)| {
        let mut internal = Vec::new();
        append_internal_key(&mut internal, &key, number, ty as u8);
        (internal, value)
    };
    all.into_iter().map(entry).collect()
}

/// Writes a table of the rest of `program`, reads it in every way, damages it and reads it again.
fn written_table(
    options: TableBuilderOptions,
    key_len: Option<usize>,
    value_len: Option<usize>,
    mut program: Program<'_>,
) {
    let harm = (
        usize::from(program.byte()) << 8 | usize::from(program.byte()),
        program.byte(),
    );
    let entries = entries(program, key_len, value_len);
    let prefix_extractor = options.prefix_extractor.clone();
    let (fs, path) = (MemFs::new(), Path::new("/000001.sst"));
    let file = fs.create(path).expect("in memory");
    let mut builder = TableBuilder::new(options, file).expect("a new file");
    let mut refused = Ok(());
    for (key, value) in &entries {
        refused = refused.and_then(|()| builder.add(key, value));
    }
    match refused.and_then(|()| builder.finish()) {
        Ok((properties, size)) => {
            assert_eq!(properties.num_entries, entries.len() as u64);
            assert_eq!(fs.file_size(path), Ok(size));
        }
        // What the format cannot hold.
        Err(e) => return assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}"),
    }
    let mut bytes = read_file(&fs, path, MAX_FILE).expect("there");
    let options = TableReaderOptions {
        prefix_extractor,
        ..super::reader_options()
    };
    let file = Arc::new(InMemory::new(&bytes));
    let table = Table::open(file, bytes.len() as u64, options).expect("just written");
    read_whole(&Arc::new(table), &entries);
    damage(&mut bytes, harm);
    super::table(&bytes);
}

/// Checks that `table` has `entries`.
fn read_whole(table: &Arc<Table>, entries: &[Entry]) {
    table.verify().expect("just written");
    let mut iter = table.iter(TableReadOptions::default());
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    iter.seek_to_first();
    while iter.valid() {
        forward.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    assert_eq!(forward, entries);
    iter.seek_to_last();
    while iter.valid() {
        backward.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    backward.reverse();
    assert_eq!(backward, entries);
    for (at, (key, value)) in entries.iter().enumerate() {
        iter.seek(key);
        assert!(iter.valid() && iter.key() == key);
        iter.seek_for_prev(key);
        assert!(iter.valid() && iter.key() == key);
        let user = user_key(key);
        let newest = at == 0 || user_key(&entries[at - 1].0) != user;
        let mut found = None;
        let lookup = seek_key(user, MAX_SEQUENCE);
        let visit = &mut |key: crate::key::ParsedKey<'_>, value: crate::sst::TableValue<'_>| {
            found = Some((key.seq, value.to_vec()));
            Ok(false)
        };
        if newest {
            let got = table.get(&lookup, TableReadOptions::default(), visit);
            got.expect("just written");
            assert_eq!(found, Some((tag(key) >> 8, value.clone())));
        }
    }
    assert!(iter.status().is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The targets reach what they are about.
    #[test]
    fn inputs_become_files() {
        let entry = |kind: u8, key: &[u8], value: &[u8]| {
            let head = [kind, key.len() as u8];
            let tail = [value.len() as u8, 0, value.len() as u8 - 1];
            [&head[..], key, &tail, value].concat()
        };
        let some = [entry(7, b"abc", b"one"), entry(7, b"abd", b"two")].concat();
        let all = entries(Program(&some), None, None);
        assert_eq!(all.len(), 2);
        assert_eq!(
            (user_key(&all[1].0), &all[1].1[..]),
            (&b"abd"[..], &b"two"[..])
        );
        for flags in 0..64 {
            plain_table(&[&[flags, 3, 1, 10, 0, 9, 1][..], &some].concat());
        }
        for compression in 0..7 {
            blob_writing(
                &[
                    &[compression, 0, 40, 1, 3][..],
                    b"key",
                    &[9, 1, 2],
                    b"value",
                ]
                .concat(),
            );
        }
        let fixed = [7, b'a', b'b', 0, 0, 0, 7, b'a', b'c', 0, 0, 0];
        for flags in 0..4 {
            cuckoo_table(&[&[flags, 2, 89, 100, 4, 0, 9, 1][..], &fixed].concat());
        }
    }
}
