//! Many keys at a time, as lines and as tables.
//!
//! The text form is that of `ldb dump`: one line `key ==> value` for each key, and a last
//! line `Keys in range: N`, from which [`Load`] knows that the input is complete.

use std::io::{BufRead, stdin};
use std::path::PathBuf;

use clap::Args;
use whitewater::{IngestExternalFileOptions, Options, SstFileWriter, WriteBatch, WriteOptions};

use super::entity;
use super::failure::{Failure, Result};
use super::open::{self, Loaded, Scope};
use super::scan::{Range, without_time};
use super::session::Session;
use super::text::Form;

/// The separator between key and value.
const ARROW: &[u8] = b" ==> ";

/// The beginning of the last line.
const SUMMARY: &[u8] = b"Keys in range: ";

/// The size in bytes at which a batch is written.
const BATCH_BYTES: usize = 1 << 20;

/// The number of pairs between two updates of the progress bar.
const PROGRESS_STEP: u64 = 4096;

/// Prints keys and values in the text form that `load` and RocksDB's `ldb load` read.
///
/// Without --hex, keys and values that this form cannot represent, such as those with line
/// breaks, are refused.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db dump --hex > all.txt
  ww --db /data/db dump --hex --column-family orders | ldb load --hex --db=/copy --create_if_missing
  ww --db /data/db dump --count-only")]
pub struct Dump {
    #[command(flatten)]
    range: Range,
    /// Print only the number of keys.
    #[arg(long)]
    count_only: bool,
}

impl Dump {
    /// Runs the command.
    ///
    /// # Errors
    /// Reading fails, or the text form cannot represent a key or value.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let opened = open::to_read(session, session.db()?, Scope::One)?;
        let estimate = opened
            .db
            .property_int_value_cf(opened.cf()?, "rocksdb.estimate-num-keys")?;
        let estimate = estimate.filter(|_| self.range.is_everything());
        let progress = session.progress("dump", "keys", estimate);
        let (mut count, mut entities) = (0u64, 0u64);
        self.range
            .each(session, &opened, false, |session, key, value, columns| {
                count += 1;
                if count.is_multiple_of(PROGRESS_STEP) {
                    progress.add(PROGRESS_STEP);
                }
                if self.count_only {
                    return Ok(());
                }
                if entity::is_entity(columns) {
                    entities += 1;
                    if !session.json {
                        check_text(session, key, &entity::text(session, columns))?;
                    }
                    return entity::line(session, key, columns);
                }
                let (value, _) = without_time(session, key, value)?;
                if !session.json {
                    check_text(session, key, value)?;
                }
                session.pair(key, Some(value))
            })?;
        progress.finish();
        if entities > 0 && !session.json {
            session.warn(format_args!(
                "the columns of {entities} keys are printed as text, which load takes for values"
            ));
        }
        session.either(
            format_args!("Keys in range: {count}"),
            serde_json::json!({"count": count}),
        )
    }
}

/// Checks that the line for `key` and `value` can be parsed again.
fn check_text(session: &Session<'_>, key: &[u8], value: &[u8]) -> Result<()> {
    let contains = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|w| w == part);
    let breaks = |form: Form, bytes: &[u8]| form == Form::Raw && bytes.contains(&b'\n');
    let key_is_raw = session.keys == Form::Raw;
    let ends_early = key_is_raw && contains(&[key, b" ==>"].concat(), ARROW);
    let is_summary = key_is_raw && key.starts_with(SUMMARY);
    if breaks(session.keys, key) || breaks(session.values, value) || ends_early || is_summary {
        return Err(Failure::usage(format_args!(
            "key {} or its value cannot stand in the text form: use --hex",
            Form::Hex.show(key)
        )));
    }
    Ok(())
}

/// Reads pairs of key and value from standard input and passes each to `each`. Returns
/// their number.
fn read_pairs(
    session: &Session<'_>,
    mut each: impl FnMut(u64, Vec<u8>, Vec<u8>) -> Result<()>,
) -> Result<u64> {
    let mut input = stdin().lock();
    let (mut line, mut number, mut count) = (Vec::new(), 0u64, 0u64);
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        let read = read.map_err(|e| Failure::Other(format!("standard input: {e}")))?;
        if read == 0 {
            return Ok(count);
        }
        number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if text.is_empty() {
            continue;
        }
        let bad = |what: &str| Failure::usage(format_args!("line {number}: {what}"));
        match split(text) {
            Some((key, value)) => {
                let key = session.keys.parse(key, "key");
                let value = session.values.parse(value, "value");
                let named = |e: Failure| bad(&e.message().unwrap_or_default());
                each(number, key.map_err(named)?, value.map_err(named)?)?;
                count += 1;
            }
            None => match text.strip_prefix(SUMMARY) {
                Some(stated) if stated == count.to_string().as_bytes() => {}
                Some(_) => return Err(bad(&format!("{count} keys came before it"))),
                None => return Err(bad("is not 'key ==> value'")),
            },
        }
    }
}

/// The key and value of a line.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.windows(ARROW.len()).position(|part| part == ARROW)?;
    Some((&line[..at], &line[at + ARROW.len()..]))
}

