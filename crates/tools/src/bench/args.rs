//! From a command line to a [`Command`]: RocksDB's spellings of flags, and what
//! to say about flags that this program does not honour.
//!
//! Flags may begin with one dash or two. A value follows as `-flag=value` or
//! `-flag value`. A switch is `--flag`, `--noflag` or `--flag=true`, and never
//! takes the next argument. Names may contain dashes or underscores. If a flag is
//! given twice, the last value counts. [`super::sources`] inserts the flags that
//! come from files and from the environment.
//!
//! `--undefok` names flags that may be unknown, or known only to RocksDB. Such a
//! flag is skipped, with a note on standard error; its value must follow `=`.

use super::engine::{Failure, Result};
use super::flags::{self, FlagSet, Flags, Kind};
use super::known;
use super::sources;
use crate::interrupt;

/// What a command line asks for.
#[derive(Debug, PartialEq)]
pub enum Command<F = Flags> {
    /// No arguments: the tour.
    Tour,
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// Run benchmarks.
    Run(Box<F>),
}

/// Reads the arguments that follow db_bench's name.
///
/// # Errors
/// As [`parse_as`].
pub fn parse<I>(arguments: I) -> Result<Command>
where
    I: IntoIterator<Item = String>,
{
    parse_as(arguments)
}

/// Reads the arguments that follow the name of the program that has the flags `F`.
///
/// # Errors
/// The flag is unknown, known only to RocksDB, malformed or out of range; the
/// message names it.
pub fn parse_as<F, I>(arguments: I) -> Result<Command<F>>
where
    F: FlagSet,
    I: IntoIterator<Item = String>,
{
    let mut arguments = arguments.into_iter().peekable();
    if arguments.peek().is_none() {
        return Ok(Command::Tour);
    }
    let program = F::PROGRAM;
    let expanded = sources::expand(program, arguments, &|name| std::env::var_os(name))?;
    let mut arguments = expanded.list.into_iter();
    let mut flags = F::default();
    while let Some(argument) = arguments.next() {
        let Some((name, attached)) = split(&argument) else {
            return Err(Failure(format!(
                "unexpected argument '{argument}': flags start with a dash, and the value of a switch follows '=', as in --sync=false"
            )));
        };
        match name.as_str() {
            "help" | "h" | "helpshort" | "helpfull" => return Ok(Command::Help),
            "version" => return Ok(Command::Version),
            _ => {}
        }
        if passes_over::<F>(&name, &expanded.undefok) {
            interrupt::note(&format!(
                "{program}: --{name} is passed over, as --undefok says\n"
            ));
            continue;
        }
        let (target, negated) = resolve::<F>(&name)?;
        let value = match (target.kind(), attached, negated) {
            (Kind::Switch, Some(_), true) => {
                return Err(Failure(format!("--{name} takes no value")));
            }
            (Kind::Switch, None, negated) => (!negated).to_string(),
            (_, Some(value), _) => value,
            (Kind::Value, None, _) => arguments
                .next()
                .ok_or_else(|| Failure(format!("--{name} needs a value")))?,
        };
        match target {
            Target::Honoured(spec) => flags.set(spec.name, &value)?,
            Target::Known(known) => refuse_unless_unused(F::PEER, known, &value)?,
        }
    }
    flags.validate()?;
    Ok(Command::Run(Box::new(flags)))
}

/// The name and attached value of a flag; `None` if the argument is not a flag.
fn split(argument: &str) -> Option<(String, Option<String>)> {
    let body = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'))?;
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (body, None),
    };
    (!name.is_empty()).then(|| (name.replace('-', "_"), value))
}

/// What a flag's name refers to.
enum Target {
    Honoured(&'static flags::Spec),
    Known(known::Known),
}

impl Target {
    fn find<F: FlagSet>(name: &str) -> Option<Self> {
        let own = F::alias(name).unwrap_or(name);
        let honoured = F::table()
            .iter()
            .find(|spec| spec.name == own)
            .map(Self::Honoured);
        let mut known = F::known().into_iter();
        honoured.or_else(|| known.find(|known| known.name == name).map(Self::Known))
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Honoured(spec) => spec.kind,
            Self::Known(known) => known.kind,
        }
    }
}

