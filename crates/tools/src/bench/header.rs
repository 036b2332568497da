//! The block of facts above the results, in RocksDB's layout.

use super::clock;
use super::engine::Result;
use super::flags::Flags;

/// Engine, date and machine, for standard error.
pub fn environment(engine: &str) -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpus.lines()
            .find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == name))
            .map_or("unknown", |(_, value)| value.trim())
    };
    let count = cpus
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    format!(
        "{engine}\nDate:       {} UTC\nCPU:        {count} * {}\nCPUCache:   {}\n",
        clock::timestamp(),
        field("model name"),
        field("cache size"),
    )
}

/// Sizes and options, for the output.
///
/// # Errors
/// The compression type is not valid.
pub fn summary(flags: &Flags) -> Result<String> {
    let (keys, values, num) = (
        f64::from(flags.key_size),
        f64::from(flags.value_size),
        flags.num as f64,
    );
    let compressed = values * flags.compression_ratio;
    let megabytes = |bytes: f64| bytes * num / 1_048_576.0;
    let mut text = format!(
        "Keys:       {} bytes each (+ 0 bytes user-defined timestamp)\n\
         Values:     {} bytes each ({} bytes after compression)\n\
         Entries:    {}\n\
         Prefix:    {} bytes\n\
         Keys per prefix:    {}\n\
         RawSize:    {:.1} MB (estimated)\n\
         FileSize:   {:.1} MB (estimated)\n\
         Write rate: {} bytes/second\n\
         Read rate: {} ops/second\n\
         Compression: {}\n\
         Compression sampling rate: 0\n\
         Memtablerep: {}\n\
         Perf Level: {}\n",
        flags.key_size,
        flags.value_size,
        (compressed + 0.5) as i64,
        flags.num,
        flags.prefix_size,
        flags.keys_per_prefix,
        megabytes(keys + values),
        megabytes(keys + compressed),
        flags.benchmark_write_rate_limit,
        flags.benchmark_read_rate_limit,
        flags.compression()?.title(),
        flags.memtable_title(),
        flags.perf_level,
    );
    if cfg!(debug_assertions) {
        text += "WARNING: Assertions are enabled; benchmarks unnecessarily slow\n";
    }
    text += "------------------------------------------------\n";
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_rocksdbs_lines() {
        let text = summary(&Flags {
            num: 20_000,
            ..Flags::default()
        })
        .expect("default flags");
        for line in [
            "Keys:       16 bytes each (+ 0 bytes user-defined timestamp)",
            "Values:     100 bytes each (50 bytes after compression)",
            "Entries:    20000",
            "RawSize:    2.2 MB (estimated)",
            "FileSize:   1.3 MB (estimated)",
            "Compression: Snappy",
            "Prefix:    0 bytes",
            "Memtablerep: auto",
            "Perf Level: 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    #[test]
    fn the_environment_names_engine_and_processor() {
        let text = environment("Whitewater: version 1");
        assert!(
            text.starts_with("Whitewater: version 1\nDate:       2"),
            "{text}"
        );
        assert!(text.contains("\nCPU:        "), "{text}");
    }
}
