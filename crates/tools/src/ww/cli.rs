//! The command line.
//!
//! RocksDB's spellings work, too: flags with underscores, and the names of `ldb`'s commands
//! as aliases.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::failure::Result;
use super::session::Session;

use super::{
    backups, bulk, check, checksums, entity, families, files, idump, inspect, maintain, manifest,
    options, point, prepared, scan, serve, sst, wal,
};

const LONG_ABOUT: &str = "\
Inspects and changes databases of Whitewater and RocksDB: RocksDB's ldb and sst_dump in one \
program.

Data goes to standard output, messages to standard error. Commands that only read never write to \
the database's directory, so they work while another process has it open. Commands that write \
need exclusive access.";

const EXAMPLES: &str = "\
Examples:
  ww --db /data/db scan --from user: --max-keys 10
  ww --db /data/db --column-family orders get --hex 0x6B31
  ww manifest-dump /data/db --edits
  ww sst-dump /data/db/000012.sst --command properties
  ww --db /data/db dump --hex | ww --db /data/copy load --hex --create-if-missing

Exit codes:
  0  success
  1  not found, or a check failed
  2  invalid command line or input
  3  the database or a file could not be read or written";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "ww",
    version,
    about = "Inspects and changes databases, like RocksDB's ldb and sst_dump",
    long_about = LONG_ABOUT,
    after_help = EXAMPLES,
    max_term_width = 100,
)]
pub struct Cli {
    /// The arguments that all commands share.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The arguments that all commands share.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The database's directory.
    #[arg(long, global = true, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The column family to read or write.
    #[arg(
        long,
        visible_alias = "cf",
        global = true,
        value_name = "NAME",
        default_value = "default"
    )]
    pub column_family: String,
    /// Read and print keys and values as hexadecimal digits.
    #[arg(long, global = true)]
    pub hex: bool,
    /// Read and print keys as hexadecimal digits.
    #[arg(long, global = true)]
    pub key_hex: bool,
    /// Read and print values as hexadecimal digits.
    #[arg(long, global = true)]
    pub value_hex: bool,
    /// The database was written with TTL: each value ends with the time of its write, which
    /// is neither printed nor read.
    #[arg(long, global = true)]
    pub ttl: bool,
    /// Print JSON, one value on each line. Keys and values that are not UTF-8 appear as
    /// `key_hex` and `value_hex`.
    #[arg(long, global = true)]
    pub json: bool,
    /// Read as a secondary instance whose own files are in this directory.
    #[arg(long, global = true, value_name = "PATH")]
    pub secondary_path: Option<PathBuf>,
    /// The directories of tables and blob files, in the order of the database's `db_paths`, if it
    /// was opened with some. What a command writes goes to the first one.
    #[arg(long, global = true, value_name = "PATH", value_delimiter = ',')]
    pub db_paths: Vec<PathBuf>,
    /// The directories of a column family, if it was opened with `cf_paths`, one flag for each, in
    /// their order.
    #[arg(long, global = true, value_name = "NAME=PATH", value_parser = super::paths::family_path)]
    pub cf_path: Vec<(String, PathBuf)>,
    /// Whether to open the database with the options of its newest OPTIONS file. Options
    /// that this engine does not support are skipped with a warning.
    #[arg(
        long,
        global = true,
        value_name = "BOOL",
        default_value_t = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub try_load_options: bool,
    /// The merge operator. By default it is the one that the OPTIONS file names, if it is
    /// one of these.
    #[arg(long, global = true, value_name = "NAME")]
    pub merge_operator: Option<super::open::Operator>,
    /// Print no warnings and no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "the arguments' types have the commands' docs")]
