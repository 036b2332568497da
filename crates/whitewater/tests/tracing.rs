//! Events that databases send to `tracing` (cargo feature `tracing`).

use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{DB, IngestExternalFileOptions, Options, SstFileWriter, WriteOptions};

/// `LEVEL target name field=value ...` of each event and each span.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Collects the events of all threads of the process.
struct Collector(AtomicU64);

/// The fields, and the message in front of them.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

fn note(metadata: &Metadata<'_>, text: Text) {
    let (level, target) = (metadata.level(), metadata.target());
    let name = match metadata.is_span() {
        true => format!("span {}", metadata.name()),
        false => text.message,
    };
    let line = format!("{level} {target} {name}{}", text.fields);
    LINES.lock().unwrap().push(line);
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("whitewater::")
    }
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut text = Text::default();
        attributes.record(&mut text);
        note(attributes.metadata(), text);
        Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed))
    }
    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        note(event.metadata(), text);
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

static COLLECTOR: LazyLock<()> = LazyLock::new(|| {
    tracing::subscriber::set_global_default(Collector(AtomicU64::new(1))).unwrap();
});

/// The events of the database `name` so far, without its path.
fn told(name: &str) -> Vec<String> {
    let db = format!(" db={name}");
    let lines = LINES.lock().unwrap();
    let own = lines.iter().filter(|line| {
        let mut rest = line
            .match_indices(&db)
            .map(|(at, _)| &line[at + db.len()..]);
        rest.any(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    own.map(|line| line.replacen(&db, "", 1)).collect()
}

/// Whether a line begins with `start` and has all `parts`.
fn has(lines: &[String], start: &str, parts: &[&str]) -> bool {
    let fits = |line: &&String| line.starts_with(start) && parts.iter().all(|p| line.contains(p));
    lines.iter().any(|line| fits(&line))
}

fn options() -> Options {
    LazyLock::force(&COLLECTOR);
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.stay_stopped();
    opts.set_disable_auto_compactions(true);
    opts
}

#[test]
fn openings_and_jobs_are_spans_with_events() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let opts = options();
    for round in 0..2 {
        let db = DB::open(&opts, &path).unwrap();
        for n in 0..2 {
            db.put(b"a", format!("{round} {n}")).unwrap();
            db.flush().unwrap();
        }
        db.put(b"logged", b"only").unwrap();
        if round == 1 {
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            let outside = dir.path().join("outside.sst");
            let writer_options = Options::default();
            let mut writer = SstFileWriter::create(&writer_options);
            writer.open(&outside).unwrap();
            writer.put(b"x", b"1").unwrap();
            writer.finish().unwrap();
            db.ingest_external_file_opts(&IngestExternalFileOptions::default(), vec![&outside])
                .unwrap();
        }
    }
    let lines = told(path.to_str().unwrap());
    for span in [
        "INFO whitewater::open span open",
        "INFO whitewater::open span recovery",
        "INFO whitewater::flush span flush families=1",
        "INFO whitewater::compaction span compaction cf=\"default\" job=",
        "INFO whitewater::ingestion span ingestion cf=\"default\" files=1",
    ] {
        assert!(has(&lines, span, &[]), "{span}: {lines:#?}");
    }
    for (start, parts) in [
        (
            "DEBUG whitewater::flush flush begins",
            &["cf=\"default\"", "entries=1"][..],
        ),
        (
            "INFO whitewater::flush flush completed",
            &["file=", "micros="],
        ),
        ("DEBUG whitewater::memtable memtable sealed", &["entries=1"]),
        ("DEBUG whitewater::table table created", &["reason=Flush"]),
        (
            "DEBUG whitewater::table table created",
            &["reason=Compaction"],
        ),
        ("DEBUG whitewater::table table deleted", &[]),
        (
            "DEBUG whitewater::compaction compaction begins",
            &["ManualCompaction"],
        ),
        (
            "DEBUG whitewater::compaction subcompaction begins",
            &["part=0"],
        ),
        (
            "INFO whitewater::compaction compaction completed",
            &["moved=false"],
        ),
        (
            "INFO whitewater::ingestion table ingested",
            &["outside.sst"],
        ),
        ("DEBUG whitewater::log Recovery: ", &["batches from"]),
    ] {
        assert!(has(&lines, start, parts), "{start} {parts:?}: {lines:#?}");
    }
    assert!(lines.iter().all(|line| !line.contains("EVENT_LOG_v1")));
    assert!(
        !has(&lines, "ERROR", &[]) && !has(&lines, "WARN", &[]),
        "{lines:#?}"
    );
}

#[test]
fn stalls_and_failures_are_warnings_and_errors() {
    let faults = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
    let mut opts = options();
    opts.set_fs(faults.clone());
    opts.set_level_zero_slowdown_writes_trigger(1);
    opts.set_level_zero_stop_writes_trigger(50);
    opts.set_level_zero_file_num_compaction_trigger(1);
    opts.set_disable_auto_compactions(false);
    let db = DB::open(&opts, "/failing").unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    faults.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Sync]),
        path: PathMatch::EndsWith(".log".to_owned()),
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: false,
    });
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt(b"b", b"1", &synced).unwrap_err();
    db.resume().unwrap();
    drop(db);
    let lines = told("/failing");
    for (start, parts) in [
        (
            "WARN whitewater::stall writes are held back",
            &[
                "from=Normal to=Delayed",
                "cause=\"we have 1 level-0 files\"",
            ][..],
        ),
        (
            "WARN whitewater::log [default] Stalling writes because we have 1 level-0 files rate",
            &[],
        ),
        (
            "INFO whitewater::stall writes are not held back any more",
            &["to=Normal"],
        ),
        (
            "ERROR whitewater::error background error",
            &["reason=WriteCallback", "severity=HardError", "error="],
        ),
        (
            "WARN whitewater::error recovery from an error begins",
            &["auto=false"],
        ),
        ("INFO whitewater::error recovered from an error", &[]),
    ] {
        assert!(has(&lines, start, parts), "{start} {parts:?}: {lines:#?}");
    }
}

#[test]
fn a_database_without_listeners_tells_all_the_same() {
    let mut opts = options();
    opts.set_fs(Arc::new(MemFs::new()));
    let db = DB::open(&opts, "/plain").unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    // Closing waits until all events were sent.
    drop(db);
    let flushed = "INFO whitewater::flush flush completed";
    let lines = told("/plain");
    assert!(has(&lines, flushed, &["file=/plain/"]), "{lines:#?}");
}
