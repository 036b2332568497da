//! Operations of one column family, sorted by key.
//!
//! A sorted array in pieces: a search is two binary searches, and an insert moves the operations
//! of one piece. The order is the caller's; here are numbers only.

use smallvec::{SmallVec, smallvec};
use std::cmp::Ordering;

/// The number of operations at which a piece is split.
const PIECE: usize = 256;

/// Consecutive operations. A few take no allocation.
type Piece = SmallVec<[u32; 8]>;

/// The newest operation of each key, in the order of the keys.
///
/// Invariant: no piece is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Sorted {
    pieces: SmallVec<[Piece; 1]>,
}

/// Where an operation is in [`Sorted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    piece: usize,
    at: usize,
}

impl Sorted {
    /// Where the key is that `order` compares operations with: `Err` has the place of the first
    /// greater key, or that behind the last one of a piece.
    pub fn search(&self, mut order: impl FnMut(u32) -> Ordering) -> Result<Place, Place> {
        let after = |piece: &Piece| piece.first().is_some_and(|&first| order(first).is_le());
        let piece = self.pieces.partition_point(after).saturating_sub(1);
        let Some(entries) = self.pieces.get(piece) else {
            return Err(Place { piece: 0, at: 0 });
        };
        match entries.binary_search_by(|&entry| order(entry)) {
            Ok(at) => Ok(Place { piece, at }),
            Err(at) => Err(Place { piece, at }),
        }
    }

    /// The operation at `place`.
    pub fn get(&self, place: Place) -> Option<u32> {
        self.pieces.get(place.piece)?.get(place.at).copied()
    }

    /// Replaces the operation at `place`.
    pub fn set(&mut self, place: Place, operation: u32) {
        if let Some(entry) = (self.pieces.get_mut(place.piece)).and_then(|p| p.get_mut(place.at)) {
            *entry = operation;
        }
    }

    /// Inserts an operation at a place that a search returned as `Err`.
    pub fn insert(&mut self, place: Place, operation: u32) {
        let Some(piece) = self.pieces.get_mut(place.piece) else {
            self.pieces.push(smallvec![operation]);
            return;
        };
        piece.insert(place.at, operation);
        if piece.len() > PIECE {
            // Keys that arrive in order fill whole pieces.
            let at_end = place.at + 1 == piece.len();
            let tail = piece
                .drain(if at_end { PIECE } else { PIECE / 2 }..)
                .collect();
            self.pieces.insert(place.piece + 1, tail);
        }
    }

    /// Removes the operation at `place`.
    pub fn remove(&mut self, place: Place) {
        let Some(piece) = self.pieces.get_mut(place.piece) else {
            return;
        };
        if place.at < piece.len() {
            piece.remove(place.at);
        }
        if piece.is_empty() {
            self.pieces.remove(place.piece);
        }
    }

    /// The first place.
    pub fn first(&self) -> Option<Place> {
        self.at_or_after(Place { piece: 0, at: 0 })
    }

    /// The last place.
    pub fn last(&self) -> Option<Place> {
        self.before(Place {
            piece: self.pieces.len(),
            at: 0,
        })
    }

    /// `place`, or the one behind it if it is at the end of a piece.
    pub fn at_or_after(&self, place: Place) -> Option<Place> {
        if place.at < self.pieces.get(place.piece)?.len() {
            return Some(place);
        }
        let next = Place {
            piece: place.piece + 1,
            at: 0,
        };
        self.get(next).map(|_| next)
    }

    /// The place behind `place`.
    pub fn after(&self, place: Place) -> Option<Place> {
        self.at_or_after(Place {
            at: place.at + 1,
            ..place
        })
    }

    /// The place before `place`.
    pub fn before(&self, place: Place) -> Option<Place> {
        if let Some(at) = place.at.checked_sub(1) {
            return Some(Place { at, ..place });
        }
        let piece = place.piece.checked_sub(1)?;
        let at = self.pieces.get(piece)?.len().checked_sub(1)?;
        Some(Place { piece, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    fn forward(sorted: &Sorted) -> Vec<u32> {
        let mut place = sorted.first();
        std::iter::from_fn(|| {
            let here = place?;
            place = sorted.after(here);
            sorted.get(here)
        })
        .collect()
    }

    fn backward(sorted: &Sorted) -> Vec<u32> {
        let mut place = sorted.last();
        std::iter::from_fn(|| {
            let here = place?;
            place = sorted.before(here);
            sorted.get(here)
        })
        .collect()
    }

    fn insert(sorted: &mut Sorted, number: u32) {
        match sorted.search(|n| n.cmp(&number)) {
            Ok(place) => sorted.set(place, number),
            Err(place) => sorted.insert(place, number),
        }
    }

    #[test]
    fn numbers_stay_sorted() {
        for (seed, most) in [(1, 40), (2, 3000), (3, 100_000)] {
            let rng = &mut StdRng::seed_from_u64(seed);
            let (mut sorted, mut model) = (Sorted::default(), std::collections::BTreeSet::new());
            for _ in 0..4000 {
                let number = rng.random_range(0..most);
                if rng.random_ratio(1, 3) {
                    let found = sorted.search(|n| n.cmp(&number));
                    assert_eq!(found.is_ok(), model.remove(&number));
                    if let Ok(place) = found {
                        assert_eq!(sorted.get(place), Some(number));
                        sorted.remove(place);
                    }
                } else {
                    insert(&mut sorted, number);
                    model.insert(number);
                }
                let target = rng.random_range(0..most);
                let (Ok(place) | Err(place)) = sorted.search(|n| n.cmp(&target));
                let found = sorted.at_or_after(place).and_then(|p| sorted.get(p));
                assert_eq!(found, model.range(target..).next().copied());
                let before = sorted.before(place).and_then(|p| sorted.get(p));
                assert_eq!(before, model.range(..target).next_back().copied());
            }
            assert_eq!(forward(&sorted), model.iter().copied().collect::<Vec<_>>());
            let model: Vec<u32> = model.iter().rev().copied().collect();
            assert_eq!(backward(&sorted), model);
        }
    }

    #[test]
    fn numbers_in_order_fill_pieces() {
        let mut sorted = Sorted::default();
        (0..10_000).for_each(|n| insert(&mut sorted, n));
        assert!(sorted.pieces.len() <= 10_000 / PIECE + 1);
        assert_eq!(forward(&sorted), (0..10_000).collect::<Vec<_>>());
        for n in 0..10_000 {
            let place = sorted.search(|m| m.cmp(&n)).unwrap();
            sorted.remove(place);
        }
        assert!(sorted.pieces.is_empty());
        assert_eq!((sorted.first(), sorted.last()), (None, None));
    }
}
