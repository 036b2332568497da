//! The batches of write-ahead logs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};
use whitewater_storage::batch::replay::{ReplayedSections, Replays};
use whitewater_storage::batch::{self, Numbering, Op, PrepareKind};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::wal::{LogReader, ReadOutcome};

use super::failure::{Failure, Result};
use super::session::Session;
use super::state::{State, log_dir, logs_in};
use super::text::{Form, hex, type_name};

/// Prints the batches of write-ahead logs, one on each line:
/// `sequence,count,bytes,offset,operations`.
///
/// Operations appear as `PUT(column family) : key : value` with hexadecimal keys and
/// values. The command reports damage, skips it, and exits with 1 at the end. An incomplete
/// record at the end, as a crash leaves it, is not damage.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww wal-dump /data/db/000008.log --header
  ww wal-dump /data/db --print-values
  ww wal-dump /data/db --json")]
pub struct Dump {
    /// Logs or directories of databases, instead of --db.
    files: Vec<PathBuf>,
    /// A log, by ldb's name of the flag.
    #[arg(long, hide = true)]
    walfile: Option<PathBuf>,
    /// Print a header line with the names of the columns.
    #[arg(long)]
    header: bool,
    /// Also print values.
    #[arg(long, visible_alias = "print-value")]
    print_values: bool,
    /// Print keys and values as escaped text instead of hexadecimal digits.
    #[arg(long)]
    text: bool,
}

/// A record of a log.
#[derive(Debug)]
pub struct Record<'a> {
    /// The batch.
    pub bytes: &'a [u8],
    /// The offset of the record in the log.
    pub offset: u64,
}

/// A problem of a log.
#[derive(Debug)]
pub enum Finding {
    /// Damage that reading skipped.
    Damage(String),
    /// An incomplete record, as a crash leaves it.
    Unfinished(String),
}

/// Reads the log at `path`. Passes each record to `each` and each problem to `found`.
///
/// # Errors
/// Those of the file system and of `each`.
pub fn read(
    path: &Path,
    mut each: impl FnMut(Record<'_>) -> Result<()>,
    mut found: impl FnMut(Finding),
) -> Result<()> {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = match name.and_then(filename::parse) {
        Some(FileType::Wal(number)) => number,
        _ => 0,
    };
    let mut reader = LogReader::new(OsFs.open_sequential(path)?, number);
    let mut record = Vec::new();
    loop {
        match reader.read_record(&mut record)? {
            ReadOutcome::Record => {
                let offset = reader.record_offset();
                if let Err(e) = batch::check(&record) {
                    found(Finding::Damage(e.in_file(path, Some(offset)).to_string()));
                }
                let bytes = &record;
                each(Record { bytes, offset })?;
            }
            ReadOutcome::Eof => return Ok(()),
            ReadOutcome::TornTail { offset, bytes } => {
                found(Finding::Unfinished(format!(
                    "{}: ends inside a record that begins at {offset} ({bytes} bytes)",
                    path.display()
                )));
                return Ok(());
            }
            // A writer that died or is still writing leaves such records.
            ReadOutcome::Corrupt(e) if reader.is_lost_tail() || reader.is_hole() => {
                found(Finding::Unfinished(format!("{e}: not wholly written")));
            }
            ReadOutcome::Corrupt(e) => found(Finding::Damage(e.to_string())),
        }
    }
}

/// Replays the logs that an opening of the database in `dir` would read, and warns of their
/// problems. Entries go to `to`, which `begin` is called with before each log and its number.
/// Returns the transactions that are not decided.
///
/// # Errors
/// Those of the file system and of [`ReplayedSections::replay`].
pub fn replay<R: Replays>(
    session: &Session<'_>,
    dir: &Path,
    state: &State,
    to: &mut R,
    begin: impl Fn(&mut R, u64),
) -> Result<ReplayedSections> {
    let logs = log_dir(dir);
    let mut logs = logs_in(&logs).map_err(|e| Failure::io(&logs, &e))?;
    logs.retain(|(number, _)| *number >= state.first_log());
    let mut sections = ReplayedSections::new(numbering_of(&logs)?);
    let mut last = 0;
    for (number, path) in logs {
        sections.begin(number, last, true);
        begin(to, number);
        read(
            &path,
            |record| {
                let used = sections.replay(record.bytes, to)?;
                last = last.max((batch::sequence(record.bytes) + used).saturating_sub(1));
                Ok(())
            },
            |finding| match finding {
                Finding::Damage(text) | Finding::Unfinished(text) => session.warn(text),
            },
        )?;
    }
    Ok(sections)
}

/// How `logs` number their operations, as the kinds of their sections tell. Logs without sections
/// count as those of a database without transactions.
fn numbering_of(logs: &[(u64, PathBuf)]) -> Result<Numbering> {
    let mut numbering = Numbering::PerEntry;
    for (_, path) in logs {
        let look = |record: Record<'_>| {
            let is_inserted = |op| match op {
                Ok(Op::BeginPrepare(kind)) => kind != PrepareKind::Committed,
                _ => false,
            };
            if batch::ops(record.bytes).any(is_inserted) {
                numbering = Numbering::PerBatch;
            }
            Ok(())
        };
        read(path, look, |_| {})?;
    }
    Ok(numbering)
}

