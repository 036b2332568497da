//! Compression options: which of them apply to a table, and their text form.

use super::CfOptions;
use super::compaction::CompactionStyle;
use super::text::{OptionText, split_assignments};
use whitewater_storage::Result;
use whitewater_storage::sst::{CompressionOptions, CompressionType};

/// How one table is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Compression {
    pub ty: CompressionType,
    pub options: CompressionOptions,
}

/// The default compression of tables: RocksDB's default, or none if that is not built in.
pub(super) fn default_type() -> CompressionType {
    match CompressionType::Snappy.missing_feature() {
        None => CompressionType::Snappy,
        Some(_) => CompressionType::None,
    }
}

impl CfOptions {
    /// The compression of flushed tables: none if universal compaction is to compress only old
    /// data.
    pub(crate) fn flush_compression(&self) -> Compression {
        let percent = self.compaction_options_universal.compression_size_percent;
        if self.compaction_style == CompactionStyle::Universal && percent >= 0 {
            return Compression::default();
        }
        Compression {
            ty: *(self.compression_per_level.first()).unwrap_or(&self.compression),
            options: self.compression_opts,
        }
    }

    /// The compression of tables that are made outside of a database. As in RocksDB, it is the
    /// deepest level's, because such tables belong there.
    pub(crate) fn external_compression(&self) -> Compression {
        self.compression_at(usize::MAX, true, || 1)
    }

    /// The compression of tables in `level`. `bottommost` says whether this is the last level with
    /// tables. `base_level` is called only if types are given by level.
    pub(crate) fn compression_at(
        &self,
        level: usize,
        bottommost: bool,
        base_level: impl FnOnce() -> usize,
    ) -> Compression {
        let types = &self.compression_per_level;
        let ty = match (self.bottommost_compression, types.last()) {
            (Some(ty), _) if bottommost => ty,
            (_, None) => self.compression,
            (_, Some(last)) => {
                let index = match level {
                    0 => 0,
                    level => level.saturating_add(1).saturating_sub(base_level()),
                };
                *types.get(index).unwrap_or(last)
            }
        };
        let options = if bottommost && self.bottommost_compression_opts.enabled {
            self.bottommost_compression_opts
        } else {
            self.compression_opts
        };
        Compression { ty, options }
    }

    /// Checks the options of every codec that may be used.
    pub(super) fn check_compression(&self) -> Result<()> {
        let mut all = (self.compression_per_level.iter())
            .chain([&self.compression])
            .chain(&self.bottommost_compression);
        let mut types = all.clone();
        types.try_for_each(|ty| self.compression_opts.check("compression_opts", *ty))?;
        let bottommost = &self.bottommost_compression_opts;
        if !bottommost.enabled {
            return Ok(());
        }
        all.try_for_each(|ty| bottommost.check("bottommost_compression_opts", *ty))
    }
}

/// RocksDB's form is `window_bits=-14;level=32767;...`, in which names may be left out. Its
/// older form, `-14:32767:0:0`, has the values in this order: window bits, level, strategy,
/// dictionary bytes, training bytes, threads, enabled, dictionary buffer bytes, trainer. The
/// last ones may be missing. If there are six values, the sixth is `enabled`.
impl OptionText for CompressionOptions {
    fn print(&self) -> String {
        // The braces are needed because the value contains semicolons.
        format!(
            "{{max_compressed_bytes_per_kb={};checksum={};max_dict_buffer_bytes={};\
             use_zstd_dict_trainer={};enabled={};parallel_threads={};zstd_max_train_bytes={};\
             level={};strategy={};window_bits={};max_dict_bytes={}}}",
            self.max_compressed_bytes_per_kb,
            self.checksum,
            self.max_dict_buffer_bytes,
            self.use_zstd_dict_trainer,
            self.enabled,
            self.parallel_threads,
            self.zstd_max_train_bytes,
            self.level,
            self.strategy,
            self.window_bits,
            self.max_dict_bytes,
        )
    }

    fn parse(text: &str) -> Option<Self> {
        CompressionOptions::default().parse_over(text)
    }

    fn parse_over(&self, text: &str) -> Option<Self> {
        let text = match text.strip_prefix('{') {
            Some(inner) => inner.strip_suffix('}')?,
            None => text,
        };
        if text.contains('=') || text.is_empty() {
            by_name(*self, text)
        } else {
            by_place(*self, text)
        }
    }
}

fn by_name(mut options: CompressionOptions, text: &str) -> Option<CompressionOptions> {
    for (name, value) in split_assignments(text).ok()? {
        set(&mut options, name, value)?;
    }
    Some(options)
}

fn by_place(mut options: CompressionOptions, text: &str) -> Option<CompressionOptions> {
    const NAMES: [&str; 9] = [
        "window_bits",
        "level",
        "strategy",
        "max_dict_bytes",
        "zstd_max_train_bytes",
        "parallel_threads",
        "enabled",
        "max_dict_buffer_bytes",
        "use_zstd_dict_trainer",
    ];
    let values: Vec<&str> = text.split(':').map(str::trim).collect();
    if !(3..=NAMES.len()).contains(&values.len()) {
        return None;
    }
    for (i, value) in values.iter().enumerate() {
        let name = match i {
            // RocksDB added the number of threads in front of it later.
            5 if values.len() == 6 => "enabled",
            i => NAMES[i],
        };
        set(&mut options, name, value)?;
    }
    Some(options)
}

