//! Writes a plain table.

use crate::error::{Error, Result};
use crate::fs::WritableFile;
use crate::key::user_key;
use crate::sst::filter::{build_plain_bloom, plain_hash};
use crate::sst::format::footer::Footer;
use crate::sst::format::plain::{
    BLOOM_BLOCKS, BLOOM_VERSION, ENCODING_TYPE, MAX_PLAIN_TABLE, META_PLAIN_BLOOM,
    META_PLAIN_INDEX, PlainCoding, PlainEncoder, PlainEncoding,
};
use crate::sst::format::properties::{TableProperties, name};
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::options::table_format::PlainTableOptions;
use crate::sst::write::bare_file::{BareFile, Counts};
use crate::sst::write::entry_check::check_entry;
use crate::sst::write::plain_index::PlainIndexBuilder;

/// Writes one plain table. The same invariants as in `table_builder` hold.
pub(crate) struct PlainTableBuilder {
    options: TableBuilderOptions,
    format: PlainTableOptions,
    file: BareFile,
    coding: PlainCoding,
    encoder: PlainEncoder,
    counts: Counts,
    last_key: Vec<u8>,
    /// The entry being written.
    entry: Vec<u8>,
    /// Index, and hashes for the filter, if they are to be in the file.
    index: Option<PlainIndexBuilder>,
    hashes: Vec<u32>,
    failed: Option<Error>,
}

impl PlainTableBuilder {
    pub(crate) fn new(
        options: TableBuilderOptions,
        format: PlainTableOptions,
        file: Box<dyn WritableFile>,
    ) -> Self {
        let coding = PlainCoding {
            encoding: match options.prefix_extractor {
                Some(_) => format.encoding_type,
                None => PlainEncoding::Plain,
            },
            user_key_len: format.user_key_len,
        };
        PlainTableBuilder {
            file: BareFile::new(file),
            coding,
            encoder: PlainEncoder::new(coding, format.index_sparseness),
            counts: Counts::default(),
            last_key: Vec::new(),
            entry: Vec::new(),
            index: format.store_index_in_file.then(PlainIndexBuilder::default),
            hashes: Vec::new(),
            failed: None,
            options,
            format,
        }
    }

    pub(crate) fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        self.check_usable()?;
        let comparator = &self.options.comparator;
        let (seq, ty) = check_entry(comparator, &self.last_key, internal_key, value)?;
        let user = user_key(internal_key);
        let fixed = self.format.user_key_len as usize;
        if fixed != 0 && user.len() != fixed {
            return Err(Error::not_supported(format_args!(
                "plain table with user_key_len = {fixed}: key of {} bytes",
                user.len()
            )));
        }
        // A key without a prefix is a prefix of its own.
        let extractor = self.options.prefix_extractor.as_ref();
        let prefix = extractor.map(|e| e.prefix(user).unwrap_or(user));
        self.entry.clear();
        self.encoder.encode(
            internal_key,
            prefix.unwrap_or_default(),
            value,
            &mut self.entry,
        );
        let offset = self.file.offset();
        if offset + self.entry.len() as u64 > MAX_PLAIN_TABLE {
            return Err(Error::not_supported("plain table of 2 GiB or more"));
        }
        if let Some(index) = &mut self.index {
            let sparseness = self.format.index_sparseness;
            index.add(prefix.unwrap_or_default(), offset as u32, sparseness);
            self.hashes.push(plain_hash(prefix.unwrap_or(user)));
        }
        if let Err(e) = self.file.append(&self.entry) {
            self.failed = Some(e.clone());
            return Err(e);
        }
        self.counts.see(internal_key, value, seq, ty);
        self.last_key.clear();
        self.last_key.extend_from_slice(internal_key);
        Ok(())
    }

    pub(crate) fn file_size(&self) -> u64 {
        self.file.offset()
    }

    pub(crate) fn index_size(&self) -> usize {
        let index = self.index.as_ref();
        index.map_or(0, PlainIndexBuilder::estimated_len)
    }

    pub(crate) fn num_entries(&self) -> u64 {
        self.counts.properties.num_entries
    }

    pub(crate) fn finish(mut self) -> Result<(TableProperties, u64)> {
        self.check_usable()?;
        self.counts.properties.data_size = self.file.offset();
        if let Some(index) = self.index.take() {
            self.counts.properties.set_bytes(BLOOM_VERSION, "1");
            if self.num_entries() > 0 {
                self.write_index(&index)?;
            }
        }
        self.counts.set_properties(&self.options);
        let p = &mut self.counts.properties;
        // RocksDB's versions: that of the footer is always 0.
        let version = match self.format.encoding_type {
            PlainEncoding::Plain => 0,
            PlainEncoding::Prefix => 1,
        };
        p.set_number(name::FORMAT_VERSION, version);
        p.set_number(name::FIXED_KEY_LENGTH, u64::from(self.format.user_key_len));
        p.set_bytes(ENCODING_TYPE, (self.coding.encoding as u32).to_le_bytes());
        let footer = |metaindex, _| Footer::plain(metaindex).to_vec();
        self.file.finish(p, footer)?;
        Ok((self.counts.properties, self.file.offset()))
    }

    /// Writes filter and index.
    fn write_index(&mut self, index: &PlainIndexBuilder) -> Result<()> {
        let ratio = self.format.hash_table_ratio;
        let has_prefixes = self.options.prefix_extractor.is_some();
        let index = index.finish((has_prefixes && ratio > 0.0).then_some(ratio));
        self.counts.properties.index_size = index.len() as u64;
        self.file.append_meta(META_PLAIN_INDEX, &index)?;
        let bits_per_key = u32::try_from(self.format.bloom_bits_per_key).unwrap_or(0);
        let keys = u32::try_from(self.hashes.len()).unwrap_or(u32::MAX);
        let bits = keys.saturating_mul(bits_per_key);
        let local = self.options.bloom_locality > 0;
        if let Some((bloom, lines)) = build_plain_bloom(bits, local, &self.hashes) {
            let p = &mut self.counts.properties;
            p.filter_size = bloom.len() as u64;
            p.set_number(BLOOM_BLOCKS, u64::from(lines));
            self.file.append_meta(META_PLAIN_BLOOM, &bloom)?;
        }
        Ok(())
    }

    fn check_usable(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}
