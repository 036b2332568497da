//! Integers and strings as bytes: little-endian fixed width, LEB128 varints
//! and length-prefixed slices.
//!
//! Writers append to a `Vec<u8>`. Readers consume from the front of a `&[u8]`
//! and return `None` when the bytes end or the number does not fit; they never
//! panic.

/// Appends a little-endian `u16`.
pub fn put_fixed16(dst: &mut Vec<u8>, v: u16) {
    dst.extend_from_slice(&v.to_le_bytes());
}

/// Appends a little-endian `u32`.
pub fn put_fixed32(dst: &mut Vec<u8>, v: u32) {
    dst.extend_from_slice(&v.to_le_bytes());
}

/// Appends a little-endian `u64`.
pub fn put_fixed64(dst: &mut Vec<u8>, v: u64) {
    dst.extend_from_slice(&v.to_le_bytes());
}

/// Appends a varint of up to 5 bytes.
#[inline]
pub fn put_varint32(dst: &mut Vec<u8>, v: u32) {
    put_varint64(dst, u64::from(v));
}

/// Appends a varint of up to 10 bytes.
#[inline]
pub fn put_varint64(dst: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        dst.push(v as u8 | 0x80);
        v >>= 7;
    }
    dst.push(v as u8);
}

/// Appends a zigzag-coded signed varint.
pub fn put_varsigned64(dst: &mut Vec<u8>, v: i64) {
    put_varint64(dst, ((v << 1) ^ (v >> 63)) as u64);
}

/// Appends a varint32 length and the bytes.
///
/// # Panics
/// If `s` is longer than `u32::MAX` bytes. Callers check sizes before.
#[inline]
pub fn put_length_prefixed(dst: &mut Vec<u8>, s: &[u8]) {
    let len = u32::try_from(s.len()).expect("callers bound sizes below 4 GiB");
    put_varint32(dst, len);
    dst.extend_from_slice(s);
}

/// Number of bytes [`put_varint64`] writes for `v`.
#[inline]
pub fn varint_len(v: u64) -> usize {
    if v < 0x80 {
        return 1;
    }
    (70 - (v | 1).leading_zeros() as usize) / 7
}

/// Takes a little-endian `u16`.
pub fn get_fixed16(src: &mut &[u8]) -> Option<u16> {
    let (head, rest) = src.split_first_chunk::<2>()?;
    *src = rest;
    Some(u16::from_le_bytes(*head))
}

/// Takes a little-endian `u32`.
pub fn get_fixed32(src: &mut &[u8]) -> Option<u32> {
    let (head, rest) = src.split_first_chunk::<4>()?;
    *src = rest;
    Some(u32::from_le_bytes(*head))
}

/// Takes a little-endian `u64`.
pub fn get_fixed64(src: &mut &[u8]) -> Option<u64> {
    let (head, rest) = src.split_first_chunk::<8>()?;
    *src = rest;
    Some(u64::from_le_bytes(*head))
}

/// Takes a varint that must fit 32 bits.
#[inline]
pub fn get_varint32(src: &mut &[u8]) -> Option<u32> {
    if let Some((&b, rest)) = src.split_first()
        && b < 0x80
    {
        *src = rest;
        return Some(u32::from(b));
    }
    let (v, rest) = split_long_varint32(src)?;
    *src = rest;
    Some(v)
}

// Not inlined, so that decoders, where most lengths are one byte, stay small; and by value, so
// that their position stays in registers.
#[inline(never)]
fn split_long_varint32(mut src: &[u8]) -> Option<(u32, &[u8])> {
    let v = u32::try_from(get_varint64(&mut src)?).ok()?;
    Some((v, src))
}

/// Takes a varint of up to 10 bytes.
#[inline]
pub fn get_varint64(src: &mut &[u8]) -> Option<u64> {
    let mut v = 0u64;
    for (i, &b) in src.iter().enumerate().take(10) {
        if i == 9 && b > 1 {
            return None;
        }
        v |= u64::from(b & 0x7f) << (7 * i);
        if b < 0x80 {
            *src = &src[i + 1..];
            return Some(v);
        }
    }
    None
}

