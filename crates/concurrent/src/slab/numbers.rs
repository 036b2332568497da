//! Sets of small numbers that know their lowest one.

/// A set of numbers, with a bit for each: in `words`, and in `summary` for each word that has any.
/// The lowest number is found in a word of the summary for 4096 numbers.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    words: Vec<u64>,
    summary: Vec<u64>,
}

/// Numbers in a word.
const BITS: usize = u64::BITS as usize;

impl Numbers {
    pub(super) const fn new() -> Self {
        Numbers {
            words: Vec::new(),
            summary: Vec::new(),
        }
    }

    pub(super) fn insert(&mut self, number: usize) {
        let word = number / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / BITS + 1, 0);
        }
        self.words[word] |= 1 << (number % BITS);
        self.summary[word / BITS] |= 1 << (word % BITS);
    }

    pub(super) fn remove(&mut self, number: usize) {
        let word = number / BITS;
        if let Some(bits) = self.words.get_mut(word) {
            *bits &= !(1 << (number % BITS));
            if *bits == 0 {
                self.summary[word / BITS] &= !(1 << (word % BITS));
            }
        }
    }

    /// The lowest number.
    pub(super) fn lowest(&self) -> Option<usize> {
        let at = self.summary.iter().position(|bits| *bits != 0)?;
        let word = at * BITS + self.summary[at].trailing_zeros() as usize;
        Some(word * BITS + self.words[word].trailing_zeros() as usize)
    }
}
