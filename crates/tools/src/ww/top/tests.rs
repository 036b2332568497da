//! What is drawn of states, what keys do, and that a panic gives the terminal back.

#[path = "../../../../concurrent/tests/common/skip.rs"]
mod skip;

use std::process::{Command, Stdio};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use whitewater_monitor::api::{
    Cache, CacheKind, Database, Distribution, Event, Family, FamilyStall, Job, Latency, Level,
    Limit, Memtables, Overview, Point, Stall, Step, WritePath,
};

use super::draw;
use super::follow::{News, Told};
use super::screen::Screen;
use super::state::{State, View, Wish};

fn distribution() -> Distribution {
    Distribution {
        count: 300,
        sum: 6000,
        mean: 20.0,
        p50: 15.0,
        p95: 40.0,
        p99: 1500.0,
        max: 2000.0,
    }
}

fn family() -> Family {
    Family {
        name: "orders".to_owned(),
        memtables: Memtables {
            kind: "art".to_owned(),
            active_bytes: 3 << 20,
            active_entries: 4321,
            immutable: 2,
            all_bytes: 9 << 20,
            ..Memtables::default()
        },
        levels: vec![Level {
            level: 0,
            files: 12,
            compacting: 4,
            bytes: 48 << 20,
            score: 3.5,
            ..Level::default()
        }],
        compaction_pending: true,
        ..Family::default()
    }
}

fn stall(condition: &str) -> Stall {
    let held = condition != "normal";
    Stall {
        condition: condition.to_owned(),
        delayed_rate: if condition == "delayed" { 2 << 20 } else { 0 },
        families: vec![FamilyStall {
            family: "orders".to_owned(),
            condition: condition.to_owned(),
            cause: if held { "l0-file-count-limit" } else { "" }.to_owned(),
            reason: if held { "we have 12 level-0 files" } else { "" }.to_owned(),
            limits: vec![Limit {
                name: "level0-files".to_owned(),
                value: 12,
                delay: 8,
                stop: 36,
            }],
        }],
    }
}

fn point(n: u64) -> Point {
    Point {
        unix_ms: n * 1000,
        seconds: 1.0,
        keys_written: 1000.0 * n as f64,
        keys_read: Some(25_000.0),
        wal_syncs: 40.0,
        writes_per_sync: Some(7.5),
        cache_hit_ratio: Some(0.875),
        ..Point::default()
    }
}

fn event(number: u64, text: &str) -> Event {
    Event {
        number,
        unix_ms: 3_723_000,
        kind: "kind".to_owned(),
        family: "orders".to_owned(),
        text: text.to_owned(),
        warning: number == 2,
    }
}

/// News of a database under load.
fn news(condition: &str) -> News {
    let database = Database {
        id: 0,
        label: "/data/orders".to_owned(),
        open: true,
    };
    let latency = Latency {
        operation: "get".to_owned(),
        recent: distribution(),
        total: distribution(),
        ..Latency::default()
    };
    let job = Job {
        kind: "compaction".to_owned(),
        id: 77,
        family: "orders".to_owned(),
        running_ms: 1500,
        text: "4 files, level 0 to 1".to_owned(),
        output_level: 1,
    };
    let step = |name: &str, waits| Step {
        name: name.to_owned(),
        waits,
        writers: 0.5,
        recent: distribution(),
        ..Step::default()
    };
    let all = CacheKind {
        kind: "all".to_owned(),
        hits: 3,
        misses: 1,
        recent_ratio: Some(0.875),
    };
    News {
        whole: true,
        overview: Overview {
            database,
            statistics: true,
            uptime_seconds: 3723.0,
            commit_protocol: "ordered".to_owned(),
            rates: point(9),
            latencies: vec![latency.clone()],
            stall: stall(condition),
            families: vec![family()],
            jobs: vec![job],
            running_compactions: 1,
            cache: Cache {
                capacity: 32 << 20,
                usage: 16 << 20,
                kinds: vec![all],
                ..Cache::default()
            },
            ..Overview::default()
        },
        write_path: WritePath {
            memtable: "art".to_owned(),
            timed: true,
            steps: vec![step("append", false), step("publish", true)],
            rates: point(9),
            latencies: vec![latency],
            by_self: Some(9000.0),
            stall: stall(condition),
            ..WritePath::default()
        },
        points: (1..10).map(point).collect(),
        events: vec![event(1, "flushed"), event(2, "writes are delayed")],
    }
}

