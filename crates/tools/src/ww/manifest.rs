//! Manifests, as single edits and as a whole.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::key::parse_internal_key;
use whitewater_storage::manifest::{FileMetaData, VersionEdit, read_current};

use super::blobs::BlobFile;
use super::failure::Result;
use super::session::Session;
use super::state::{Family, State};
use super::text::{self, Form};

/// Prints the content of a manifest: column families, the tables of each level and blob files.
///
/// A table appears as `number:size[sequence numbers][smallest key .. largest key]`, as in
/// ldb; a blob file as `number:size[values][garbage]`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww manifest-dump /data/db
  ww manifest-dump /data/db/MANIFEST-000005 --edits
  ww manifest-dump /data/db --edits --json")]
pub struct Dump {
    /// A MANIFEST file or a database's directory, instead of --db.
    file: Option<PathBuf>,
    /// The same path, by ldb's name of the flag.
    #[arg(long, hide = true, conflicts_with = "file")]
    path: Option<PathBuf>,
    /// Also print each edit on a line.
    #[arg(long, short = 'v', visible_alias = "verbose")]
    edits: bool,
}

impl Dump {
    /// Runs the command.
    ///
    /// # Errors
    /// The manifest cannot be read.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let named = self.file.as_deref().or(self.path.as_deref());
        // ldb accepts --db together with --path.
        let place = match named {
            Some(path) => path,
            None => session.db()?,
        };
        let path = if place.is_dir() {
            read_current(&OsFs, place)?
        } else {
            place.to_owned()
        };
        let state = State::of(&path, |offset, edit| {
            if !self.edits {
                return Ok(());
            }
            let fields = fields(edit, session.keys);
            if session.json {
                session.line(json!({"offset": offset, "edit": fields}))
            } else {
                session.line(format_args!("{offset}: {}", one_line(edit, session.keys)))
            }
        })?;
        if session.json {
            let object = as_object(&state, session.keys);
            session.line(object)
        } else {
            print(session, &state)
        }
    }
}

fn print(session: &mut Session<'_>, state: &State) -> Result<()> {
    for (id, family) in &state.families {
        session.line(format_args!(
            "--------------- Column family \"{}\"  (ID {id}) --------------",
            family.name
        ))?;
        session.line(format_args!("log number: {}", family.log_number))?;
        let comparator = family.comparator.as_deref().unwrap_or("(not recorded)");
        session.line(format_args!("comparator: {comparator}"))?;
        for (level, files) in family.levels() {
            session.line(format_args!("--- level {level} ---"))?;
            for file in files {
                let text = table(file, session.keys);
                session.line(format_args!(" {text}"))?;
            }
        }
        let blobs = family.blob_files();
        if !blobs.is_empty() {
            session.line("--- blob files ---")?;
        }
        for blob in blobs {
            session.line(format_args!(
                " {}:{}[{} values][garbage: {} values, {} bytes]",
                blob.meta.number,
                blob.size(),
                blob.meta.count,
                blob.garbage_count,
                blob.garbage_bytes
            ))?;
        }
    }
    session.line(format_args!(
        "next_file_number {} last_sequence {} max_column_family {} min_log_number_to_keep {}",
        state.next_file_number,
        state.last_sequence,
        state.max_column_family,
        state.min_log_number_to_keep
    ))?;
    Ok(())
}

/// `20:3556[3 .. 250]['a' seq:3, type:1 .. 'z' seq:250, type:1]`.
fn table(file: &FileMetaData, form: Form) -> String {
    format!(
        "{}:{}[{} .. {}][{} .. {}]",
        file.number,
        file.size,
        file.smallest_seqno,
        file.largest_seqno,
        key(&file.smallest, form),
        key(&file.largest, form)
    )
}

/// An internal key; the raw bytes if its type is unknown.
fn key(key: &[u8], form: Form) -> String {
    match parse_internal_key(key) {
        Ok(key) => text::internal_key(&key, form),
        Err(_) => text::hex(key),
    }
}

/// The edit's fields as `name=value`, without those that it lacks.
fn one_line(edit: &VersionEdit, form: Form) -> String {
    let mut parts = Vec::new();
    for (name, value) in fields(edit, form) {
        let value = match (name.as_str(), &value) {
            ("new_files", _) => {
                let files = edit.new_files.iter();
                let files = files.map(|(level, file)| format!("L{level} {}", table(file, form)));
                format!("[{}]", files.collect::<Vec<_>>().join(", "))
            }
            ("deleted_files", _) => {
                let files = edit.deleted_files.iter();
                let files = files.map(|(level, number)| format!("L{level} {number}"));
                format!("[{}]", files.collect::<Vec<_>>().join(", "))
            }
            (_, Value::String(text)) => text.clone(),
            _ => value.to_string(),
        };
        parts.push(format!("{name}={value}"));
    }
    parts.join(" ")
}