fn set(options: &mut CompressionOptions, name: &str, value: &str) -> Option<()> {
    let flag = |value: &str| match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    };
    match name {
        "window_bits" => options.window_bits = value.parse().ok()?,
        "level" => options.level = value.parse().ok()?,
        "strategy" => options.strategy = value.parse().ok()?,
        "max_dict_bytes" => options.max_dict_bytes = value.parse().ok()?,
        "zstd_max_train_bytes" => options.zstd_max_train_bytes = value.parse().ok()?,
        "parallel_threads" => options.parallel_threads = value.parse().ok()?,
        "enabled" => options.enabled = flag(value)?,
        "max_dict_buffer_bytes" => options.max_dict_buffer_bytes = value.parse().ok()?,
        "use_zstd_dict_trainer" => options.use_zstd_dict_trainer = flag(value)?,
        "max_compressed_bytes_per_kb" => {
            options.max_compressed_bytes_per_kb = value.parse().ok()?;
        }
        "checksum" => options.checksum = flag(value)?,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    #[test]
    fn text_in_both_forms() {
        let parse = |text: &str| CompressionOptions::parse(text);
        let defaults = CompressionOptions::default();
        assert_eq!(parse(""), Some(defaults));
        assert_eq!(parse(&defaults.print()), Some(defaults));
        let some = CompressionOptions {
            window_bits: -10,
            level: 5,
            strategy: 1,
            max_dict_bytes: 4096,
            ..defaults
        };
        assert_eq!(parse("-10:5:1:4096"), Some(some));
        let changed = CompressionOptions { level: 6, ..some };
        assert_eq!(some.parse_over("{level=6}"), Some(changed));
        assert_eq!(
            parse("window_bits=-10; level=5;strategy=1;max_dict_bytes=4096;"),
            Some(some)
        );
        let trained = CompressionOptions {
            zstd_max_train_bytes: 8,
            enabled: true,
            ..some
        };
        assert_eq!(parse("-10:5:1:4096:8:true"), Some(trained));
        let threads = CompressionOptions {
            parallel_threads: 3,
            max_dict_buffer_bytes: 9,
            use_zstd_dict_trainer: false,
            ..trained
        };
        assert_eq!(parse("-10:5:1:4096:8:3:true:9:false"), Some(threads));
        assert_eq!(parse(&threads.print()), Some(threads));
        for bad in ["1:2", "a:1:2", "level=x", "depth=1", "1:2:3:-4", "{level=1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn compression_by_level() {
        use CompressionType::{Lz4, None as Plain, Snappy, Zlib, Zstd};
        let mut cf = CfOptions {
            compression: Snappy,
            ..CfOptions::default()
        };
        let ty = |cf: &CfOptions, level, bottommost, base: usize| {
            cf.compression_at(level, bottommost, || base).ty
        };
        assert_eq!(ty(&cf, 3, true, 1), Snappy);
        cf.compression_per_level = vec![Plain, Lz4, Zlib];
        assert_eq!(cf.flush_compression().ty, Plain);
        assert_eq!(
            [0, 1, 2, 3, 6].map(|l| ty(&cf, l, false, 1)),
            [Plain, Lz4, Zlib, Zlib, Zlib]
        );
        // The second type applies to the first level below 0 that is used.
        assert_eq!(
            [0, 4, 5, 6].map(|l| ty(&cf, l, false, 4)),
            [Plain, Lz4, Zlib, Zlib]
        );
        cf.bottommost_compression = Some(Zstd);
        assert_eq!([0, 1, 6].map(|l| ty(&cf, l, true, 1)), [Zstd; 3]);
        assert_eq!(ty(&cf, 6, false, 1), Zlib);
        assert_eq!(cf.flush_compression().ty, Plain);
    }

    #[test]
    fn options_of_the_bottommost_level_count_if_enabled() {
        let mut cf = CfOptions::default();
        cf.compression_opts.level = 3;
        cf.bottommost_compression_opts.level = 9;
        let level =
            |cf: &CfOptions, bottommost| cf.compression_at(6, bottommost, || 1).options.level;
        assert_eq!((level(&cf, false), level(&cf, true)), (3, 3));
        cf.bottommost_compression_opts.enabled = true;
        assert_eq!((level(&cf, false), level(&cf, true)), (3, 9));
    }

    #[test]
    fn options_of_codecs_in_use_are_checked() {
        let mut cf = CfOptions::default();
        cf.compression_opts.strategy = 7;
        cf.validate().unwrap();
        cf.bottommost_compression = Some(CompressionType::Zlib);
        let e = cf.validate().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        let text = e.to_string();
        assert!(
            text.contains("option compression_opts: strategy = 7"),
            "{text}"
        );
        cf.compression_opts.strategy = 0;
        cf.bottommost_compression_opts.window_bits = 15;
        cf.validate().unwrap();
        cf.bottommost_compression_opts.enabled = true;
        let e = cf.validate().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported);
        assert!(e.to_string().contains("bottommost_compression_opts"), "{e}");
    }
}