/// Takes a zigzag-coded signed varint.
pub fn get_varsigned64(src: &mut &[u8]) -> Option<i64> {
    let v = get_varint64(src)?;
    Some((v >> 1) as i64 ^ -((v & 1) as i64))
}

/// Takes a varint32 length and that many bytes.
#[inline]
pub fn get_length_prefixed<'a>(src: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut copy = *src;
    let len = get_varint32(&mut copy)? as usize;
    let (head, rest) = copy.split_at_checked(len)?;
    *src = rest;
    Some(head)
}

/// The `u64` in the last 8 bytes of `s`.
#[inline]
pub fn last_u64(s: &[u8]) -> Option<u64> {
    s.last_chunk::<8>().map(|c| u64::from_le_bytes(*c))
}

/// The first `N` bytes of `s`, with zeros behind a shorter one. As big-endian numbers, those of two
/// strings that differ in them have the bytewise order of the strings: a zero is a byte of the
/// string, or stands for its end, which comes before every byte.
#[inline(always)]
pub(crate) fn first_bytes<const N: usize>(s: &[u8]) -> [u8; N] {
    match s.first_chunk() {
        Some(bytes) => *bytes,
        None => {
            let mut bytes = [0; N];
            bytes[..s.len()].copy_from_slice(s);
            bytes
        }
    }
}

/// Length of the longest common prefix, eight bytes at a time.
#[inline]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let n = a.len().min(b.len());
    let mut at = 0;
    for (x, y) in a[..n].chunks_exact(8).zip(b[..n].chunks_exact(8)) {
        let x = u64::from_le_bytes(x.try_into().expect("8 bytes"));
        let y = u64::from_le_bytes(y.try_into().expect("8 bytes"));
        if x != y {
            return at + ((x ^ y).trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < n && a[at] == b[at] {
        at += 1;
    }
    at
}

/// Copies `from` to `to`, which is as long. Lengths that keys often have take no call: the first
/// and the last bytes are copied, which overlap.
#[inline(always)]
pub fn copy_short(to: &mut [u8], from: &[u8]) {
    match from.len() {
        16..=32 => copy_both_ends::<16>(to, from),
        8..=15 => copy_both_ends::<8>(to, from),
        _ => to.copy_from_slice(from),
    }
}

#[inline(always)]
fn copy_both_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "a copy has the length of its source");
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        to[..N].copy_from_slice(first);
        let end = to.len() - N;
        to[end..].copy_from_slice(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_exact() {
        let a = b"0123456789abcdefghij";
        for n in 0..=a.len() {
            let mut b = a.to_vec();
            if n < b.len() {
                b[n] ^= 0x40;
            }
            assert_eq!(common_prefix(a, &b), n);
            assert_eq!(common_prefix(a, &a[..n]), n);
        }
    }

    #[test]
    fn copies_of_every_length_are_whole() {
        let from: Vec<u8> = (1..=70).collect();
        for len in 0..=from.len() {
            let mut to = vec![0; len + 1];
            copy_short(&mut to[..len], &from[..len]);
            assert_eq!((&to[..len], to[len]), (&from[..len], 0));
        }
    }

    #[test]
    fn varints_round_trip_and_report_their_length() {
        for shift in 0..64 {
            for v in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut b = Vec::new();
                put_varint64(&mut b, v);
                assert_eq!(b.len(), varint_len(v), "{v}");
                let mut s = &b[..];
                assert_eq!(get_varint64(&mut s), Some(v));
                assert!(s.is_empty());
                let mut short = &b[..b.len() - 1];
                assert_eq!(get_varint64(&mut short), None);
                let mut b = Vec::new();
                put_varsigned64(&mut b, v as i64);
                assert_eq!(get_varsigned64(&mut &b[..]), Some(v as i64));
            }
        }
    }

    #[test]
    fn oversized_numbers_are_refused() {
        assert_eq!(get_varint64(&mut &[0xff; 11][..]), None);
        assert_eq!(get_varint32(&mut &[0xff, 0xff, 0xff, 0xff, 0x7f][..]), None);
        assert_eq!(get_length_prefixed(&mut &[5, 1, 2][..]), None);
    }
}
