//! LZ4 blocks written with more effort: a hash chain finds the earlier occurrences of each four
//! bytes, newest first, and as many are tried as the level allows.
//!
//! It is implemented here because the crate for LZ4 has no such mode, and the bindings to the C
//! library have none with a dictionary. The format leaves choices to the encoder; any LZ4 decoder
//! reads the result.
//!
//! Positions ascend from block to block. So entries of earlier blocks in the tables are out of
//! reach, and the tables need not be cleared. A dictionary precedes each block; its tables are made
//! once and copied.

use super::{CompressionOptions, Encode, Reason};
use bytes::Bytes;

/// The length of the shortest match.
const MIN_MATCH: usize = 4;

/// A match ends at least this many bytes before the end of the block.
const LAST_LITERALS: usize = 5;

/// A match begins at least this many bytes before the end of the block.
const MATCH_LIMIT: usize = 12;

/// The largest distance of a match: offsets have 16 bits.
const MAX_DISTANCE: usize = 65_535;

const HASH_BITS: u32 = 15;
const WINDOW: usize = 1 << 16;

/// The library's default level, and its highest.
const DEFAULT_LEVEL: i32 = 9;
const MAX_LEVEL: i32 = 12;

/// The hash chain: the last position of four bytes by their hash, and for each position the
/// distance to the previous one with the same hash.
#[derive(Clone)]
struct Chains {
    /// The last position for each hash; 0 for none.
    head: Vec<u32>,
    /// The distance to the previous position, by the low 16 bits of a position.
    back: Vec<u16>,
}

impl Chains {
    fn new() -> Self {
        Chains {
            head: vec![0; 1 << HASH_BITS],
            back: vec![0; WINDOW],
        }
    }

    fn copy_from(&mut self, other: &Chains) {
        self.head.copy_from_slice(&other.head);
        self.back.copy_from_slice(&other.back);
    }

    fn insert(&mut self, position: usize, four: [u8; 4]) {
        let head = &mut self.head[hash(four)];
        let distance = position - *head as usize;
        self.back[position % WINDOW] = distance.min(MAX_DISTANCE) as u16;
        *head = position as u32;
    }

    /// The position before `position` in its chain; 0 if there is none.
    fn previous(&self, position: usize) -> usize {
        position.saturating_sub(usize::from(self.back[position % WINDOW]))
    }
}

fn hash(four: [u8; 4]) -> usize {
    (u32::from_le_bytes(four).wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
}

/// Bytes that were before, too.
#[derive(Clone, Copy, Default)]
struct Match {
    start: usize,
    len: usize,
    distance: usize,
}

pub(super) struct Encoder {
    /// How many positions are tried for one match.
    depth: usize,
    chains: Chains,
    /// The position of the first byte of the next block.
    base: usize,
    /// The end of the dictionary, and the tables over it.
    dictionary: Option<(Bytes, Chains)>,
    /// Dictionary and block.
    joined: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&Bytes>) -> Self {
        let level = match options.level() {
            Some(level) if level > 0 => level.min(MAX_LEVEL),
            _ => DEFAULT_LEVEL,
        };
        let dictionary = dictionary.map(|all| {
            let tail = all.slice(all.len().saturating_sub(MAX_DISTANCE)..);
            let mut chains = Chains::new();
            for (at, four) in tail.windows(MIN_MATCH).enumerate() {
                chains.insert(1 + at, [four[0], four[1], four[2], four[3]]);
            }
            (tail, chains)
        });
        Encoder {
            depth: 1 << (level - 1),
            chains: Chains::new(),
            base: 1,
            dictionary,
            joined: Vec::new(),
        }
    }
}

