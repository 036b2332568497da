//! Formats of tables in options: their text form, as RocksDB writes and reads it, and what each of
//! them requires.
//!
//! The form with properties is `{id=PlainTable;user_key_len=0;...}`, in options strings. A name
//! alone stands for the defaults. In options files the properties are in a section of their own.

use super::CfOptions;
use super::text::{OptionText, split_assignments, text_by_name};
use whitewater_storage::sst::{CuckooTableOptions, PlainEncoding, PlainTableOptions, TableFormat};
use whitewater_storage::{Error, Result};

/// RocksDB's names of the formats.
pub(crate) const BLOCK_BASED: &str = "BlockBasedTable";
pub(crate) const PLAIN: &str = "PlainTable";
pub(crate) const CUCKOO: &str = "CuckooTable";

/// RocksDB's name of a factory that reads tables of all formats, as is always done here. Its files
/// do not say what it writes; by default that is block-based tables.
const ADAPTIVE: &str = "AdaptiveTableFactory";

/// The smallest and the largest part of a hash table that may be meant to be used.
const RATIO: std::ops::RangeInclusive<f64> = 0.01..=1.0;

/// The most buckets that a hash in a cuckoo table may lead to.
const MAX_CUCKOO_BLOCK: u32 = 1 << 16;

text_by_name!(PlainEncoding {
    Plain = "kPlain",
    Prefix = "kPrefix",
});

/// The name of the format.
pub(crate) fn name_of(format: &TableFormat) -> &'static str {
    match format {
        TableFormat::BlockBased => BLOCK_BASED,
        TableFormat::Plain(_) => PLAIN,
        TableFormat::Cuckoo(_) => CUCKOO,
    }
}

/// The format of this name, with the defaults.
fn by_name(name: &str) -> Option<TableFormat> {
    match name {
        BLOCK_BASED | ADAPTIVE => Some(TableFormat::BlockBased),
        PLAIN => Some(TableFormat::Plain(PlainTableOptions::default())),
        CUCKOO => Some(TableFormat::Cuckoo(CuckooTableOptions::default())),
        _ => None,
    }
}

/// Names and values of the properties of a format. Those of block-based tables are options of
/// their own.
pub(crate) fn properties(format: &TableFormat) -> Vec<(&'static str, String)> {
    match format {
        TableFormat::BlockBased => Vec::new(),
        TableFormat::Plain(plain) => vec![
            ("user_key_len", plain.user_key_len.print()),
            ("bloom_bits_per_key", plain.bloom_bits_per_key.print()),
            ("hash_table_ratio", plain.hash_table_ratio.print()),
            ("index_sparseness", plain.index_sparseness.print()),
            ("huge_page_tlb_size", plain.huge_page_tlb_size.print()),
            ("encoding_type", plain.encoding_type.print()),
            ("full_scan_mode", plain.full_scan_mode.print()),
            ("store_index_in_file", plain.store_index_in_file.print()),
        ],
        TableFormat::Cuckoo(cuckoo) => vec![
            ("hash_table_ratio", cuckoo.hash_table_ratio.print()),
            ("max_search_depth", cuckoo.max_search_depth.print()),
            ("cuckoo_block_size", cuckoo.cuckoo_block_size.print()),
            (
                "identity_as_first_hash",
                cuckoo.identity_as_first_hash.print(),
            ),
            ("use_module_hash", cuckoo.use_module_hash.print()),
        ],
    }
}

/// Sets a property; `None` if it is unknown or cannot have this value.
pub(crate) fn set_property(format: &mut TableFormat, name: &str, text: &str) -> Option<()> {
    fn set<T: OptionText>(to: &mut T, text: &str) -> Option<()> {
        *to = T::parse(text.trim())?;
        Some(())
    }
    match format {
        TableFormat::BlockBased => None,
        TableFormat::Plain(plain) => match name {
            "user_key_len" => set(&mut plain.user_key_len, text),
            "bloom_bits_per_key" => set(&mut plain.bloom_bits_per_key, text),
            "hash_table_ratio" => set(&mut plain.hash_table_ratio, text),
            "index_sparseness" => set(&mut plain.index_sparseness, text),
            "huge_page_tlb_size" => set(&mut plain.huge_page_tlb_size, text),
            "encoding_type" => set(&mut plain.encoding_type, text),
            "full_scan_mode" => set(&mut plain.full_scan_mode, text),
            "store_index_in_file" => set(&mut plain.store_index_in_file, text),
            _ => None,
        },
        TableFormat::Cuckoo(cuckoo) => match name {
            "hash_table_ratio" => set(&mut cuckoo.hash_table_ratio, text),
            "max_search_depth" => set(&mut cuckoo.max_search_depth, text),
            "cuckoo_block_size" => set(&mut cuckoo.cuckoo_block_size, text),
            "identity_as_first_hash" => set(&mut cuckoo.identity_as_first_hash, text),
            "use_module_hash" => set(&mut cuckoo.use_module_hash, text),
            _ => None,
        },
    }
}

