//! The bytes of a file as memory. This is the only file of the crate with unsafe code.
//!
//! A [`Mapping`] covers a file with windows of [`WINDOW`] bytes, which are mapped on request and
//! kept until the mapping is dropped. A window may reach beyond the end of the file. Touching it
//! there kills the process, so callers store only below a length that the file is known to have.
//! Pages that were stored to count as memory of the process until they are [left](Mapping::leave).
//!
//! The memory is shared with other threads that store to it, with other mappings of the file and
//! with the kernel. So there is never a reference to its bytes, and it is accessed only by relaxed
//! atomic operations on whole aligned words. All accesses must have the same size, because
//! overlapping atomic operations of different sizes are as undefined as plain ones. If a write
//! covers only a part of a word, compare-and-exchange keeps the other bytes, whatever their writer
//! does meanwhile. Relaxed is enough: the mapping is only read to warm and to probe it, and other
//! threads learn from the writer that a write is done.

#![expect(unsafe_code, reason = "stores through a pointer into a mapping")]

use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of a window in bytes: a multiple of every page size.
const WINDOW: u64 = 64 << 20;

/// The number of windows per group.
const GROUP: usize = 64;

/// The number of groups: with [`GROUP`] windows each, they cover 1 TiB.
const GROUPS: usize = 256;

/// The size of a word in bytes.
const WORD: usize = size_of::<usize>();

/// The step in which warming touches pages if the system has no call for it, in bytes.
const PAGE: u64 = 4096;

/// Adjacent windows.
type Group = [OnceLock<MmapRaw>; GROUP];

/// The windows of a file. Each cell is written once, by the thread that extends the file, and read
/// by all threads that write; it publishes the mapping in it.
#[derive(Debug)]
pub(super) struct Mapping {
    groups: Box<[OnceLock<Box<Group>>]>,
}