impl Encode for Encoder {
    fn encode(&mut self, raw: &[u8], _: usize, out: &mut Vec<u8>) -> Result<bool, Reason> {
        match &self.dictionary {
            None => {
                if self.base + raw.len() + WINDOW > u32::MAX as usize {
                    self.chains = Chains::new();
                    self.base = 1;
                }
                Search {
                    src: raw,
                    base: self.base,
                    depth: self.depth,
                    chains: &mut self.chains,
                    inserted: 0,
                }
                .write(0, out);
                self.base += raw.len();
            }
            Some((dictionary, chains)) => {
                self.chains.copy_from(chains);
                self.joined.clear();
                self.joined.extend_from_slice(dictionary);
                self.joined.extend_from_slice(raw);
                Search {
                    src: &self.joined,
                    base: 1,
                    depth: self.depth,
                    chains: &mut self.chains,
                    // The last few positions of the dictionary reach into the block.
                    inserted: dictionary.len().saturating_sub(MIN_MATCH - 1),
                }
                .write(dictionary.len(), out);
            }
        }
        Ok(true)
    }
}

/// One block being written.
struct Search<'a> {
    src: &'a [u8],
    /// The position of the first byte.
    base: usize,
    depth: usize,
    chains: &'a mut Chains,
    /// Positions before this one are in the tables.
    inserted: usize,
}

impl Search<'_> {
    /// Writes the bytes from `from` on. Matches may refer to the bytes before.
    fn write(mut self, from: usize, out: &mut Vec<u8>) {
        let mut anchor = from;
        let mut at = from;
        let end = self.src.len().saturating_sub(MATCH_LIMIT);
        while at <= end && self.src.len() - from > MATCH_LIMIT {
            let mut found = self.longest(at, anchor);
            if found.len == 0 {
                at += 1;
                continue;
            }
            // A longer match may begin after the first byte of this one.
            loop {
                let next = found.start + 1;
                if next > end {
                    break;
                }
                let later = self.longest(next.max(at + 1), anchor);
                if later.len <= found.len {
                    break;
                }
                at = at.max(later.start);
                found = later;
            }
            put_sequence(out, &self.src[anchor..found.start], Some(found));
            anchor = found.start + found.len;
            at = anchor;
        }
        put_sequence(out, &self.src[anchor..], None);
    }

    fn four(&self, at: usize) -> [u8; 4] {
        [
            self.src[at],
            self.src[at + 1],
            self.src[at + 2],
            self.src[at + 3],
        ]
    }

    /// The longest match that covers position `at`. It may begin before `at`, but not before
    /// `anchor`. `len` is 0 if there is none.
    fn longest(&mut self, at: usize, anchor: usize) -> Match {
        while self.inserted < at {
            let four = self.four(self.inserted);
            self.chains.insert(self.base + self.inserted, four);
            self.inserted += 1;
        }
        let mut best = Match::default();
        let Some(limit) = self.src.len().checked_sub(LAST_LITERALS) else {
            return best;
        };
        if at + MATCH_LIMIT > self.src.len() {
            return best;
        }
        let four = self.four(at);
        let lowest = self.base.max((self.base + at).saturating_sub(MAX_DISTANCE));
        let mut candidate = self.chains.head[hash(four)] as usize;
        for _ in 0..self.depth {
            if candidate < lowest || candidate >= self.base + at {
                break;
            }
            let from = candidate - self.base;
            if self.four(from) == four {
                let same = |&(a, b): &(&u8, &u8)| a == b;
                let ahead = self.src[at..limit]
                    .iter()
                    .zip(&self.src[from..])
                    .take_while(same)
                    .count();
                let behind = self.src[anchor..at]
                    .iter()
                    .rev()
                    .zip(self.src[..from].iter().rev())
                    .take_while(same)
                    .count();
                if ahead >= MIN_MATCH && ahead + behind > best.len {
                    best = Match {
                        start: at - behind,
                        len: ahead + behind,
                        distance: at - from,
                    };
                    if at + ahead == limit {
                        break;
                    }
                }
            }
            let previous = self.chains.previous(candidate);
            if previous == candidate {
                break;
            }
            candidate = previous;
        }
        best
    }
}

/// Writes literals, and the match after them unless it is the last sequence.
fn put_sequence(out: &mut Vec<u8>, literals: &[u8], found: Option<Match>) {
    let extra = found.map_or(0, |m| m.len - MIN_MATCH);
    out.push((literals.len().min(15) << 4 | extra.min(15)) as u8);
    put_length(out, literals.len());
    out.extend_from_slice(literals);
    if let Some(found) = found {
        out.extend_from_slice(&(found.distance as u16).to_le_bytes());
        put_length(out, extra);
    }
}