/// The edit's fields by RocksDB's names.
fn fields(edit: &VersionEdit, form: Form) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    put("column_family", Some(edit.column_family.into()));
    put("db_id", edit.db_id.as_deref().map(Value::from));
    put("comparator", edit.comparator.as_deref().map(Value::from));
    for (name, number) in [
        ("log_number", edit.log_number),
        ("prev_log_number", edit.prev_log_number),
        ("next_file_number", edit.next_file_number),
        ("last_sequence", edit.last_sequence),
        ("min_log_number_to_keep", edit.min_log_number_to_keep),
        ("max_column_family", edit.max_column_family.map(u64::from)),
        ("remaining_entries", edit.remaining_in_group.map(u64::from)),
        ("wal_deletion", edit.wal_deletion),
    ] {
        put(name, number.map(Value::from));
    }
    let added = edit.column_family_add.as_deref();
    put("column_family_add", added.map(Value::from));
    put(
        "column_family_drop",
        edit.column_family_drop.then_some(true.into()),
    );
    let list = |values: Vec<Value>| (!values.is_empty()).then_some(Value::Array(values));
    let blobs = edit.blob_files.iter();
    let blobs = blobs.map(|f| json!({"number": f.number, "count": f.count, "bytes": f.bytes}));
    put("blob_files", list(blobs.collect()));
    let garbage = edit.blob_garbage.iter();
    let garbage = garbage.map(|g| json!({"number": g.number, "count": g.count, "bytes": g.bytes}));
    put("blob_garbage", list(garbage.collect()));
    let logs = edit.wal_additions.iter();
    let logs = logs.map(|(number, synced)| json!({"number": number, "synced_size": synced}));
    put("wal_additions", list(logs.collect()));
    let missed = edit.logs_missed.iter().flatten();
    let missed = missed.map(|(first, end)| json!({"first": first, "end": end}));
    put("logs_missed", list(missed.collect()));
    let decided = edit
        .decided_to
        .map(|(number, log)| json!({"number": number, "log": log}));
    put("decided_to", decided);
    put("undecided_from", edit.undecided_from.map(Value::from));
    let cursors = edit.compact_cursors.iter();
    let cursors = cursors.map(|(level, at)| json!({"level": level, "key": key(at, form)}));
    put("compact_cursors", list(cursors.collect()));
    let deleted = edit.deleted_files.iter();
    let deleted = deleted.map(|(level, number)| json!({"level": level, "number": number}));
    put("deleted_files", list(deleted.collect()));
    let new = edit.new_files.iter();
    let new = new.map(|(level, file)| table_object(*level, file, form));
    put("new_files", list(new.collect()));
    fields
}

fn table_object(level: u32, file: &FileMetaData, form: Form) -> Value {
    let mut value = json!({
        "level": level,
        "number": file.number,
        "size": file.size,
        "smallest": key(&file.smallest, form),
        "largest": key(&file.largest, form),
        "smallest_seqno": file.smallest_seqno,
        "largest_seqno": file.largest_seqno,
        "epoch_number": file.epoch_number,
        "oldest_ancester_time": file.oldest_ancester_time,
        "file_creation_time": file.file_creation_time,
        "oldest_blob_file": file.oldest_blob_file,
        "tail_size": file.tail_size,
        "temperature": file.temperature,
        "marked_for_compaction": file.need_compaction,
        "compensated_range_deletion_size": file.compensated_range_deletion_size,
    });
    if let Some([high, low]) = file.unique_id {
        value["unique_id"] = format!("{high:016X}-{low:016X}").into();
    }
    if !file.file_checksum_func_name.is_empty() {
        value["file_checksum"] = text::hex(&file.file_checksum).into();
        let name = String::from_utf8_lossy(&file.file_checksum_func_name);
        value["file_checksum_func_name"] = name.into();
    }
    value
}

fn as_object(state: &State, form: Form) -> Value {
    let files = |family: &Family| -> Vec<Value> {
        let levels = family.levels().into_iter();
        levels
            .flat_map(|(level, files)| {
                let files = files.into_iter();
                files.map(move |file| table_object(level, file, form))
            })
            .collect()
    };
    let families = state.families.iter().map(|(id, family)| {
        json!({
            "id": id,
            "name": family.name,
            "comparator": family.comparator,
            "log_number": family.log_number,
            "files": files(family),
            "blob_files": family.blob_files().into_iter().map(BlobFile::object).collect::<Vec<_>>(),
        })
    });
    json!({
        "manifest": state.manifest.to_string_lossy(),
        "db_id": state.db_id,
        "edits": state.edits,
        "column_families": families.collect::<Vec<_>>(),
        "next_file_number": state.next_file_number,
        "last_sequence": state.last_sequence,
        "max_column_family": state.max_column_family,
        "min_log_number_to_keep": state.min_log_number_to_keep,
        "logs": state.logs.iter().map(|(number, synced)| {
            json!({"number": number, "synced_size": synced})
        }).collect::<Vec<_>>(),
    })
}
