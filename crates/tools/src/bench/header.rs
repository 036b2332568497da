//! The block of facts above the results, in RocksDB's layout.

use super::clock;
use super::engine::Result;
use super::flags::Flags;
use super::in_force::{InForce, memtable_title};

/// Engine, date (UTC) and machine, for standard error.
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
        "{engine}\nDate:       {}\nCPU:        {count} * {}\nCPUCache:   {}\n",
        clock::ctime(),
        field("model name"),
        field("cache size"),
    )
}

/// Sizes and options, for the output. It shows what is in force as far as that is
/// known, and otherwise what the flags ask for.
///
/// # Errors
/// The compression type is not valid.
pub fn summary(flags: &Flags, in_force: &InForce) -> Result<String> {
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
         Commit protocol: {}\n\
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
        memtable_title(in_force.memtable.as_deref().unwrap_or(&flags.memtablerep)),
        protocol(flags, in_force),
        flags.perf_level,
    );
    if cfg!(debug_assertions) {
        text += "WARNING: Assertions are enabled; benchmarks unnecessarily slow\n";
    }
    text += "------------------------------------------------\n";
    Ok(text)
}

/// The protocol in force, or the one that the flags ask for.
fn protocol<'f>(flags: &'f Flags, in_force: &'f InForce) -> &'f str {
    let asked_for = match flags.commit_protocol.as_str() {
        "" if flags.enable_pipelined_write => "pipelined",
        "" if flags.unordered_write => "unordered",
        "" => "the engine's",
        name => name,
    };
    in_force.commit_protocol.as_deref().unwrap_or(asked_for)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_rocksdbs_lines() {
        let flags = Flags {
            num: 20_000,
            ..Flags::default()
        };
        let text = summary(&flags, &InForce::default()).expect("default flags");
        for line in [
            "Keys:       16 bytes each (+ 0 bytes user-defined timestamp)",
            "Values:     100 bytes each (50 bytes after compression)",
            "Entries:    20000",
            "RawSize:    2.2 MB (estimated)",
            "FileSize:   1.3 MB (estimated)",
            "Compression: Snappy",
            "Prefix:    0 bytes",
            "Memtablerep: auto",
            "Commit protocol: the engine's",
            "Perf Level: 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    #[test]
    fn the_summary_says_what_is_in_force() {
        let in_force = InForce {
            commit_protocol: Some("ordered".into()),
            memtable: Some("skip_list".into()),
        };
        let text = summary(&Flags::default(), &in_force).expect("default flags");
        assert!(text.contains("\nMemtablerep: SkipListFactory\n"), "{text}");
        assert!(text.contains("\nCommit protocol: ordered\n"), "{text}");
    }

    #[test]
    fn the_environment_names_engine_and_processor() {
        let text = environment("Whitewater: version 1");
        assert!(
            text.starts_with("Whitewater: version 1\nDate:       "),
            "{text}"
        );
        assert!(text.contains("\nCPU:        "), "{text}");
        // `benchmark.sh` splits it into weekday, month, day, time and year.
        let date = text.lines().find_map(|line| line.strip_prefix("Date:"));
        let parts: Vec<_> = date.unwrap_or_default().split_whitespace().collect();
        assert_eq!(parts.len(), 5, "{text}");
        assert!(
            parts[4].parse::<u32>().is_ok_and(|year| year > 2000),
            "{text}"
        );
    }
}
