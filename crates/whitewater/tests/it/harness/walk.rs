//! Comparisons of a database with a `BTreeMap`: scans, seeks and steps within bounds.

use super::{Db, show};
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::ops::Bound;
use whitewater::{DBRawIteratorWithThreadMode, ReadOptions};

/// What a column family should hold.
pub type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// A raw iterator of the tests' database type.
pub type RawIter<'a> = DBRawIteratorWithThreadMode<'a, Db>;

/// Bounds of an iterator: lower inclusive, upper exclusive.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

impl Bounds {
    /// Read options with these bounds, for all keys in order, whatever the memtable.
    pub fn read_options(&self) -> ReadOptions {
        let mut o = ReadOptions::default();
        o.set_total_order_seek(true);
        if let Some(key) = &self.lower {
            o.set_iterate_lower_bound(key.clone());
        }
        if let Some(key) = &self.upper {
            o.set_iterate_upper_bound(key.clone());
        }
        o
    }

    fn admits(&self, key: &[u8]) -> bool {
        self.lower.as_deref().is_none_or(|l| l <= key)
            && self.upper.as_deref().is_none_or(|u| key < u)
    }
}

/// An iterator, the content that it must show, and the position that it must have.
pub struct Walk<'a> {
    pub iter: RawIter<'a>,
    content: Content,
    bounds: Bounds,
    at: Option<Vec<u8>>,
}

type Found<'a> = Option<(&'a Vec<u8>, &'a Vec<u8>)>;

impl<'a> Walk<'a> {
    /// An iterator that was made with `bounds` and must show `content`.
    pub fn new(iter: RawIter<'a>, content: Content, bounds: Bounds) -> Self {
        Walk {
            iter,
            content,
            bounds,
            at: None,
        }
    }

    fn forward(&self, from: Bound<&[u8]>) -> Found<'_> {
        let mut found = self.content.range::<[u8], _>((from, Bound::Unbounded));
        found.find(|(k, _)| self.bounds.admits(k))
    }

    fn backward(&self, to: Bound<&[u8]>) -> Found<'_> {
        let mut found = self.content.range::<[u8], _>((Bound::Unbounded, to));
        found.rfind(|(k, _)| self.bounds.admits(k))
    }

    /// Compares the position after `step`.
    fn expect(&mut self, step: &str, want: Option<Vec<u8>>) -> Result<(), String> {
        self.iter
            .status()
            .map_err(|e| format!("{step}: iterator failed: {e}"))?;
        let got = self.iter.item();
        let wanted = want.as_ref().map(|k| (&k[..], &self.content[k][..]));
        if got != wanted {
            let text = |item: Option<(&[u8], &[u8])>| match item {
                None => "the end".to_owned(),
                Some((k, v)) => format!("{} = {}", show(k), show(v)),
            };
            return Err(format!(
                "{step} within {:?}: iterator at {}, should be at {}",
                self.bounds,
                text(got),
                text(wanted)
            ));
        }
        self.at = want;
        Ok(())
    }

    /// Seeks `key` or the next one.
    pub fn seek(&mut self, key: &[u8]) -> Result<(), String> {
        self.iter.seek(key);
        let want = self.forward(Bound::Included(key)).map(|(k, _)| k.clone());
        self.expect(&format!("seek {}", show(key)), want)
    }

    /// Seeks `key` or the one before.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<(), String> {
        self.iter.seek_for_prev(key);
        let want = self.backward(Bound::Included(key)).map(|(k, _)| k.clone());
        self.expect(&format!("seek_for_prev {}", show(key)), want)
    }

    /// One random step; `key` makes keys to seek.
    pub fn step(
        &mut self,
        rng: &mut StdRng,
        key: &dyn Fn(&mut StdRng) -> Vec<u8>,
    ) -> Result<(), String> {
        let kind = match self.at {
            // An iterator at its end can only seek.
            None => rng.random_range(0..4),
            Some(_) => rng.random_range(0..20),
        };
        match kind {
            0 => self.seek(&key(rng)),
            1 => self.seek_for_prev(&key(rng)),
            2 => {
                self.iter.seek_to_first();
                let want = self.forward(Bound::Unbounded).map(|(k, _)| k.clone());
                self.expect("seek_to_first", want)
            }
            3 => {
                self.iter.seek_to_last();
                let want = self.backward(Bound::Unbounded).map(|(k, _)| k.clone());
                self.expect("seek_to_last", want)
            }
            4..=12 => {
                self.iter.next();
                let at = self.at.take().expect("checked above");
                let want = self.forward(Bound::Excluded(&at)).map(|(k, _)| k.clone());
                self.expect(&format!("next from {}", show(&at)), want)
            }
            _ => {
                self.iter.prev();
                let at = self.at.take().expect("checked above");
                let want = self.backward(Bound::Excluded(&at)).map(|(k, _)| k.clone());
                self.expect(&format!("prev from {}", show(&at)), want)
            }
        }
    }

    /// Everything, in both directions.
    pub fn scan(&mut self) -> Result<(), String> {
        let keys: Vec<Vec<u8>> = self.content.keys().cloned().collect();
        let keys: Vec<_> = keys.into_iter().filter(|k| self.bounds.admits(k)).collect();
        self.iter.seek_to_first();
        for key in keys.iter().map(Some).chain([None]) {
            self.expect("forward scan", key.cloned())?;
            if key.is_some() {
                self.iter.next();
            }
        }
        self.iter.seek_to_last();
        for key in keys.iter().rev().map(Some).chain([None]) {
            self.expect("backward scan", key.cloned())?;
            if key.is_some() {
                self.iter.prev();
            }
        }
        Ok(())
    }
}

/// Everything `iter` shows, front to back.
pub fn collect(mut iter: RawIter<'_>) -> Result<Content, whitewater::Error> {
    let mut content = Content::new();
    iter.seek_to_first();
    while let Some((key, value)) = iter.item() {
        content.insert(key.to_vec(), value.to_vec());
        iter.next();
    }
    iter.status()?;
    Ok(content)
}
