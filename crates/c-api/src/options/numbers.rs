//! Which tickers and histograms the numbers of a program are. RocksDB inserts new ones between old
//! ones, so that a number is that of the version that the program was built for.
//!
//! The lists in `statistics` are those of the newest version that a library is for, by its soname;
//! with the feature `rocksdb-11-8`, numbers are those of RocksDB 11.8, in whose order the engine
//! has them.

use whitewater::statistics::{Histogram, Ticker};

const LISTS: &str = if cfg!(feature = "abi-7") {
    include_str!("../../statistics/7.txt")
} else if cfg!(feature = "abi-8") {
    include_str!("../../statistics/8.txt")
} else if cfg!(feature = "abi-11") {
    include_str!("../../statistics/11.txt")
} else {
    include_str!("../../statistics/10.txt")
};

/// The names of tickers and of histograms in `lists`, by number.
fn names(lists: &str) -> Option<(impl Iterator<Item = &str>, impl Iterator<Item = &str>)> {
    let (_, lists) = lists.split_once('\n')?;
    let (tickers, histograms) = lists.split_once("\n\n")?;
    Some((tickers.lines(), histograms.lines()))
}

/// The ticker with this number; none if there is none any longer.
pub(super) fn ticker(number: u32) -> Option<Ticker> {
    let number = number as usize;
    if cfg!(feature = "rocksdb-11-8") {
        return Ticker::iter().nth(number).copied();
    }
    names(LISTS)?.0.nth(number)?.parse().ok()
}

/// The same for histograms.
pub(super) fn histogram(number: u32) -> Option<Histogram> {
    let number = number as usize;
    if cfg!(feature = "rocksdb-11-8") {
        return Histogram::iter().nth(number).copied();
    }
    names(LISTS)?.1.nth(number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_that_of_the_version_and_not_of_the_newest() {
        let lists = [
            (include_str!("../../statistics/7.txt"), 43, 193, 58),
            (include_str!("../../statistics/8.txt"), 40, 215, 64),
            (include_str!("../../statistics/10.txt"), 60, 222, 65),
            (include_str!("../../statistics/11.txt"), 61, 235, 68),
        ];
        let mut gone = Vec::new();
        for (list, bytes_written, tickers, histograms) in lists {
            let name = |number| names(list).unwrap().0.nth(number).unwrap().to_owned();
            assert_eq!(name(bytes_written), "rocksdb.bytes.written");
            assert_eq!(name(bytes_written + 1), "rocksdb.bytes.read");
            assert_eq!(names(list).unwrap().0.count(), tickers);
            assert_eq!(names(list).unwrap().1.count(), histograms);
            let unknown = |name: &&str| name.parse::<Ticker>().is_err();
            gone.push(names(list).unwrap().0.filter(unknown).count());
            let unknown = |name: &&str| name.parse::<Histogram>().is_err();
            gone.push(names(list).unwrap().1.filter(unknown).count());
        }
        // Tickers and histograms that RocksDB has no longer, or that the engine has not.
        assert_eq!(gone, [21, 9, 1, 2, 0, 3, 0, 6]);
    }

    #[test]
    fn the_numbers_of_this_build_are_found() {
        let written = (0..100).find(|n| ticker(*n) == Some(Ticker::BytesWritten));
        assert!(written.is_some_and(|n| n > 0));
        assert_eq!(ticker(u32::MAX), None);
        assert_eq!(histogram(0), Some(Histogram::DbGet));
        assert_eq!(histogram(u32::MAX), None);
    }
}
