//! Keeping an iterator to one prefix.
//!
//! A [`PrefixLimit`] is decided again whenever the iterator is positioned, by the key that it
//! was sent to, and holds until the next time. Keys of one prefix are neighbours, so the first
//! key outside ends the walk in either direction.

use crate::options::prefix::PrefixExtractor;

/// When an iterator keeps to a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PrefixMode {
    /// Never: the iterator shows all keys in order.
    #[default]
    Never,
    /// If the iterator was sent to a key that has a prefix. From either end, it shows all keys.
    AfterSeek,
    /// If the key that the iterator was sent to, or the one that it found at an end, has a prefix.
    Always,
}

/// The prefix that an iterator keeps to, if there is one.
#[derive(Debug, Default)]
pub(crate) struct PrefixLimit {
    extractor: Option<PrefixExtractor>,
    mode: PrefixMode,
    /// Whether an end does not set a limit, because another iterator sets it.
    ends_given_away: bool,
    /// Whether `prefix` applies.
    set: bool,
    prefix: Vec<u8>,
}

impl PrefixLimit {
    pub(super) fn new(extractor: Option<PrefixExtractor>, mode: PrefixMode) -> Self {
        PrefixLimit {
            extractor,
            mode,
            ..PrefixLimit::default()
        }
    }

    /// Returns the same, without a limit yet, for another iterator. That one decides from now on
    /// what both keep to after they were sent to an end.
    pub(super) fn give_ends_away(&mut self) -> PrefixLimit {
        self.ends_given_away = true;
        PrefixLimit {
            extractor: self.extractor.clone(),
            mode: self.mode,
            ..PrefixLimit::default()
        }
    }

    /// Whether there can be a limit at all.
    #[inline]
    pub(super) fn possible(&self) -> bool {
        self.mode != PrefixMode::Never
    }

    /// Removes the limit.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.set = false;
    }

    /// The iterator is sent to `target`, and looks from `from` on, which is a bound if the target
    /// is outside the bounds. Returns whether the iterator now keeps to a prefix: in
    /// [`PrefixMode::AfterSeek`] that of `from`, otherwise that of `target`.
    pub(crate) fn sent_to(&mut self, target: &[u8], from: &[u8]) -> bool {
        self.set = false;
        let key = match self.mode {
            PrefixMode::AfterSeek => from,
            _ => target,
        };
        if self.possible()
            && let Some(prefix) = self.extractor.as_ref().and_then(|e| e.prefix(key))
        {
            self.prefix.clear();
            self.prefix.extend_from_slice(prefix);
            self.set = true;
        }
        self.set
    }

    /// Continues as `before` did, from a key that it did not exclude. Returns whether sources may
    /// be asked to keep to the prefix: they use the present extractor, which may be another one.
    pub(super) fn go_on_as(&mut self, before: PrefixLimit) -> bool {
        let present = std::mem::replace(self, before).extractor;
        self.set
            && match (&self.extractor, &present) {
                (Some(before), Some(present)) => before.is_like(present),
                _ => false,
            }
    }

    /// Called when the iterator was sent to an end and found `key` there.
    pub(crate) fn found_at_end(&mut self, key: &[u8]) {
        if self.mode == PrefixMode::Always && !self.ends_given_away {
            self.sent_to(key, key);
        }
    }

    /// Whether `user_key` is outside the prefix.
    #[inline]
    pub(crate) fn excludes(&self, user_key: &[u8]) -> bool {
        self.set && self.differs(user_key)
    }

    /// Whether sources that keep to the prefix may fail to find `user_key`, because it has no
    /// prefix.
    pub(super) fn hides(&self, user_key: &[u8]) -> bool {
        let prefix = |e: &PrefixExtractor| e.prefix(user_key).is_some();
        self.set && !self.extractor.as_ref().is_some_and(prefix)
    }

    fn differs(&self, user_key: &[u8]) -> bool {
        let prefix = self.extractor.as_ref().and_then(|e| e.prefix(user_key));
        prefix != Some(&self.prefix[..])
    }
}
