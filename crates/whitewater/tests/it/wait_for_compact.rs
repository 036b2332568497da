//! What is finished when `wait_for_compact` returns.

use crate::harness::hooked::{HookedLogs, LogHook};
use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use whitewater::fs::Fs;
use whitewater::{ErrorKind, WaitForCompactOptions};

/// Holds up threads that remove a file with this ending.
#[derive(Debug)]
struct Gate {
    ending: &'static str,
    /// Whether it is open, and which threads were held up.
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    fn await_remover(&self) {
        let mut state = self.state.lock().unwrap();
        while state.1 == 0 {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn open(&self) {
        self.state.lock().unwrap().0 = true;
        self.changed.notify_all();
    }
}

impl LogHook for Gate {
    fn removing(&self, path: &Path) {
        if !path.to_string_lossy().ends_with(self.ending) {
            return;
        }
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        while !state.0 {
            state = self.changed.wait(state).unwrap();
        }
    }
}

fn files(fs: &impl Fs, ending: &str) -> usize {
    let names = fs.list(Path::new(DIR)).unwrap();
    names.iter().filter(|n| n.ends_with(ending)).count()
}

/// `what_for` makes files with `ending` obsolete, on threads of the database.
fn check(ending: &'static str, what_for: impl FnOnce(&Db), left: impl FnOnce(&Db) -> usize) {
    let gate = Arc::new(Gate {
        ending,
        state: Mutex::default(),
        changed: Condvar::new(),
    });
    let fs = HookedLogs::new(gate.clone());
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    what_for(&db);
    gate.await_remover();
    let mut soon = WaitForCompactOptions::default();
    soon.set_timeout(20_000);
    let early = db.wait_for_compact(&soon).map_err(|e| e.kind());
    gate.open();
    assert_eq!(early, Err(ErrorKind::TimedOut), "{ending}");
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(files(&fs, ending), left(&db), "{ending}");
}

#[test]
fn obsolete_logs_are_deleted() {
    let flush = |db: &Db| {
        db.put("key", "value").unwrap();
        db.flush().unwrap();
    };
    check(".log", flush, |_| 1);
}

#[test]
fn obsolete_tables_are_deleted() {
    let compact = |db: &Db| {
        for _ in 0..2 {
            db.put("key", "value").unwrap();
            db.flush().unwrap();
        }
    };
    check(".sst", compact, |db| db.live_files().unwrap().len());
}
