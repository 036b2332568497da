use std::ffi::OsString;

use clap::CommandFactory;

use super::cli::{Cli, Global, with_dashes};
use super::failure::Failure;
use super::session::Session;
use super::text::{Form, hex};

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn flags_with_underscores_are_flags_with_dashes() {
    let changed = |text: &str| with_dashes(OsString::from(text));
    assert_eq!(changed("--column_family=a_b"), "--column-family=a_b");
    assert_eq!(changed("--key_hex"), "--key-hex");
    assert_eq!(changed("key_one"), "key_one");
    assert_eq!(changed("-q"), "-q");
}

#[test]
fn hexadecimal_digits_go_both_ways() {
    for bytes in [&b""[..], b"k1", b"\x00\xff\x7f"] {
        let digits = hex(bytes);
        assert_eq!(
            Form::Hex.parse(digits.as_bytes(), "key").ok().as_deref(),
            Some(bytes)
        );
    }
    assert_eq!(hex(b"k1"), "0x6B31");
    assert_eq!(Form::Hex.parse(b"6b31", "key").ok(), Some(b"k1".to_vec()));
    for bad in [&b"0x1"[..], b"0xzz", b"k"] {
        let failure = Form::Hex.parse(bad, "key").expect_err("no digits");
        assert_eq!(failure.exit_code(), 2, "{bad:?}");
    }
    assert_eq!(Form::Raw.parse(b"0x1", "key").ok(), Some(b"0x1".to_vec()));
}

/// The output of `print` with the arguments `global`.
fn printed(global: &Global, print: impl FnOnce(&mut Session<'_>)) -> String {
    let mut out = Vec::new();
    print(&mut Session::new(global, &mut out));
    String::from_utf8(out).expect("text")
}

#[test]
fn pairs_are_lines_or_objects() {
    let pair = |global: &Global| {
        printed(global, |session| {
            session.pair(b"k", Some(b"\xff")).expect("written");
            session.pair(b"k2", None).expect("written");
        })
    };
    let hex = Global {
        hex: true,
        ..Global::default()
    };
    assert_eq!(pair(&hex), "0x6B ==> 0xFF\n0x6B32\n");
    let json = Global {
        json: true,
        ..Global::default()
    };
    assert_eq!(
        pair(&json),
        "{\"key\":\"k\",\"value_hex\":\"0xFF\"}\n{\"key\":\"k2\"}\n"
    );
    let mixed = Global {
        value_hex: true,
        ..Global::default()
    };
    assert_eq!(pair(&mixed), "k ==> 0xFF\nk2\n");
}

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    let rows = [
        vec!["a".into(), 7.into(), "x".into()],
        vec!["long".into(), 4096.into(), "".into()],
    ];
    let text = printed(&Global::default(), |session| {
        session
            .table(&["name", "size", "what"], &rows)
            .expect("written");
    });
    assert_eq!(text, "name  size  what\na        7  x\nlong  4096\n");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let closed = Failure::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    assert_eq!((closed.exit_code(), closed.message()), (0, None));
    let full = Failure::from(std::io::Error::from(std::io::ErrorKind::StorageFull));
    assert_eq!(full.exit_code(), 3);
}
