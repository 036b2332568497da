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