fn state(news: News) -> State {
    let mut state = State::new("http://127.0.0.1:1/".to_owned());
    state.take(Told::Answered(Ok(Box::new(news))));
    state
}

/// The screen as text.
fn drawn(state: &State, width: u16, height: u16) -> String {
    let terminal = drawn_on(state, width, height);
    let cells = terminal.backend().buffer().content();
    let rows = cells.chunks(usize::from(width.max(1)));
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    rows.map(|row| row.trim_end().to_owned() + "\n").collect()
}

fn drawn_on(state: &State, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    let draw = |frame: &mut ratatui::Frame<'_>| {
        let area = frame.area();
        draw::draw(state, area, frame.buffer_mut());
    };
    terminal.draw(draw).expect("drawn");
    terminal
}

/// Fails unless a line of `screen` has all `words`, in this order and nothing but spaces between.
#[track_caller]
fn has(screen: &str, words: &str) {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = screen.lines().any(|line| squeezed(line).contains(words));
    assert!(found, "no `{words}` in\n{screen}");
}

fn press(state: &mut State, code: KeyCode) -> Wish {
    state.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn the_overview_has_rates_times_levels_jobs_memory_and_events() {
    let state = state(news("normal"));
    for width in [110, 180] {
        let screen = drawn(&state, width, 60);
        has(&screen, "http://127.0.0.1:1/ /data/orders open for 1:02:03");
        has(&screen, "ordered commit, art");
        has(&screen, "Writes are not held back.");
        has(&screen, "entries written/s 9 k");
        has(&screen, "keys read/s 25 k");
        has(&screen, "batches written/s -");
        has(&screen, "log syncs/s 40");
        has(&screen, "writes per sync 7.50");
        has(&screen, "get 300 15 us 40 us 1.5 ms 2 ms 300 1.5 ms");
        has(&screen, "orders level0-files 12 8 36");
        has(&screen, "orders 0 12 4 48 MiB 3.50");
        has(&screen, "Jobs: 0 flushes and 1 compactions run");
        has(&screen, "compaction 77 1.5 s orders 4 files, level 0 to 1");
        has(&screen, "orders art 3 MiB 4.3 k 2 9 MiB");
        has(&screen, "16 MiB of 32 MiB");
        has(&screen, "found 87.5 % now, 75.0 % since the beginning");
        has(&screen, "1:02:03Z orders writes are delayed");
    }
    // One column on a narrow screen, two on a wide one.
    let line_of = |width, text| {
        let screen = drawn(&state, width, 60);
        screen.lines().position(|line| line.contains(text))
    };
    assert!(line_of(110, "Levels\n").is_none());
    assert!(line_of(110, "block cache:") > line_of(110, "held back (").max(line_of(110, "get ")));
    assert!(line_of(180, "block cache:") < line_of(180, "level0-files"));
}

#[test]
fn bars_show_the_intervals_before_the_last() {
    let screen = drawn(&state(news("normal")), 110, 60);
    let row = screen.lines().find(|line| line.contains("entries written"));
    let row = row.expect("the rate");
    let bars: Vec<char> = row.chars().filter(|c| !c.is_ascii()).collect();
    assert_eq!(bars.len(), 9, "{row}");
    assert!(bars.is_sorted(), "{row}");
    assert_eq!(bars.last(), Some(&'\u{2588}'));
}

/// The screen as one text without the ends of its lines.
fn flowing(state: &State, width: u16, height: u16) -> String {
    let screen = drawn(state, width, height);
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_stall_is_shown_with_its_cause_and_limits() {
    let stalled = state(news("delayed"));
    for (width, height) in [(110, 60), (80, 24), (60, 15)] {
        let text = flowing(&stalled, width, height);
        let words = "Writes are delayed (to 2 MiB per second); orders: we have 12 level-0 files \
                     (l0-file-count-limit: delays from 8, stops from 36).";
        assert!(text.contains(words), "{width}: {text}");
    }
    let stopped = state(news("stopped"));
    let terminal = drawn_on(&stopped, 110, 60);
    has(
        &drawn(&stopped, 110, 60),
        "Writes are stopped; orders: we have",
    );
    assert_eq!(terminal.backend().buffer()[(1, 2)].fg, Color::Red);
}

#[test]
fn the_limits_of_a_stall_are_those_of_its_cause() {
    let mut stalled = news("stopped");
    let family = &mut stalled.overview.stall.families[0];
    let limit = |name: &str, value, delay, stop| Limit {
        name: name.to_owned(),
        value,
        delay,
        stop,
    };
    family.limits.push(limit("memtables", 2, 0, 2));
    family
        .limits
        .push(limit("pending-bytes", 3 << 30, 1 << 30, 2 << 30));
    for (cause, words) in [
        ("memtable-limit", "delays from never, stops from 2)"),
        ("l0-file-count-limit", "delays from 8, stops from 36)"),
        (
            "pending-compaction-bytes",
            "delays from 1 GiB, stops from 2 GiB)",
        ),
        ("a-cause-of-later-versions", "(a-cause-of-later-versions)."),
    ] {
        stalled.overview.stall.families[0].cause = cause.to_owned();
        let text = flowing(&state(stalled.clone()), 110, 60);
        assert!(text.contains(words), "{cause}: {text}");
    }
}

#[test]
fn the_error_for_which_writes_are_refused_is_not_cut() {
    let mut failed = news("normal");
    let error = "IO error: While Sync: /data/of/the/orders/of/all/shops/000007.log: Input/output \
                 error (os error 5)";
    failed.overview.error = error.to_owned();
    failed.events.push(event(3, error));
    let mut state = state(failed);
    for view in View::ALL {
        state.view = view;
        for (width, height) in [(110, 40), (80, 24), (60, 15)] {
            let text = flowing(&state, width, height);
            assert!(text.contains(error), "{view:?}, {width}: {text}");
        }
    }
    // The event has it, too.
    let text = flowing(&state, 80, 24);
    assert_eq!(text.matches(error).count(), 2, "{text}");
    // A very long one leaves room for the view, and what is left out is told.
    let figures = state.figures.as_mut().expect("figures");
    figures.0.error = "x".repeat(10_000);
    state.view = View::Overview;
    let screen = drawn(&state, 60, 15);
    has(&screen, "x ...");
    has(&screen, "entries written/s 9 k");
}

#[test]
fn a_failed_or_closed_database_is_shown_as_such() {
    let mut failed = news("normal");
    failed.overview.error = "IO error: sync".to_owned();
    let screen = drawn(&state(failed.clone()), 110, 60);
    has(&screen, "Writes are refused: IO error: sync");
    failed.overview.database.open = false;
    let screen = drawn(&state(failed), 110, 60);
    has(&screen, "The database is closed.");
    assert!(!screen.contains("not held back"), "{screen}");
}

#[test]
fn what_files_do_not_tell_is_not_claimed() {
    let mut followed = news("normal");
    followed.overview.reads_only = true;
    let mut state = state(followed);
    let screen = drawn(&state, 110, 60);
    has(&screen, "Seen by its files.");
    has(&screen, "orders 0 12 4 48 MiB");
    for claim in ["not held back", "level0-files", "Last events"] {
        assert!(!screen.contains(claim), "{screen}");
    }
    state.lost = Some("no such file".to_owned());
    has(
        &drawn(&state, 110, 60),
        "The files cannot be followed: no such file",
    );
}

#[test]
fn a_monitor_that_is_gone_is_shown_beside_the_last_figures() {
    let mut state = state(news("normal"));
    state.take(Told::Answered(Err("127.0.0.1:1: refused".to_owned())));
    let screen = drawn(&state, 110, 60);
    has(&screen, "No answer, figures are old: 127.0.0.1:1: refused");
    has(&screen, "entries written/s 9 k");
    state.take(Told::Answered(Ok(Box::new(news("normal")))));
    has(&drawn(&state, 110, 60), "q quits");
}

#[test]
fn each_view_has_its_figures() {
    let mut state = state(news("normal"));
    state.view = View::WritePath;
    let screen = drawn(&state, 110, 60);
    has(&screen, "append ########## 50.0 % 0.500 300 20 ns 15 ns");
    has(&screen, "publish ########## 50.0 %");
    has(&screen, "batches by their own writer/s 9 k");
    state.view = View::Levels;
    let screen = drawn(&state, 110, 60);
    has(&screen, "orders 0 12 4 48 MiB 3.50");
    has(&screen, "orders compaction");
    has(&screen, "found in the block cache: all 75.0 %");
    state.view = View::Events;
    let screen = drawn(&state, 110, 60);
    let at = |text| screen.lines().position(|line| line.contains(text));
    assert!(at("writes are delayed") < at("flushed"), "{screen}");
    assert!(at("writes are delayed").is_some(), "{screen}");
    let mut idle = news("normal");
    idle.write_path.timed = false;
    state.take(Told::Answered(Ok(Box::new(idle))));
    state.view = View::WritePath;
    has(&drawn(&state, 110, 60), "No step was timed");
}

#[test]
fn every_size_can_be_drawn() {
    let mut states = vec![
        State::new("/db".to_owned()),
        state(News::default()),
        state(news("stopped")),
    ];
    for state in &mut states {
        for view in View::ALL {
            state.view = view;
            for (width, height) in [(0, 0), (1, 1), (7, 3), (40, 5), (80, 24), (400, 120)] {
                state.scroll = usize::MAX;
                let screen = drawn(state, width, height);
                assert_eq!(screen.lines().count(), usize::from(height), "{width}");
            }
        }
    }
}

#[test]
fn no_number_is_cut_by_a_narrow_terminal() {
    let mut busy = news("delayed");
    busy.overview.families[0].levels[0].read_gib = 1.5;
    let mut state = state(busy);
    for view in View::ALL {
        state.view = view;
        let whole = drawn(&state, 400, 100);
        let known: Vec<_> = whole.split_whitespace().collect();
        for width in (40..200).step_by(7) {
            let screen = drawn(&state, width, 100);
            for word in screen.split_whitespace() {
                let is_number = word.contains(|c: char| c.is_ascii_digit());
                assert!(
                    !is_number || known.contains(&word),
                    "{view:?}, {width}: {word} in\n{screen}"
                );
            }
        }
    }
}

#[test]
fn a_small_terminal_has_what_matters_most() {
    let mut state = state(news("normal"));
    state.paused = true;
    for (width, height) in [(80, 24), (60, 15)] {
        let screen = drawn(&state, width, height);
        has(&screen, "ww top PAUSED http://127.0.0.1:1/");
        has(&screen, "1 Overview 2 Write path 3 Levels 4 Events");
        has(&screen, "Writes are not held back.");
        has(&screen, "entries written/s 9 k");
        has(&screen, "q quits p pauses Tab: views up, down: scroll (");
        has(&screen, " more)");
    }
    // Columns that do not fit are told of.
    state.view = View::Levels;
    let screen = drawn(&state, 60, 15);
    has(&screen, "family level files compacting size score >");
    let screen = drawn(&state, 110, 15);
    has(&screen, "score write amp. read written");
}

#[test]
fn names_cannot_command_the_terminal() {
    let mut odd = news("delayed");
    let name = "\u{1b}[2Jname\n\t".to_owned();
    odd.overview.families[0].name.clone_from(&name);
    odd.overview.stall.families[0].reason.clone_from(&name);
    odd.overview.jobs[0].text.clone_from(&name);
    odd.overview.database.label.clone_from(&name);
    odd.events[0].text.clone_from(&name);
    odd.events[1].family.clone_from(&name);
    let mut state = state(odd);
    state.silence = Some(name);
    for view in View::ALL {
        state.view = view;
        let terminal = drawn_on(&state, 120, 60);
        let cells = terminal.backend().buffer().content();
        let odd = |symbol: &str| symbol.contains(char::is_control);
        assert!(cells.iter().all(|cell| !odd(cell.symbol())));
    }
}

#[test]
fn keys_turn_views_pause_scroll_and_quit() {
    let mut state = state(news("normal"));
    let mut views = Vec::new();
    for _ in View::ALL {
        views.push(state.view);
        assert_eq!(press(&mut state, KeyCode::Tab), Wish::Nothing);
    }
    assert_eq!(views, View::ALL);
    assert_eq!(state.view, View::Overview);
    press(&mut state, KeyCode::Left);
    assert_eq!(state.view, View::Events);
    press(&mut state, KeyCode::Right);
    assert_eq!(state.view, View::Overview);
    press(&mut state, KeyCode::Char('3'));
    assert_eq!(state.view, View::Levels);
    assert_eq!(press(&mut state, KeyCode::Char('p')), Wish::Pause(true));
    assert!(drawn(&state, 110, 30).contains("PAUSED"));
    assert_eq!(press(&mut state, KeyCode::Char('p')), Wish::Pause(false));
    assert!(!drawn(&state, 110, 30).contains("PAUSED"));
    assert_eq!(press(&mut state, KeyCode::Char('q')), Wish::Quit);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(state.key(interrupt), Wish::Quit);
    assert_eq!(press(&mut state, KeyCode::Char('c')), Wish::Nothing);
}

#[test]
fn what_does_not_fit_can_be_scrolled_to() {
    let mut state = state(news("normal"));
    state.view = View::Events;
    for n in 3..=60 {
        state.events.push_back(event(n, &format!("event {n}.")));
    }
    let screen = drawn(&state, 110, 20);
    has(&screen, "event 60.");
    has(&screen, "up, down: scroll (45 more)");
    for _ in 0..3 {
        press(&mut state, KeyCode::PageDown);
    }
    let screen = drawn(&state, 110, 20);
    assert!(!screen.contains("event 60."), "{screen}");
    has(&screen, "event 30.");
    state.scroll = usize::MAX;
    has(&drawn(&state, 110, 20), "flushed");
    press(&mut state, KeyCode::Home);
    has(&drawn(&state, 110, 20), "event 60.");
}

#[test]
fn newer_figures_are_added_and_whole_ones_replace() {
    let mut state = state(news("normal"));
    let mut newer = news("normal");
    newer.whole = false;
    newer.points = vec![point(10)];
    newer.events = vec![event(3, "newest")];
    state.take(Told::Answered(Ok(Box::new(newer.clone()))));
    assert_eq!((state.points.len(), state.events.len()), (10, 3));
    newer.points = vec![point(11); 1000];
    newer.events = vec![event(4, "many"); 2000];
    state.take(Told::Answered(Ok(Box::new(newer))));
    assert_eq!((state.points.len(), state.events.len()), (600, 1000));
    state.take(Told::Answered(Ok(Box::new(news("normal")))));
    assert_eq!((state.points.len(), state.events.len()), (9, 2));
}

/// What [`a_panic_gives_the_terminal_back`] runs in a terminal of its own.
#[test]
#[ignore = "takes the terminal"]
fn panic_on_another_thread() {
    let screen = Screen::take().expect("a terminal");
    let thread = std::thread::spawn(|| panic!("on purpose"));
    assert!(thread.join().is_err());
    // Nothing gives it back but the panic.
    std::mem::forget(screen);
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let program = std::env::current_exe().expect("a path");
    let program = program.to_str().expect("text");
    let name = "ww::top::tests::panic_on_another_thread";
    let line = format!("{program} --exact {name} --ignored --nocapture");
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        skip::skip_without("script");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let at = |what| {
        text.find(what)
            .unwrap_or_else(|| panic!("{what} in {text}"))
    };
    // The screen of its own is entered and left, and then the message is seen.
    assert!(at("\u{1b}[?1049h") < at("\u{1b}[?1049l"), "{text}");
    assert!(at("\u{1b}[?1049l") < at("on purpose"), "{text}");
}