pub enum Command {
    Get(point::Get),
    Put(point::Put),
    #[command(visible_alias = "get_entity")]
    GetEntity(entity::GetEntity),
    #[command(visible_alias = "put_entity")]
    PutEntity(entity::PutEntity),
    Delete(point::Delete),
    #[command(alias = "delete-range", alias = "delete_range")]
    Deleterange(point::DeleteRange),
    Merge(point::Merge),
    #[command(alias = "batch-put", alias = "batch_put")]
    Batchput(point::BatchPut),
    Scan(scan::Scan),
    Dump(bulk::Dump),
    Load(bulk::Load),
    #[command(visible_alias = "write_extern_sst")]
    WriteSst(bulk::WriteSst),
    #[command(visible_alias = "ingest_extern_sst")]
    Ingest(bulk::Ingest),
    #[command(visible_alias = "list_column_families")]
    ListColumnFamilies(families::List),
    #[command(visible_alias = "create_column_family")]
    CreateColumnFamily(families::Create),
    #[command(visible_alias = "drop_column_family")]
    DropColumnFamily(families::Drop),
    #[command(alias = "approx-size", alias = "approx_size")]
    Approxsize(inspect::ApproxSize),
    #[command(visible_alias = "list_live_files_metadata")]
    LiveFiles(inspect::LiveFiles),
    #[command(visible_alias = "get_property", alias = "property")]
    Properties(inspect::Properties),
    Files(files::Files),
    #[command(visible_alias = "file_checksum_dump")]
    FileChecksumDump(checksums::Dump),
    #[command(alias = "check-consistency", alias = "check_consistency")]
    Checkconsistency(check::Check),
    Compact(maintain::Compact),
    Repair(maintain::Repair),
    Checkpoint(maintain::Checkpoint),
    Backup(backups::Backup),
    Restore(backups::Restore),
    ListBackups(backups::List),
    VerifyBackup(backups::Verify),
    DeleteBackup(backups::Delete),
    PurgeBackups(backups::Purge),
    #[command(visible_alias = "manifest_dump")]
    ManifestDump(manifest::Dump),
    #[command(visible_alias = "dump_wal", alias = "wal_dump")]
    WalDump(wal::Dump),
    #[command(visible_alias = "sst_dump")]
    SstDump(sst::Dump),
    Idump(idump::Dump),
    Prepared(prepared::Prepared),
    Options(options::Show),
    Serve(serve::Serve),
    #[cfg(feature = "top")]
    Top(super::top::Top),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Those of the command.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        match self {
            Command::Get(c) => c.run(session),
            Command::Put(c) => c.run(session),
            Command::GetEntity(c) => c.run(session),
            Command::PutEntity(c) => c.run(session),
            Command::Delete(c) => c.run(session),
            Command::Deleterange(c) => c.run(session),
            Command::Merge(c) => c.run(session),
            Command::Batchput(c) => c.run(session),
            Command::Scan(c) => c.run(session),
            Command::Dump(c) => c.run(session),
            Command::Load(c) => c.run(session),
            Command::WriteSst(c) => c.run(session),
            Command::Ingest(c) => c.run(session),
            Command::ListColumnFamilies(c) => c.run(session),
            Command::CreateColumnFamily(c) => c.run(session),
            Command::DropColumnFamily(c) => c.run(session),
            Command::Approxsize(c) => c.run(session),
            Command::LiveFiles(c) => c.run(session),
            Command::Properties(c) => c.run(session),
            Command::Files(c) => c.run(session),
            Command::FileChecksumDump(c) => c.run(session),
            Command::Checkconsistency(c) => c.run(session),
            Command::Compact(c) => c.run(session),
            Command::Repair(c) => c.run(session),
            Command::Checkpoint(c) => c.run(session),
            Command::Backup(c) => c.run(session),
            Command::Restore(c) => c.run(session),
            Command::ListBackups(c) => c.run(session),
            Command::VerifyBackup(c) => c.run(session),
            Command::DeleteBackup(c) => c.run(session),
            Command::PurgeBackups(c) => c.run(session),
            Command::ManifestDump(c) => c.run(session),
            Command::WalDump(c) => c.run(session),
            Command::SstDump(c) => c.run(session),
            Command::Idump(c) => c.run(session),
            Command::Prepared(c) => c.run(session),
            Command::Options(c) => c.run(session),
            Command::Serve(c) => c.run(session),
            #[cfg(feature = "top")]
            Command::Top(c) => c.run(session),
        }
    }
}

/// Converts `--column_family=x_y` to `--column-family=x_y`, because RocksDB's flags have
/// underscores.
pub fn with_dashes(argument: OsString) -> OsString {
    let bytes = argument.as_bytes();
    let Some(flag) = bytes.strip_prefix(b"--") else {
        return argument;
    };
    let end = flag.iter().position(|&byte| byte == b'=');
    let (name, rest) = flag.split_at(end.unwrap_or(flag.len()));
    let dash = |byte: &u8| if *byte == b'_' { b'-' } else { *byte };
    let mut changed = b"--".to_vec();
    changed.extend(name.iter().map(dash));
    changed.extend(rest);
    OsString::from_vec(changed)
}

/// The bytes of an argument.
pub fn bytes(argument: &OsStr) -> &[u8] {
    argument.as_bytes()
}