/// A marker of two-phase commit, as RocksDB's `ldb dump_wal` prints it.
fn marker_text(marker: &Op<'_>) -> String {
    let name = marker.marker().unwrap_or_default();
    match marker {
        Op::EndPrepare(xid) | Op::Commit(xid) | Op::Rollback(xid) => {
            format!("{name}({})", hex(xid))
        }
        Op::CommitAt { timestamp, xid } => format!("{name}({}, {})", hex(xid), hex(timestamp)),
        _ => name.to_owned(),
    }
}

impl Dump {
    /// Runs the command.
    ///
    /// # Errors
    /// A log cannot be read or is damaged.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let mut places: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        places.extend(self.walfile.as_deref());
        if places.is_empty() {
            places.push(session.db()?);
        }
        let mut paths = Vec::new();
        for place in places {
            if !place.is_dir() {
                paths.push(place.to_owned());
                continue;
            }
            let logs = logs_in(&log_dir(place)).map_err(|e| Failure::io(place, &e))?;
            paths.extend(logs.into_iter().map(|(_, path)| path));
        }
        let several = paths.len() > 1;
        if self.header && !session.json {
            session.line("Sequence,Count,ByteSize,Physical Offset,Key(s)")?;
        }
        let mut damages = 0;
        for path in &paths {
            if several && !session.json {
                session.line(format_args!("# {}", path.display()))?;
            }
            let mut findings = Vec::new();
            read(
                path,
                |record| self.print(session, path, &record),
                |finding| findings.push(finding),
            )?;
            for finding in findings {
                match finding {
                    Finding::Damage(text) => {
                        eprintln!("ww: {text}");
                        damages += 1;
                    }
                    Finding::Unfinished(text) => session.warn(text),
                }
            }
        }
        match damages {
            0 => Ok(()),
            n => Err(Failure::negative(format_args!(
                "the logs are damaged in {n} places"
            ))),
        }
    }

    fn print(&self, session: &mut Session<'_>, path: &Path, record: &Record<'_>) -> Result<()> {
        let bytes = record.bytes;
        let (sequence, count) = (batch::sequence(bytes), batch::count(bytes));
        if session.json {
            // A record that cannot be decoded was reported already.
            let ops = batch::ops(bytes).filter_map(|op| op.ok());
            let ops: Vec<_> = ops.map(|op| self.object(session, op)).collect();
            return session.line(json!({
                "file": path.to_string_lossy(), "sequence": sequence, "count": count,
                "size": bytes.len(), "offset": record.offset, "operations": ops,
            }));
        }
        let mut line = format!("{sequence},{count},{},{},", bytes.len(), record.offset);
        for op in batch::ops(bytes).filter_map(|op| op.ok()) {
            self.add(&mut line, op);
        }
        session.line(line)
    }

    fn add(&self, line: &mut String, op: Op<'_>) {
        let form = if self.text { Form::Raw } else { Form::Hex };
        let show = |bytes: &[u8]| form.show(bytes);
        // Writing to a string cannot fail.
        let _ = match op {
            Op::Entry { cf, ty, key, value } => {
                let name = type_name(ty);
                let with_value = self.print_values || name == "DELETE_RANGE";
                if with_value && !name.ends_with("DELETE") {
                    write!(line, "{name}({cf}) : {} : {} ", show(key), show(value))
                } else {
                    write!(line, "{name}({cf}) : {} ", show(key))
                }
            }
            Op::LogData(blob) => write!(line, "LOG_DATA : {} ", hex(blob)),
            Op::Noop => write!(line, "NOOP "),
            marker => write!(line, "{} ", marker_text(&marker)),
        };
    }

    fn object(&self, session: &Session<'_>, op: Op<'_>) -> Value {
        let mut fields = Map::new();
        let ty = match op {
            Op::Entry { cf, ty, key, value } => {
                let name = type_name(ty);
                fields.insert("column_family".to_owned(), cf.into());
                session.keys.put(&mut fields, "key", key);
                if name == "DELETE_RANGE" {
                    session.keys.put(&mut fields, "end", value);
                } else if self.print_values && !name.ends_with("DELETE") {
                    session.values.put(&mut fields, "value", value);
                }
                name
            }
            Op::LogData(blob) => {
                fields.insert("bytes".to_owned(), hex(blob).into());
                "LOG_DATA"
            }
            Op::Noop => "NOOP",
            Op::BeginPrepare(kind) => {
                fields.insert(
                    "unprepared".to_owned(),
                    (kind == PrepareKind::Unprepared).into(),
                );
                "BEGIN_PREPARE"
            }
            Op::CommitAt { timestamp, xid } => {
                fields.insert("timestamp".to_owned(), hex(timestamp).into());
                fields.insert("transaction".to_owned(), hex(xid).into());
                "COMMIT_WITH_TIMESTAMP"
            }
            Op::EndPrepare(xid) | Op::Commit(xid) | Op::Rollback(xid) => {
                fields.insert("transaction".to_owned(), hex(xid).into());
                op.marker().unwrap_or_default()
            }
        };
        fields.insert("type".to_owned(), ty.into());
        Value::Object(fields)
    }
}
