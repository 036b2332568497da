//! Background threads that the system does not allow the database to start.

use crate::{DB, Options};
use std::sync::Arc;
use std::{sync::mpsc, thread, time::Duration};
use whitewater_concurrent::system::limit_threads;
use whitewater_storage::ErrorKind;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::read_file;

/// Runs `work` on a thread of its own, which may hang; returns its result.
pub(super) fn comes_to_an_end<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || tell.send(work()));
    let outcome = told.recv_timeout(Duration::from_secs(600));
    let outcome = outcome.expect("it comes to an end");
    thread.join().unwrap().unwrap();
    outcome
}

fn options(fs: &MemFs, jobs: i32) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_max_background_jobs(jobs);
    options
}

/// Fills a memtable, flushes it, and compacts the table.
fn use_all_threads(db: &DB) {
    for round in 0..6_u32 {
        for key in 0..10_u32 {
            db.put(key.to_be_bytes(), round.to_be_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
    db.wait_for_compact(&crate::WaitForCompactOptions::default())
        .unwrap();
    let last = 5_u32.to_be_bytes();
    assert_eq!(
        db.get(3_u32.to_be_bytes()).unwrap().as_deref(),
        Some(&last[..])
    );
}

fn log_of(fs: &MemFs) -> String {
    let bytes = read_file(fs, "/db/LOG".as_ref(), 1 << 20).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn an_open_that_gets_no_thread_fails_and_lets_go_of_the_database() {
    comes_to_an_end(|| {
        let fs = MemFs::new();
        let options = options(&fs, 4);
        let mut failures = 0;
        for allowed in 0.. {
            limit_threads(Some(allowed));
            let opened = DB::open(&options, "/db");
            limit_threads(None);
            match opened {
                Ok(db) => {
                    use_all_threads(&db);
                    break;
                }
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Aborted, "{e}");
                    assert!(e.to_string().contains("starting"), "{e}");
                    failures += 1;
                }
            }
            // The database's lock is free again.
            let db = DB::open(&options, "/db").unwrap();
            use_all_threads(&db);
        }
        assert!(failures > 0, "the first thread is needed");
    });
}

#[test]
fn a_database_works_with_the_threads_it_could_start_at_open() {
    comes_to_an_end(|| {
        let fs = MemFs::new();
        let few = options(&fs, 2);
        // As many threads as the smallest opening needs.
        let needed = (0..)
            .find(|&allowed| {
                limit_threads(Some(allowed));
                let opened = DB::open(&few, "/db");
                limit_threads(None);
                opened.is_ok()
            })
            .unwrap();
        limit_threads(Some(needed));
        let db = DB::open(&options(&fs, 3), "/db").unwrap();
        limit_threads(None);
        use_all_threads(&db);
        let log = log_of(&fs);
        assert!(
            log.contains("starting background thread ww-compact1"),
            "{log}"
        );
        // More threads can be started later.
        db.set_db_options(&[("max_background_jobs", "5")]).unwrap();
        use_all_threads(&db);
    });
}

#[test]
fn raising_max_background_jobs_fails_whole_when_a_thread_cannot_be_started() {
    comes_to_an_end(|| {
        let fs = MemFs::new();
        let db = DB::open(&options(&fs, 2), "/db").unwrap();
        for allowed in 0..3 {
            limit_threads(Some(allowed));
            let changes = [("max_background_jobs", "6"), ("stats_dump_period_sec", "7")];
            let e = db.set_db_options(&changes).unwrap_err();
            limit_threads(None);
            assert_eq!(e.kind(), ErrorKind::Aborted, "{e}");
            assert!(e.to_string().contains("background thread ww-"), "{e}");
            let options = db.engine().state.lock().options.clone();
            assert_eq!(options.max_background_jobs, 2, "nothing is changed");
            assert_eq!(options.stats_dump_period_sec, 600, "nothing is changed");
            use_all_threads(&db);
        }
        db.set_db_options(&[("max_background_jobs", "6")]).unwrap();
        use_all_threads(&db);
    });
}
