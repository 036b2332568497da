//! Reading and printing keys and values as text.
//!
//! In hexadecimal, a byte string is written as `0x6B31`, as in RocksDB's tools; otherwise
//! its bytes are written as they are. In JSON, a byte string that is not UTF-8 is written
//! in hexadecimal, under a name that says so.

use std::fmt::Write as _;
use std::io;

use serde_json::{Map, Value};
use whitewater_storage::key::{ParsedKey, ValueType};

use super::failure::{Failure, Result};

/// The text form of keys or of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The bytes as they are.
    Raw,
    /// `0x` and two hexadecimal digits for each byte.
    Hex,
}

impl Form {
    /// Hexadecimal if `hex`.
    pub fn new(hex: bool) -> Self {
        if hex { Form::Hex } else { Form::Raw }
    }

    /// The bytes that `text` represents. The `0x` is optional.
    ///
    /// # Errors
    /// `text` has characters that are not digits, or an odd number of digits; the message
    /// names it as `what`.
    pub fn parse(self, text: &[u8], what: &str) -> Result<Vec<u8>> {
        match self {
            Form::Raw => Ok(text.to_vec()),
            Form::Hex => unhex(text).ok_or_else(|| {
                let text = String::from_utf8_lossy(text);
                Failure::usage(format_args!(
                    "{what} '{text}' is not an even number of hexadecimal digits"
                ))
            }),
        }
    }

    /// Writes `bytes`.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(self, to: &mut dyn io::Write, bytes: &[u8]) -> io::Result<()> {
        match self {
            Form::Raw => to.write_all(bytes),
            Form::Hex => to.write_all(hex(bytes).as_bytes()),
        }
    }

    /// `bytes` for a message or a column, with unprintable characters escaped.
    pub fn show(self, bytes: &[u8]) -> String {
        match self {
            Form::Raw => bytes.escape_ascii().to_string(),
            Form::Hex => hex(bytes),
        }
    }

    /// Adds `bytes` to an object as text, or as hexadecimal digits under `<name>_hex`.
    pub fn put(self, to: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
        match (self, std::str::from_utf8(bytes)) {
            (Form::Raw, Ok(text)) => to.insert(name.to_owned(), text.into()),
            _ => to.insert(format!("{name}_hex"), hex(bytes).into()),
        };
    }
}

/// `0x` and the hexadecimal digits of `bytes` in upper case.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let prefixed = text
        .strip_prefix(b"0x")
        .or_else(|| text.strip_prefix(b"0X"));
    let digits = prefixed.unwrap_or(text);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs
        .iter()
        .map(|&[high, low]| u8::try_from(digit(high)? * 16 + digit(low)?).ok())
        .collect()
}

/// The name of a kind of entry.
pub fn type_name(ty: ValueType) -> &'static str {
    match ty {
        ValueType::Deletion => "DELETE",
        ValueType::Value => "PUT",
        ValueType::Merge => "MERGE",
        ValueType::SingleDeletion => "SINGLE_DELETE",
        ValueType::RangeDeletion => "DELETE_RANGE",
        ValueType::BlobIndex => "BLOB_INDEX",
        ValueType::DeletionWithTimestamp => "DELETE_WITH_TIMESTAMP",
        ValueType::WideColumnEntity => "PUT_ENTITY",
        ValueType::ValuePreferredSeqno => "TIMED_PUT",
    }
}

/// An internal key as RocksDB's tools write it: `'k' seq:1, type:1`.
pub fn internal_key(key: &ParsedKey<'_>, form: Form) -> String {
    let user_key = match form {
        Form::Raw => key.user_key.escape_ascii().to_string(),
        Form::Hex => hex(key.user_key).split_off(2),
    };
    format!("'{user_key}' seq:{}, type:{}", key.seq, key.ty as u8)
}
