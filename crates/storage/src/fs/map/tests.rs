//! Whether warming and probing store: in a mapping that cannot be stored to,
//! they end the process, which is a child of the test.

use super::*;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// What the child is to do.
const CHILD: &str = "WHITEWATER_MAP_CHILD";

const SIGSEGV: i32 = 11;

/// A file of two pages whose first bytes are `12345678`.
fn file() -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"12345678").unwrap();
    file.set_len(2 * PAGE).unwrap();
    file
}

/// The first window of `file`, writable or not.
fn mapped(file: &File, writable: bool) -> Mapping {
    let map = Mapping::new();
    let mut options = MmapOptions::new();
    options.len(WINDOW as usize);
    let window = if writable {
        options.map_raw(file)
    } else {
        options.map_raw_read_only(file)
    };
    let group = map.groups[0].get_or_init(|| Box::new([const { OnceLock::new() }; GROUP]));
    assert!(group[0].set(window.unwrap()).is_ok());
    map
}

fn act(what: &str, map: &Mapping) {
    match what {
        "load" => {
            let first = word(map.window(0).unwrap(), 0).load(Ordering::Relaxed);
            assert_eq!(first.to_ne_bytes(), *b"12345678");
        }
        "rewrite" => assert_eq!(map.rewrite_word(0), Some(*b"12345678")),
        "touch" => touch(map.window(0).unwrap(), 0, 2 * PAGE),
        other => panic!("{other}"),
    }
}

#[test]
fn child() {
    if let Ok(what) = std::env::var(CHILD) {
        act(&what, &mapped(&file(), false));
    }
}

#[test]
fn warming_and_probing_store() {
    for (what, ends) in [
        ("load", None),
        ("rewrite", Some(SIGSEGV)),
        ("touch", Some(SIGSEGV)),
    ] {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["fs::map::tests::child", "--exact", "--test-threads=1"])
            .env(CHILD, what)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(child.signal(), ends, "{what}: {child}");
        assert_eq!(child.success(), ends.is_none(), "{what}: {child}");
        // What can be stored to keeps its content.
        let file = file();
        let map = mapped(&file, true);
        act(what, &map);
        act("load", &map);
    }
}

/// The bytes of mapped files that are memory of this process, of the mapping with `address`.
fn resident(address: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = text.lines();
    let begins = |line: &&str| {
        let bounds = line.split(' ').next().and_then(|part| part.split_once('-'));
        bounds.is_some_and(|(from, to)| {
            let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
            number(from) <= address && address < number(to)
        })
    };
    assert!(lines.any(|line| begins(&line)), "the address is mapped");
    let line = lines.find(|line| line.starts_with("Rss:")).unwrap();
    let kib = line.split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() << 10
}

/// Pages of the system may be larger than the least.
#[test]
fn what_is_left_is_in_the_file_and_no_memory_of_the_process() {
    const LEN: u64 = 4 << 20;
    let file = tempfile::tempfile().unwrap();
    file.set_len(LEN).unwrap();
    let map = Mapping::new();
    map.cover(&file, 0, LEN).unwrap();
    map.warm(0, LEN).unwrap();
    for at in (0..LEN).step_by(PAGE as usize) {
        assert!(map.store(at + 1, b"river"));
    }
    let address = map.window(0).unwrap().as_ptr().addr();
    assert!(resident(address) >= LEN);
    map.leave(0, LEN / 2);
    assert!(resident(address) <= LEN / 2 + (64 << 10));
    // A part of a page stays, and so does what was never mapped.
    map.leave(LEN / 2 + 1, LEN / 2 + PAGE);
    map.leave(WINDOW, 2 * WINDOW);
    assert!(resident(address) >= LEN / 2);
    // A late store is as good as one before.
    assert!(map.store(PAGE + 6, b"delta"));
    let mut there = [0; 12];
    for at in (0..LEN).step_by(PAGE as usize) {
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut there, at).unwrap();
        let late = if at == PAGE { b"delta" } else { &[0; 5] };
        assert_eq!((&there[1..6], &there[6..11]), (&b"river"[..], &late[..]));
    }
}
