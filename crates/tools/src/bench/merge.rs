//! RocksDB's merge operators that `--merge_operator` can name, as functions over
//! operands in the order in which they were written.

/// The last operand, or the existing value if there is none.
pub fn put<'o>(existing: Option<&[u8]>, operands: impl Iterator<Item = &'o [u8]>) -> Vec<u8> {
    match operands.last() {
        Some(last) => last.to_vec(),
        None => existing.unwrap_or_default().to_vec(),
    }
}

/// The wrapping sum of little-endian 64-bit integers. A value or operand that is not
/// 8 bytes long counts as 0, as in RocksDB.
pub fn uint64_add<'o>(
    existing: Option<&[u8]>,
    operands: impl Iterator<Item = &'o [u8]>,
) -> Vec<u8> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let start = existing.map_or(0, number);
    let sum = operands.fold(start, |sum, operand| sum.wrapping_add(number(operand)));
    sum.to_le_bytes().to_vec()
}

/// The existing value and the operands, joined by commas.
pub fn string_append<'o>(
    existing: Option<&'o [u8]>,
    operands: impl Iterator<Item = &'o [u8]>,
) -> Vec<u8> {
    existing
        .into_iter()
        .chain(operands)
        .collect::<Vec<_>>()
        .join(&b',')
}

/// The greatest of the existing value and the operands, compared byte by byte.
pub fn max<'o>(existing: Option<&'o [u8]>, operands: impl Iterator<Item = &'o [u8]>) -> Vec<u8> {
    let greatest = existing.into_iter().chain(operands).max();
    greatest.unwrap_or_default().to_vec()
}

/// The bitwise exclusive or of the existing value and the operands. A shorter one
/// counts as if it were padded with zeros.
pub fn bytes_xor<'o>(
    existing: Option<&'o [u8]>,
    operands: impl Iterator<Item = &'o [u8]>,
) -> Vec<u8> {
    let mut sum = existing.unwrap_or_default().to_vec();
    for operand in operands {
        sum.resize(sum.len().max(operand.len()), 0);
        for (byte, other) in sum.iter_mut().zip(operand) {
            *byte ^= other;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands<'a>(list: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
        list.iter().copied()
    }

    #[test]
    fn operators() {
        assert_eq!(put(Some(b"a"), operands(&[b"b", b"c"])), b"c");
        assert_eq!(put(Some(b"a"), operands(&[])), b"a");
        let number = |value: u64| value.to_le_bytes();
        assert_eq!(
            uint64_add(Some(&number(3)), operands(&[&number(4), b"bad"])),
            number(7)
        );
        assert_eq!(
            uint64_add(None, operands(&[&number(u64::MAX), &number(2)])),
            number(1)
        );
        assert_eq!(string_append(None, operands(&[b"a", b"b"])), b"a,b");
        assert_eq!(string_append(Some(b"x"), operands(&[b"a"])), b"x,a");
        assert_eq!(max(Some(b"b"), operands(&[b"a", b"ba", b""])), b"ba");
        assert_eq!(max(None, operands(&[])), b"");
        assert_eq!(
            bytes_xor(Some(b"\x01\x02"), operands(&[b"\x03", b"\0\0\x05"])),
            b"\x02\x02\x05"
        );
    }
}
