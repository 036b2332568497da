//! The bytes of records: a format byte, then MessagePack.
//!
//! MessagePack tells types apart, so requests may have any type that serde can write. Structs are
//! arrays, which keeps small requests small.

use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// MessagePack with structs as arrays.
const FORMAT: u8 = 1;

/// The bytes of `value`.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = vec![FORMAT];
    rmp_serde::encode::write(&mut bytes, value)
        .map_err(|e| Error::because("a record cannot be encoded", e))?;
    Ok(bytes)
}

/// The value of `bytes`; `what` is its name in errors.
pub(crate) fn decode<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => rmp_serde::from_slice(rest)
            .map_err(|e| Error::because(format!("damaged record of {what}"), e)),
        Some((format, _)) => Err(Error::new(format!(
            "record of {what} in the unknown format {format}"
        ))),
        None => Err(Error::new(format!("empty record of {what}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn a_damaged_record_is_an_error_with_its_name() {
        let bytes = encode(&("river", 7u64)).unwrap();
        assert_eq!(
            decode::<(String, u64)>("a vote", &bytes).unwrap(),
            ("river".to_owned(), 7)
        );
        for end in 0..bytes.len() {
            let error = decode::<(String, u64)>("a vote", &bytes[..end]).unwrap_err();
            assert!(error.to_string().contains("record of a vote"), "{error}");
        }
        let error = decode::<u64>("a vote", &[9, 1]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "record of a vote in the unknown format 9"
        );
    }
}