/// Reads lines `key ==> value` from standard input and writes them to the database.
///
/// A malformed line ends the command. The message names the line; the lines before it may
/// have been written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /copy load --hex --create-if-missing < all.txt
  ldb dump --hex --db=/data/db | ww --db /copy load --hex --create-if-missing")]
pub struct Load {
    /// Create the database and the column family if they do not exist.
    #[arg(long)]
    create_if_missing: bool,
    /// Do not write to the log; flush everything at the end.
    #[arg(long)]
    disable_wal: bool,
    /// Compact the column family at the end.
    #[arg(long)]
    compact: bool,
}

impl Load {
    /// Runs the command.
    ///
    /// # Errors
    /// A line is malformed, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let opened = open::to_write(session, self.create_if_missing)?;
        let (db, cf) = (&opened.db, opened.cf()?);
        let mut options = WriteOptions::default();
        options.disable_wal(self.disable_wal);
        let progress = session.progress("load", "keys", None);
        let mut batch = WriteBatch::default();
        let mut pending = 0;
        let count = read_pairs(session, |_, key, value| {
            batch.put_cf(cf, key, value);
            pending += 1;
            if batch.size_in_bytes() >= BATCH_BYTES {
                db.write_opt(std::mem::take(&mut batch), &options)?;
                progress.add(std::mem::take(&mut pending));
            }
            Ok(())
        })?;
        db.write_opt(batch, &options)?;
        if self.disable_wal {
            db.flush_cf(cf)?;
        }
        if self.compact {
            progress.show("compact");
            db.try_compact_range_cf_opt(
                cf,
                None::<&[u8]>,
                None::<&[u8]>,
                &whitewater::CompactOptions::default(),
            )?;
        }
        progress.finish();
        session.either(
            format_args!("{count} keys loaded"),
            serde_json::json!({"count": count}),
        )
    }
}

/// Writes a table (SST file) from lines `key ==> value` on standard input, for `ingest`.
///
/// Keys must be in the ascending order of the column family. With --db, the table has the
/// format that the column family's options specify.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sort lines.txt | ww write-sst /tmp/new.sst
  ww --db /data/db ingest /tmp/new.sst")]
pub struct WriteSst {
    /// The file to write.
    output: PathBuf,
}

impl WriteSst {
    /// Runs the command.
    ///
    /// # Errors
    /// A line is malformed, keys are not ascending, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let options = match &session.global.db {
            Some(db) => {
                Loaded::new(session, db, true)?.family_options(&session.global.column_family)
            }
            None => Options::default(),
        };
        let mut writer = SstFileWriter::create(&options);
        writer.open(&self.output)?;
        let count = read_pairs(session, |number, key, value| {
            writer.put(key, value).map_err(|e| match e.kind() {
                whitewater::ErrorKind::InvalidArgument => {
                    Failure::usage(format_args!("line {number}: {e}"))
                }
                _ => e.into(),
            })
        });
        let finished = count.and_then(|count| {
            if count == 0 {
                return Err(Failure::usage("there are no keys to make a table of"));
            }
            writer.finish()?;
            Ok(count)
        });
        let count = finished.inspect_err(|_| {
            // A partial table is useless. A second message about a failed removal would not
            // help.
            let _ = std::fs::remove_file(&self.output);
        })?;
        let size = writer.file_size();
        session.either(
            format_args!("{}: {count} keys, {size} bytes", self.output.display()),
            serde_json::json!({"file": self.output.to_string_lossy(), "count": count, "size": size}),
        )
    }
}

/// Ingests tables (SST files) into a column family, atomically.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db ingest /tmp/1.sst /tmp/2.sst
  ww --db /data/db ingest --move-files /tmp/1.sst --column-family orders")]
pub struct Ingest {
    /// The tables.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Move the files into the database instead of copying them.
    #[arg(long)]
    move_files: bool,
    /// Whether existing snapshots must not see the new keys.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    snapshot_consistency: bool,
    /// Whether the tables may get a sequence number, which they need if their keys overlap
    /// existing ones.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    allow_global_seqno: bool,
    /// Whether to flush the memtable if it overlaps the tables.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    allow_blocking_flush: bool,
    /// Put the tables below all existing data, which hides their keys.
    #[arg(long)]
    ingest_behind: bool,
}

impl Ingest {
    /// Runs the command.
    ///
    /// # Errors
    /// A table is unsuitable, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let opened = open::to_write(session, false)?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(self.move_files);
        options.set_snapshot_consistency(self.snapshot_consistency);
        options.set_allow_global_seqno(self.allow_global_seqno);
        options.set_allow_blocking_flush(self.allow_blocking_flush);
        options.set_ingest_behind(self.ingest_behind);
        let progress = session.progress("ingest", "files", None);
        let files: Vec<_> = self.files.iter().collect();
        let db = &opened.db;
        db.ingest_external_file_cf_opts(opened.cf()?, &options, files)?;
        progress.finish();
        session.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_the_first_arrow() {
        assert_eq!(split(b"k ==> v"), Some((&b"k"[..], &b"v"[..])));
        assert_eq!(split(b"k ==> a ==> b"), Some((&b"k"[..], &b"a ==> b"[..])));
        assert_eq!(split(b"k ==> "), Some((&b"k"[..], &b""[..])));
        assert_eq!(split(b"k ==>"), None);
    }
}
