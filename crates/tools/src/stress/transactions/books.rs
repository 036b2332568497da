//! What the database holds: balances of accounts, and receipts of transactions.
//!
//! Each transaction takes an amount from an account in one column family and adds it to an
//! account in the other. It leaves a receipt in both, which says so. So any state of the
//! database can be judged by itself: the receipts are the same in both, and the balances
//! follow from them.

use std::collections::BTreeMap;
use std::fmt;

use whitewater::{Error, MergeOperands};

/// The number of accounts in each column family.
pub const ACCOUNTS: u32 = 24;
/// Accounts with smaller numbers are read and written, others are merged into.
pub const MERGED_FROM: u32 = 12;

/// What a transaction does: nothing when the amount is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The column family that the amount is taken from; the other one gets it.
    pub source: usize,
    /// The account in each column family.
    pub accounts: [u32; 2],
    /// How much.
    pub amount: i64,
}

impl Transfer {
    /// What is added in the column family `family`.
    pub fn change(&self, family: usize) -> i64 {
        if family == self.source {
            -self.amount
        } else {
            self.amount
        }
    }

    /// The value of its receipt, of at least `size` bytes.
    pub fn receipt(&self, size: usize) -> Vec<u8> {
        let text = format!("{self} ");
        format!("{text:x<size$}").into_bytes()
    }

    fn parse(value: &[u8]) -> Option<Transfer> {
        let text = std::str::from_utf8(value).ok()?;
        let mut words = text.split(' ');
        let mut word = || words.next();
        Some(Transfer {
            source: word()?.parse().ok()?,
            accounts: [word()?.parse().ok()?, word()?.parse().ok()?],
            amount: word()?.parse().ok()?,
        })
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.accounts;
        write!(f, "{} {a} {b} {}", self.source, self.amount)
    }
}

/// The key of an account.
pub fn account(number: u32) -> String {
    format!("a{number:03}")
}

/// The key of a receipt.
pub fn receipt(name: &str) -> String {
    format!("r{name}")
}

/// Reads a balance.
///
/// # Errors
/// It is none.
pub fn balance(value: &[u8]) -> Result<i64, String> {
    let bytes = value.try_into();
    let bytes = bytes.map_err(|_| format!("{value:?} is no balance"))?;
    Ok(i64::from_le_bytes(bytes))
}

/// The merge operator of accounts: a sum.
pub fn add(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut sum = existing.map_or(Ok(0), balance).ok()?;
    for operand in operands {
        sum += balance(operand).ok()?;
    }
    Some(sum.to_le_bytes().to_vec())
}

/// An entry as iterators return it.
pub type Entry = Result<(Box<[u8]>, Box<[u8]>), Error>;

/// Why there are no books.
#[derive(Debug)]
pub enum Unread {
    /// Reading failed.
    Reported(Error),
    /// They are wrong.
    Wrong(String),
}

/// All content of a database at one time.
#[derive(Debug, Default)]
pub struct Books {
    balances: [BTreeMap<u32, i64>; 2],
    receipts: [BTreeMap<String, Transfer>; 2],
}

impl Books {
    /// Reads all entries of both column families and checks that they go together.
    ///
    /// # Errors
    /// They do not, or cannot be read.
    pub fn read<I: Iterator<Item = Entry>>(
        mut entries: impl FnMut(usize) -> I,
    ) -> Result<Books, Unread> {
        let mut books = Books::default();
        for family in 0..2 {
            for entry in entries(family) {
                let (key, value) = entry.map_err(Unread::Reported)?;
                books.add(family, &key, &value).map_err(Unread::Wrong)?;
            }
        }
        books.check().map_err(Unread::Wrong)?;
        Ok(books)
    }

    fn add(&mut self, family: usize, key: &[u8], value: &[u8]) -> Result<(), String> {
        let bad = || format!("family {family} has {key:?}: {value:?}");
        let text = std::str::from_utf8(key).map_err(|_| bad())?;
        if let Some(number) = text.strip_prefix('a') {
            let number = number.parse().map_err(|_| bad())?;
            self.balances[family].insert(number, balance(value)?);
        } else if let Some(name) = text.strip_prefix('r') {
            let transfer = Transfer::parse(value).ok_or_else(bad)?;
            self.receipts[family].insert(name.to_owned(), transfer);
        } else {
            return Err(bad());
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let [first, second] = &self.receipts;
        for (one, other, which) in [(first, second, 1), (second, first, 0)] {
            if let Some((name, transfer)) = one.iter().find(|(n, t)| other.get(*n) != Some(*t)) {
                return Err(format!(
                    "half of {name} ({transfer}): family {which} lacks it"
                ));
            }
        }
        let sums = self.balances.iter().map(|b| b.values().sum::<i64>());
        let sum: i64 = sums.sum();
        if sum != 0 {
            return Err(format!("the sum of all accounts is {sum}"));
        }
        for family in 0..2 {
            let mut due = BTreeMap::new();
            for t in first.values().filter(|t| t.amount != 0) {
                *due.entry(t.accounts[family]).or_insert(0) += t.change(family);
            }
            for number in 0..ACCOUNTS {
                let have = self.balances[family].get(&number).copied();
                let due = due.get(&number).copied();
                if have.unwrap_or(0) != due.unwrap_or(0) {
                    return Err(format!(
                        "account {number} of family {family} has {have:?}, its receipts say {due:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The names of all committed transactions.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.receipts[0].keys()
    }

    /// Whether the transaction with this name is committed.
    pub fn has(&self, name: &str) -> bool {
        self.receipts[0].contains_key(name)
    }
}