impl OptionText for TableFormat {
    fn print(&self) -> String {
        let properties = properties(self);
        if properties.is_empty() {
            return name_of(self).to_owned();
        }
        let mut text = format!("{{id={};", name_of(self));
        for (name, value) in properties {
            text.push_str(&format!("{name}={value};"));
        }
        text.push('}');
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let text = inner.unwrap_or(text).trim();
        if !text.contains('=') {
            return by_name(text);
        }
        let mut assignments = split_assignments(text).ok()?.into_iter();
        let (_, name) = assignments.next().filter(|(id, _)| *id == "id")?;
        let mut format = by_name(name)?;
        for (name, value) in assignments {
            set_property(&mut format, name, value)?;
        }
        Some(format)
    }
}

/// Checks the numbers of a format.
///
/// # Errors
/// `InvalidArgument` naming option and number.
pub(crate) fn check_numbers(option: &str, format: &TableFormat) -> Result<()> {
    let bad = |what: &str, value: &dyn std::fmt::Display, range: &str| {
        Err(Error::invalid(format_args!(
            "option {option}: {what} = {value} is outside {range}"
        )))
    };
    match format {
        TableFormat::BlockBased => Ok(()),
        TableFormat::Plain(plain) => {
            let ratio = plain.hash_table_ratio;
            if ratio != 0.0 && !(*RATIO.start()..=1e9).contains(&ratio) {
                return bad("hash_table_ratio", &ratio, "0.01..=1e9, and not 0");
            }
            Ok(())
        }
        TableFormat::Cuckoo(cuckoo) => {
            if !RATIO.contains(&cuckoo.hash_table_ratio) {
                return bad("hash_table_ratio", &cuckoo.hash_table_ratio, "0.01..=1");
            }
            if cuckoo.cuckoo_block_size > MAX_CUCKOO_BLOCK {
                return bad("cuckoo_block_size", &cuckoo.cuckoo_block_size, "0..=65536");
            }
            Ok(())
        }
    }
}

/// Turns off the hashes of plain tables where there are no prefixes. RocksDB writes a table with
/// these options, and refuses to open it. What no table can have is left to be refused.
pub(super) fn correct(options: &mut CfOptions) {
    let possible = check_numbers("table_factory", &options.table_factory).is_ok();
    if let TableFormat::Plain(plain) = &mut options.table_factory
        && options.prefix_extractor.is_none()
        && possible
    {
        plain.hash_table_ratio = 0.0;
    }
}

impl CfOptions {
    /// Whether new tables can hold range deletions.
    pub(crate) fn takes_range_deletions(&self) -> bool {
        self.table_factory == TableFormat::BlockBased
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    #[test]
    fn formats_have_rocksdbs_text() {
        let plain = TableFormat::Plain(PlainTableOptions::default());
        let text = "{id=PlainTable;user_key_len=0;bloom_bits_per_key=10;hash_table_ratio=0.75;\
                    index_sparseness=16;huge_page_tlb_size=0;encoding_type=kPlain;\
                    full_scan_mode=false;store_index_in_file=false;}";
        assert_eq!(plain.print(), text);
        let cuckoo = TableFormat::Cuckoo(CuckooTableOptions::default());
        let text = "{id=CuckooTable;hash_table_ratio=0.9;max_search_depth=100;\
                    cuckoo_block_size=5;identity_as_first_hash=false;use_module_hash=true;}";
        assert_eq!(cuckoo.print(), text);
        for format in [TableFormat::BlockBased, plain, cuckoo] {
            assert_eq!(TableFormat::parse(&format.print()), Some(format));
            assert_eq!(TableFormat::parse(name_of(&format)), Some(format));
        }
        let adaptive = TableFormat::parse("AdaptiveTableFactory");
        assert_eq!(adaptive, Some(TableFormat::BlockBased));
        for bad in [
            "",
            "Plain",
            "{user_key_len=8}",
            "{id=PlainTable;user_key_len=x}",
            "{id=PlainTable;cuckoo_block_size=3}",
            "{id=BlockBasedTable;block_size=3}",
            "{id=OtherTable}",
        ] {
            assert_eq!(TableFormat::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let with = |text: &str| CfOptions {
            table_factory: TableFormat::parse(text).unwrap(),
            ..CfOptions::default()
        };
        let refused = |text: &str, name: &str| {
            let e = with(text).sanitized().validate().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
            assert!(e.to_string().contains(name), "{e}");
        };
        for ratio in ["NaN", "-1", "0.001"] {
            let text = |id: &str| format!("{{id={id};hash_table_ratio={ratio}}}");
            refused(&text(PLAIN), "hash_table_ratio");
            refused(&text(CUCKOO), "hash_table_ratio");
        }
        refused("{id=CuckooTable;hash_table_ratio=0}", "hash_table_ratio");
        let blocks = "{id=CuckooTable;cuckoo_block_size=70000}";
        refused(blocks, "cuckoo_block_size");
        with("{id=PlainTable;hash_table_ratio=0}")
            .validate()
            .unwrap();
        with("CuckooTable").validate().unwrap();
    }
}