/// Whether to skip a flag that is not one of the program's own.
fn passes_over<F: FlagSet>(name: &str, undefok: &[String]) -> bool {
    let names = |name: &str| undefok.iter().any(|undefined| undefined == name);
    let known = |name: &str| matches!(Target::find::<F>(name), Some(Target::Honoured(_)));
    let positive = name.strip_prefix("no");
    let named = names(name) || positive.is_some_and(names);
    named && !known(name) && !positive.is_some_and(known)
}

/// Finds the flag called `name`, or the switch that `noNAME` negates.
fn resolve<F: FlagSet>(name: &str) -> Result<(Target, bool)> {
    if let Some(target) = Target::find::<F>(name) {
        return Ok((target, false));
    }
    let negated = name.strip_prefix("no").and_then(Target::find::<F>);
    if let Some(target) = negated.filter(|target| target.kind() == Kind::Switch) {
        return Ok((target, true));
    }
    let names = F::table()
        .iter()
        .map(|spec| spec.name)
        .chain(F::known().into_iter().map(|known| known.name));
    Err(Failure(format!(
        "unknown flag --{name}; the nearest known one is --{}",
        nearest(name, names)
    )))
}

fn refuse_unless_unused(peer: &str, known: known::Known, value: &str) -> Result<()> {
    let unused = known.unused.is_some_and(|unused| match known.kind {
        Kind::Switch => flags::switch_value(value) == Some(false),
        Kind::Value => unused == value,
    });
    if unused {
        return Ok(());
    }
    let alternative = match known.unused {
        Some("") => format!(" (only --{}= is accepted)", known.name),
        Some(unused) => format!(" (only --{}={unused} is accepted)", known.name),
        None => String::new(),
    };
    Err(Failure(format!(
        "--{}={value}: {peer} knows this flag, this build does not honour it yet{alternative}",
        known.name
    )))
}

