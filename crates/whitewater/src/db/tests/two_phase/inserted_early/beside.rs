//! What goes on beside a decision: checkpoints, and jobs that make it durable.

use super::super::recovery::names;
use super::super::{commit, prepare};
use super::options;
use super::readers::families;
use super::recovery::keeping;
use crate::checkpoint::Checkpoint;
use crate::db::Engine;
use crate::{CommitProtocol, DB, Point};
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use whitewater_storage::fs::mem::MemFs;

/// What a hook does once, with the engine, at a point.
type Once = Arc<Mutex<Option<Box<dyn FnOnce(&Engine) + Send>>>>;

/// Where a hook finds the engine.
type Place = Arc<Mutex<Option<Arc<Engine>>>>;

/// Makes a database call what is put into the result, at the point `at`.
fn hooked(options: &mut crate::Options, at: Point) -> (Once, Place) {
    let (once, engine) = (Once::default(), Place::default());
    let (of_hook, place) = (once.clone(), engine.clone());
    options.set_failpoints(move |point, _| {
        if point == at
            && let Some(engine) = { place.lock().clone() }
            && let Some(call) = { of_hook.lock().take() }
        {
            call(&engine);
        }
    });
    (once, engine)
}

/// While a checkpoint is made, a transaction is committed, and a compaction drops what it hides.
/// The checkpoint has the table that it made, so it needs the commit.
#[test]
fn a_checkpoint_has_the_decisions_that_its_tables_go_by() {
    let fs = MemFs::new();
    let mut o = keeping(&fs);
    o.set_level_zero_file_num_compaction_trigger(2);
    o.set_disable_auto_compactions(true);
    let (once, engine) = hooked(&mut o, Point::Copying);
    let db = DB::open_cf_descriptors(&o, "/db", families(&o)).unwrap();
    *engine.lock() = Some(db.engine().clone());
    db.put("x", "old").unwrap();
    db.flush().unwrap();
    let x = prepare(db.engine(), "x", &["x"]);
    db.flush().unwrap();
    *once.lock() = Some(Box::new(move |engine| {
        commit(engine, &x);
        let cf = engine.default_cf();
        let on = [("disable_auto_compactions", "false")];
        engine.set_options(cf, &on).unwrap();
        while cf.pin_owned().version.num_files(0) > 0 {
            assert!(Engine::check_healthy(&engine.lock_state()).is_ok());
            thread::sleep(Duration::from_millis(1));
        }
    }));
    Checkpoint::new(&db)
        .unwrap()
        .create_checkpoint("/copy")
        .unwrap();
    assert!(once.lock().is_none(), "called");
    *engine.lock() = None;
    let copy = DB::open_cf(&keeping(&fs), "/copy", ["default", "other"]).unwrap();
    assert!(names(&copy).is_empty());
    assert_eq!(copy.get("x").unwrap().as_deref(), Some(&b"x"[..]));
}

/// A job that makes a decision durable syncs the log. A resumption must not change the log
/// meanwhile: it waits for whoever holds the generation from before.
#[test]
fn a_job_that_syncs_a_decision_is_waited_for_by_a_resumption() {
    let fs = MemFs::new();
    let mut o = options(&fs, CommitProtocol::Ordered);
    let (once, engine) = hooked(&mut o, Point::Syncing);
    let db = DB::open(&o, "/db").unwrap();
    *engine.lock() = Some(db.engine().clone());
    let x = prepare(db.engine(), "x", &["x"]);
    commit(db.engine(), &x);
    let waits = Arc::new(Mutex::new(None));
    let found = waits.clone();
    *once.lock() = Some(Box::new(move |engine| {
        let switching = engine.commit.generations.switching();
        engine.renew_generation(&switching).unwrap();
        *found.lock() = Some(engine.commit.generations.has_writers_before());
    }));
    db.flush().unwrap();
    *engine.lock() = None;
    assert_eq!(*waits.lock(), Some(true));
}