/// Writes the rest of a length of which the token holds the first 15.
fn put_length(out: &mut Vec<u8>, len: usize) {
    if let Some(mut rest) = len.checked_sub(15) {
        while rest >= 255 {
            out.push(255);
            rest -= 255;
        }
        out.push(rest as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// Words from a small alphabet, with copies of what was before.
    fn text(rng: &mut StdRng, len: usize) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::with_capacity(len);
        while out.len() < len {
            if !out.is_empty() && rng.random_bool(0.3) {
                let from = rng.random_range(0..out.len());
                let n = rng.random_range(1..200).min(out.len() - from);
                out.extend_from_within(from..from + n);
            } else {
                out.push(rng.random_range(b'a'..=b'p'));
            }
        }
        out.truncate(len);
        out
    }

    fn options(level: i32) -> CompressionOptions {
        CompressionOptions {
            level,
            ..CompressionOptions::default()
        }
    }

    fn check(encoder: &mut Encoder, raw: &[u8], dictionary: &[u8]) -> usize {
        let mut out = Vec::new();
        assert!(encoder.encode(raw, raw.len(), &mut out).expect("encodes"));
        let mut back = vec![0; raw.len()];
        let n = lz4_flex::block::decompress_into_with_dict(&out, &mut back, dictionary)
            .expect("a valid block");
        assert_eq!(n, raw.len());
        assert!(back == raw, "differs, of {} bytes", raw.len());
        out.len()
    }

    #[test]
    fn blocks_of_all_sizes_round_trip() {
        let mut rng = StdRng::seed_from_u64(7);
        for level in [-3, 1, 4, 9, 12, 100] {
            let mut encoder = Encoder::new(&options(level), None);
            for len in (0..40).chain([100, 4096, 65_535, 65_536, 200_000]) {
                let raw = text(&mut rng, len);
                check(&mut encoder, &raw, b"");
                check(&mut encoder, &vec![b'x'; len], b"");
                let noise: Vec<u8> = (0..len).map(|_| rng.random()).collect();
                check(&mut encoder, &noise, b"");
            }
        }
    }

    #[test]
    fn dictionaries_of_all_sizes_are_referred_to() {
        let mut rng = StdRng::seed_from_u64(8);
        for len in [0, 1, 3, 4, 100, 65_535, 65_536, 100_000] {
            let dictionary = text(&mut rng, len);
            let bytes = Bytes::from(dictionary.clone());
            let mut encoder = Encoder::new(&options(9), Some(&bytes));
            for raw_len in [0, 5, 13, 100, 5000, 70_000] {
                let raw = text(&mut rng, raw_len);
                check(&mut encoder, &raw, &dictionary);
            }
            if len >= 100 {
                let part = &dictionary[len - 100..];
                assert!(check(&mut encoder, part, &dictionary) < 30);
            }
        }
    }

    #[test]
    fn more_effort_is_not_larger_than_the_fast_mode() {
        let mut rng = StdRng::seed_from_u64(9);
        let raw = text(&mut rng, 50_000);
        let fast = lz4_flex::block::compress(&raw).len();
        let sizes =
            [3, 6, 9, 12].map(|level| check(&mut Encoder::new(&options(level), None), &raw, b""));
        assert!(sizes[2] < fast, "{sizes:?} against {fast}");
        assert!(sizes[3] < sizes[0], "{sizes:?}");
    }

    #[test]
    fn positions_start_again_before_they_run_out() {
        let mut encoder = Encoder::new(&options(9), None);
        let raw = b"a phrase that is a phrase that is a phrase".repeat(30);
        let size = check(&mut encoder, &raw, b"");
        encoder.base = u32::MAX as usize - WINDOW - raw.len() / 2;
        assert_eq!(check(&mut encoder, &raw, b""), size);
        assert!(encoder.base < WINDOW);
        assert_eq!(check(&mut encoder, &raw, b""), size);
    }
}