impl Mapping {
    /// A mapping without windows.
    pub fn new() -> Self {
        Mapping {
            groups: (0..GROUPS).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The window that `offset` is in, if it is mapped.
    #[inline]
    fn window(&self, offset: u64) -> Option<&MmapRaw> {
        let index = (offset / WINDOW) as usize;
        self.groups.get(index / GROUP)?.get()?[index % GROUP].get()
    }

    /// Maps those windows of `file` between `from` and `to` that are not mapped yet. Must always
    /// be called with the same file.
    pub fn cover(&self, file: &File, from: u64, to: u64) -> io::Result<()> {
        for index in from / WINDOW..to.div_ceil(WINDOW) {
            let group = self
                .groups
                .get(index as usize / GROUP)
                .ok_or(io::ErrorKind::FileTooLarge)?
                .get_or_init(|| Box::new([const { OnceLock::new() }; GROUP]));
            let window = &group[index as usize % GROUP];
            if window.get().is_none() {
                let map = MmapOptions::new()
                    .offset(index * WINDOW)
                    .len(WINDOW as usize)
                    .map_raw(file)?;
                // A window that another thread has set meanwhile is as good.
                let _ = window.set(map);
            }
        }
        Ok(())
    }

    /// Faults in the pages between `from` and `to`, so that stores to them cause no page faults.
    /// They are mapped and below the end of the file.
    pub fn warm(&self, from: u64, to: u64) -> io::Result<()> {
        let mut at = from - from % PAGE;
        while at < to {
            let Some(window) = self.window(at) else {
                return Ok(());
            };
            let in_window = at % WINDOW;
            let len = (WINDOW - in_window).min(to - at);
            loop {
                let asked =
                    window.advise_range(Advice::PopulateWrite, in_window as usize, len as usize);
                match asked.map_err(|e| (e.kind(), e)) {
                    Ok(()) => break,
                    Err((io::ErrorKind::Interrupted, _)) => {}
                    // Unknown before Linux 5.14.
                    Err((io::ErrorKind::InvalidInput, _)) => {
                        touch(window, in_window, len);
                        break;
                    }
                    Err((_, e)) => return Err(e),
                }
            }
            at += len;
        }
        Ok(())
    }

    /// Takes the pages that lie between `from` and `to` out of the process' memory. The file keeps
    /// what was stored, and a later store takes a page fault. A hint.
    pub fn leave(&self, from: u64, to: u64) {
        let mut at = from.next_multiple_of(PAGE);
        while at < to {
            let in_window = at % WINDOW;
            let len = (WINDOW - in_window).min(to - at);
            if let Some(window) = self.window(at) {
                // SAFETY: the range is within the window, and begins at a page. The mapping is
                // shared: its pages are those of the page cache, which this does not change. So
                // it loses nothing that any thread has stored or is storing.
                let _ = unsafe {
                    window.unchecked_advise_range(
                        UncheckedAdvice::DontNeed,
                        in_window as usize,
                        len as usize,
                    )
                };
            }
            at += len;
        }
    }

    /// Stores `data` at `offset`, all of it below the end of the file. If some of the range is not
    /// mapped, returns false and may have stored a first part.
    #[inline]
    pub fn store(&self, mut offset: u64, mut data: &[u8]) -> bool {
        loop {
            let Some(window) = self.window(offset) else {
                return data.is_empty();
            };
            let at = (offset % WINDOW) as usize;
            let now = data.len().min(WINDOW as usize - at);
            let (head, rest) = data.split_at(now);
            store_in(window, at, head);
            if rest.is_empty() {
                return true;
            }
            data = rest;
            offset += now as u64;
        }
    }

    /// The word at `offset` in the mapping, which is stored back unchanged. `offset` is a multiple
    /// of the word's size and below the end of the file.
    pub fn rewrite_word(&self, offset: u64) -> Option<[u8; WORD]> {
        let word = word(self.window(offset)?, (offset % WINDOW) as usize);
        Some(rewrite(word).to_ne_bytes())
    }
}

/// Rewrites a word in each page of the `len` bytes at `at`, the start of a page.
fn touch(window: &MmapRaw, at: u64, len: u64) {
    for page in (0..len).step_by(PAGE as usize) {
        rewrite(word(window, (at + page) as usize));
    }
}

/// Stores the value of `word` back into it, and returns the value. Afterwards the page is known to
/// be writable, and has taken its write fault.
///
/// The compiler must not know that nothing changes. It turns `fetch_or(0)` into a fence and a load,
/// or into nothing if the result is unused. A load takes only a read fault, and works in pages that
/// cannot be written.
fn rewrite(word: &AtomicUsize) -> usize {
    word.fetch_or(black_box(0), Ordering::Relaxed)
}

/// The word at `at`, a multiple of its size below the window's length.
#[inline]
fn word(window: &MmapRaw, at: usize) -> &AtomicUsize {
    assert!(at.is_multiple_of(WORD) && at < window.len());
    // SAFETY: `at` is within the mapping, by the assertion.
    let ptr = unsafe { window.as_mut_ptr().add(at) };
    // SAFETY: the pointer is aligned (the mapping starts at a page) and has a
    // whole word of the mapping behind it (whose length is a multiple of the
    // word's size), which lives as long as `window`; all accesses to it from
    // Rust are atomic ones of this size.
    unsafe { AtomicUsize::from_ptr(ptr.cast()) }
}

/// Stores `data` at `at`; it ends within the window.
#[inline]
fn store_in(window: &MmapRaw, at: usize, data: &[u8]) {
    assert!(at <= window.len() && data.len() <= window.len() - at);
    let mut aligned = at - at % WORD;
    let mut rest = data;
    if at != aligned && !data.is_empty() {
        let skip = at - aligned;
        let len = data.len().min(WORD - skip);
        let bytes = match data.first_chunk() {
            Some(first) => usize::from_le_bytes(*first),
            None => few_bytes(data),
        };
        store_part(word(window, aligned), skip, len, bytes);
        aligned += WORD;
        rest = &data[len..];
    }
    let (words, tail) = rest.as_chunks::<WORD>();
    if !words.is_empty() {
        // SAFETY: `aligned` and the words behind it are within the mapping, by
        // the assertion.
        let first = unsafe { window.as_mut_ptr().add(aligned) }.cast::<AtomicUsize>();
        // SAFETY: aligned as in `word`; there are that many words behind it in
        // the mapping; accesses from Rust are atomic ones of this size.
        let cells = unsafe { std::slice::from_raw_parts(first, words.len()) };
        for (cell, bytes) in cells.iter().zip(words) {
            cell.store(usize::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        aligned += size_of_val(words);
    }
    if !tail.is_empty() {
        let bytes = match data.last_chunk() {
            Some(last) => usize::from_le_bytes(*last) >> (8 * (WORD - tail.len())),
            None => few_bytes(tail),
        };
        store_part(word(window, aligned), 0, tail.len(), bytes);
    }
}

/// Fewer bytes than a word has, as a number; the first byte is the lowest.
#[inline]
fn few_bytes(bytes: &[u8]) -> usize {
    let next = |word, byte: &u8| word << 8 | usize::from(*byte);
    bytes.iter().rev().fold(0, next)
}

/// Stores the `len` lowest bytes of `bytes`, the lowest one first, at byte `skip` of a word, and
/// keeps its other bytes. `len` is at least 1 and less than the size of a word.
#[inline]
fn store_part(word: &AtomicUsize, skip: usize, len: usize, bytes: usize) {
    let mask = (usize::MAX >> (8 * (WORD - len))) << (8 * skip);
    let new = usize::from_le((bytes << (8 * skip)) & mask);
    let keep = usize::from_le(!mask);
    let mut old = word.load(Ordering::Relaxed);
    while let Err(now) =
        word.compare_exchange_weak(old, old & keep | new, Ordering::Relaxed, Ordering::Relaxed)
    {
        old = now;
    }
}

#[cfg(test)]
mod tests;