/// The candidate with the smallest edit distance to `name`; of several such
/// candidates, the first.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> &'a str {
    candidates
        .min_by_key(|candidate| strsim::damerau_levenshtein(name, candidate))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Flags {
        match parse(line.split_whitespace().map(String::from)).expect(line) {
            Command::Run(flags) => *flags,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        parse(line.split_whitespace().map(String::from))
            .expect_err(line)
            .to_string()
    }

    #[test]
    fn every_spelling_sets_the_flag() {
        for line in [
            "-num=7",
            "--num=7",
            "-num 7",
            "--num 7",
            "--num=3 --num=7",
            "--num=0x7",
        ] {
            assert_eq!(run(line).num, 7, "{line}");
        }
        for line in [
            "-sync",
            "--sync",
            "--sync=true",
            "--sync=1",
            "--sync=yes",
            "-sync=T",
            "--nosync --sync",
        ] {
            assert!(run(line).sync, "{line}");
        }
        for line in [
            "--noverify_checksum",
            "--verify_checksum=false",
            "--verify_checksum=0",
            "-verify-checksum=no",
        ] {
            assert!(!run(line).verify_checksum, "{line}");
        }
        assert_eq!(run("--db= --num=1").db, "");
        assert_eq!(run("--merge_keys -5").merge_keys, -5);
        assert_eq!(
            run("-benchmarks=fillrandom[-X5],stats").benchmarks,
            "fillrandom[-X5],stats"
        );
    }

    #[test]
    fn flags_of_the_log_are_taken() {
        let flags = run(
            "--wal_size_limit_MB=7 --wal_ttl_seconds=8 --manual_wal_flush --wal_bytes_per_sync=9 \
             --wal_compression=ZSTD --track_and_verify_wals_in_manifest",
        );
        assert_eq!(
            (
                flags.wal_size_limit_mb,
                flags.wal_ttl_seconds,
                flags.wal_bytes_per_sync
            ),
            (7, 8, 9)
        );
        assert!(flags.manual_wal_flush && flags.track_and_verify_wals_in_manifest);
        assert!(refused("--wal_compression=snappy").contains("none and zstd"));
    }

    #[test]
    fn a_switch_does_not_take_the_next_argument() {
        let flags = run("--disable_wal --num 5");
        assert!(flags.disable_wal);
        assert_eq!(flags.num, 5);
        assert!(refused("--disable_wal 1").contains("unexpected argument '1'"));
    }

    #[test]
    fn the_tour_the_help_and_the_version() {
        let parse = |line: &str| parse(line.split_whitespace().map(String::from));
        assert_eq!(parse("").expect("no arguments"), Command::Tour);
        assert_eq!(parse("--help").expect("help"), Command::Help);
        assert_eq!(parse("-version").expect("version"), Command::Version);
    }

    #[test]
    fn unknown_flags_name_the_nearest_one() {
        assert!(refused("--thread=3").contains("--threads"));
        assert!(refused("--value_sizes=3").contains("--value_size"));
        assert!(refused("--unordered_writes").contains("--unordered_write"));
        assert!(refused("--nonum=3").contains("unknown flag --nonum"));
        assert!(refused("--num").contains("--num needs a value"));
        assert!(refused("--num=x").contains("--num"));
        assert!(refused("--nosync=1").contains("takes no value"));
        assert!(refused("fillrandom").contains("unexpected argument"));
    }

    #[test]
    fn flags_that_only_rocksdb_honours_are_refused_by_name() {
        for (line, name) in [
            ("--use_plain_table", "use_plain_table"),
            ("--use_plain_table=true", "use_plain_table"),
            ("--use_blob_db=1", "use_blob_db"),
            ("--simcache_size 1", "simcache_size"),
            ("--noenable_index_compression", "enable_index_compression"),
            ("--num_multi_db=4", "num_multi_db"),
            ("--block_align", "block_align"),
            ("--mmap_read", "mmap_read"),
        ] {
            let message = refused(line);
            assert!(
                message.contains(name) && message.contains("RocksDB"),
                "{message}"
            );
        }
    }

    #[test]
    fn flags_that_undefok_names_may_be_unknown() {
        let flags = run(
            "--undefok=not_a_flag,use_blob_db,num --not_a_flag=3 --nouse_blob_db \
             --use_blob_db=1 --num=4 --reads 5",
        );
        assert_eq!((flags.num, flags.reads), (4, 5));
        assert_eq!(run("--not_a_flag --undefok=not-a-flag").num, 1_000_000);
        assert!(refused("--undefok=other --not_a_flag=3").contains("unknown flag"));
        assert!(refused("--undefok=num --num=x").contains("--num"));
    }

    #[test]
    fn features_that_are_explicitly_unused_pass() {
        for line in [
            "--inplace_update_support=false",
            "--noinplace_update_support",
            "--use_plain_table=false",
            "--nouse_plain_table",
            "--unordered_write=false",
            "--enable_pipelined_write=false",
            "--memtablerep=auto",
            "--prefix_size=0",
            "--total_order_seek=false",
            "--use_direct_reads=0",
            "--simcache_size=-1",
            "--num_column_families=1",
            "--num_multi_db=0",
            "--noblock_align",
        ] {
            assert_eq!(run(line), Flags::default(), "{line}");
        }
    }

    #[test]
    fn command_lines_from_the_field() {
        let flags = run(
            "-benchmarks=fillrandom -threads=16 -batch_size=1 -memtablerep=skip_list -value_size=100 --num=62500 \
             -level0_slowdown_writes_trigger=9999 -level0_stop_writes_trigger=9999 -disable_auto_compactions \
             --max_write_buffer_number=8 -max_background_flushes=8 --disable_wal --write_buffer_size=160000000 \
             --block_size=16384 --allow_concurrent_memtable_write",
        );
        assert_eq!(
            (flags.threads, flags.num, flags.max_background_flushes),
            (16, 62_500, 8)
        );
        assert!(flags.disable_wal && flags.disable_auto_compactions);

        let flags =
            run("--benchmarks=fillrandom --threads 160 --seed 1708494134896523 --duration 60");
        assert_eq!(
            (flags.threads, flags.seed, flags.duration),
            (160, 1_708_494_134_896_523, 60)
        );

        let flags = run(
            "--benchmarks=fillrandom[-X5] --threads=160 --seed=1708494134896523 --duration=30 \
             --disable_auto_compactions=1 --max_write_buffer_number=100 --min_write_buffer_number_to_merge=100 --statistics=0",
        );
        assert!(flags.disable_auto_compactions && !flags.statistics);

        let flags = run(
            "--db=./data --disable_wal=true --key_size=35 --value_size=100 --write_buffer_size=4096000000 \
             --benchmarks=fillrandom --batch_size=512 --num=1000000 --threads=1 --compression_type=none \
             --allow_concurrent_memtable_write=false",
        );
        assert_eq!(flags.write_buffer_size, 4_096_000_000);
        assert!(!flags.allow_concurrent_memtable_write);
    }
}
