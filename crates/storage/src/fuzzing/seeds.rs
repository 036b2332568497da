//! Initial inputs for the targets, made from files that an engine wrote.

use super::{InMemory, reader_options};
use crate::key::{self, ValueType};
use crate::manifest::ManifestReader;
use crate::sst::fuzzing::table_seeds;
use crate::sst::{Table, TableReadOptions};
use crate::wal::{LogReader, ReadOutcome};
use std::sync::Arc;

/// How many records of a file become inputs of their own.
const RECORDS: usize = 8;

/// The longest input in bytes. Longer ones are cut if that leaves a valid input.
pub const MAX_LEN: usize = 24 << 10;

/// An input: its target and the bytes.
pub type Seed = (&'static str, Vec<u8>);

/// The inputs that a file called `name` gives.
pub fn of_file(name: &str, data: &[u8]) -> Vec<Seed> {
    let mut out = Vec::new();
    if let Some(number) = name.strip_suffix(".log") {
        let number: u32 = number.parse().unwrap_or(0);
        let cut = &data[..data.len().min(MAX_LEN)];
        out.push(("wal", [&number.to_le_bytes()[..], cut].concat()));
        out.extend(records(data, number).into_iter().map(|r| ("batch", r)));
    } else if name.starts_with("MANIFEST-") {
        out.push(("manifest", data[..data.len().min(MAX_LEN)].to_vec()));
        out.extend(records(data, 0).into_iter().map(|r| ("edit", r)));
        assert!(
            ManifestReader::new(Box::new(InMemory::new(data)))
                .next()
                .is_ok()
        );
    } else if name.ends_with(".sst") {
        out.push(("table", data.to_vec()));
        out.extend(values(data));
        out.extend(table_seeds(data));
    }
    if name.ends_with(".blob") {
        out.push(("blob_file", data.to_vec()));
    }
    out.retain(|(_, bytes)| bytes.len() <= MAX_LEN + 4);
    out
}

/// The first blob indexes and entities of a table.
fn values(data: &[u8]) -> Vec<Seed> {
    let file = Arc::new(InMemory::new(data));
    let mut out = Vec::new();
    let Ok(table) = Table::open(file, data.len() as u64, reader_options()) else {
        return out;
    };
    let mut iter = Arc::new(table).iter(TableReadOptions::default());
    iter.seek_to_first();
    while iter.valid() && out.len() < RECORDS {
        let ty = key::tag(iter.key()) as u8;
        if ty == ValueType::BlobIndex as u8 {
            out.push(("blob_index", iter.value().to_vec()));
        } else if ty == ValueType::WideColumnEntity as u8 {
            out.push(("entity", iter.value().to_vec()));
        }
        iter.next();
    }
    out
}

/// Some records of a log.
fn records(data: &[u8], number: u32) -> Vec<Vec<u8>> {
    let mut reader = LogReader::new(Box::new(InMemory::new(data)), number.into());
    let (mut out, mut record) = (Vec::new(), Vec::new());
    while out.len() < RECORDS && matches!(reader.read_record(&mut record), Ok(ReadOutcome::Record))
    {
        out.push(record.clone());
    }
    out
}
