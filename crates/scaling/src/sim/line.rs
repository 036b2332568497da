//! Cache lines: which cores have them, and what it costs to get one.
//!
//! A line is held by one core that may write it, or by several that may read it. A core
//! that lacks the line, or the right to write it, requests a *transfer*. A line serves
//! transfers to writers one at a time, first come first served, and copies for readers
//! as fast as its home can send them (`port`). The line leaves its holder at a point in
//! the middle half of the next transfer; until then the holder's own accesses are hits.
//! (So a compare-exchange that has failed and is repeated at once often succeeds, as on
//! real machines. When all lines left at the same point, a retry that took a nanosecond
//! longer than that failed every time, which does not happen on real machines.)
//!
//! The time that cores wait for lines, beyond the cost of a hit, is added up by the name
//! of the line: this is the *blame*.

use super::{ThreadId, Time};
use crate::machine::{Distance, Machine, Topology};
use std::collections::{BTreeMap, VecDeque};

/// The number of a line.
pub type LineId = usize;

/// The number of words in a set of cores, which has up to 512.
const WORDS: usize = 8;

/// A set of cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct CpuSet([u64; WORDS]);

impl CpuSet {
    fn of(cpu: usize) -> Self {
        let mut set = CpuSet::default();
        set.add(cpu);
        set
    }

    fn add(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    fn has(&self, cpu: usize) -> bool {
        self.0[cpu / 64] & 1 << (cpu % 64) != 0
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

/// A period in which one core, or several, have the line.
#[derive(Debug, Clone, Copy)]
struct Hold {
    /// The cores that may read the line.
    readers: CpuSet,
    /// The core that may write the line; it is then also the only reader.
    writer: Option<usize>,
    /// The beginning of the period.
    at: Time,
    /// The end of the period: when the next holder has taken the line away.
    until: Time,
}

/// The kind of an access to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store or a read-modify-write.
    Write,
}

/// A line.
#[derive(Debug)]
struct Line {
    name: &'static str,
    /// The present and future holders, in order of time; empty if the line is in memory.
    holds: VecDeque<Hold>,
    /// The time at which its home can serve the next reader.
    port: Time,
    /// The threads that wait until the line is written.
    watchers: Vec<ThreadId>,
    transfers: u64,
    waited: Time,
}

/// The cost of a line, or of all lines of a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blame {
    /// The number of transfers between cores.
    pub transfers: u64,
    /// The time that cores waited for the line, beyond the cost of a hit.
    pub waited: Time,
}

/// All lines.
#[derive(Debug, Default)]
pub struct Lines {
    lines: Vec<Line>,
}

impl Lines {
    /// Adds a line that is in no cache.
    pub fn add(&mut self, name: &'static str) -> LineId {
        self.lines.push(Line {
            name,
            holds: VecDeque::new(),
            port: 0,
            watchers: Vec::new(),
            transfers: 0,
            waited: 0,
        });
        self.lines.len() - 1
    }

    /// Accesses line `id` from core `cpu`; returns when the core has it.
    pub fn access(
        &mut self,
        id: LineId,
        cpu: usize,
        access: Access,
        now: Time,
        machine: &Machine,
    ) -> Time {
        let line = &mut self.lines[id];
        while line.holds.len() > 1 && line.holds[0].until <= now {
            line.holds.pop_front();
        }
        let got = line.get(cpu, access, now, machine);
        if got > now {
            line.transfers += 1;
            line.waited += got - now;
        }
        got
    }

    /// Makes the line stand for another one, which only `cpu` has.
    pub fn forget(&mut self, id: LineId, cpu: usize, now: Time) {
        let line = &mut self.lines[id];
        line.holds.clear();
        line.hold(cpu, Access::Write, now);
    }

    /// Removes and returns the threads that wait until the line is written.
    pub fn take_watchers(&mut self, id: LineId) -> Vec<ThreadId> {
        std::mem::take(&mut self.lines[id].watchers)
    }

    /// Adds `thread` to those that wait until the line is written.
    pub fn watch(&mut self, id: LineId, thread: ThreadId) {
        self.lines[id].watchers.push(thread);
    }

    /// Removes `thread` from those that wait until the line is written.
    pub fn unwatch(&mut self, id: LineId, thread: ThreadId) {
        self.lines[id].watchers.retain(|&other| other != thread);
    }

    /// The cost of all lines, by name.
    #[must_use]
    pub fn blame(&self) -> BTreeMap<&'static str, Blame> {
        let mut by_name = BTreeMap::<_, Blame>::new();
        for line in &self.lines {
            let blame = by_name.entry(line.name).or_default();
            blame.transfers += line.transfers;
            blame.waited += line.waited;
        }
        by_name
    }
}

impl Line {
    fn get(&mut self, cpu: usize, access: Access, now: Time, machine: &Machine) -> Time {
        let topology = &machine.topology;
        let Some(first) = self.holds.front() else {
            let at = now + machine.memory;
            self.hold(cpu, access, at);
            return at;
        };
        let hit = match access {
            Access::Read => first.readers.has(cpu),
            Access::Write => first.writer == Some(cpu) && first.at <= now,
        };
        if hit {
            return now;
        }
        let last = self.holds.back_mut().expect("not empty");
        match (access, last.writer) {
            (Access::Read, None) => {
                let nearest = nearest(&last.readers, cpu, topology);
                let start = now.max(last.at).max(self.port);
                self.port = start + machine.port;
                last.readers.add(cpu);
                start + machine.transfer(nearest)
            }
            (Access::Read, Some(owner)) => {
                let start = now.max(last.at);
                let cost = machine.transfer(topology.distance(owner, cpu));
                last.until = leaves(start, cost, cpu);
                let mut readers = CpuSet::of(owner);
                readers.add(cpu);
                let at = start + cost;
                self.holds.push_back(Hold {
                    readers,
                    writer: None,
                    at,
                    until: Time::MAX,
                });
                at
            }
            (Access::Write, owner) => {
                let start = now.max(last.at);
                let cost = match owner {
                    Some(owner) => machine.transfer(topology.distance(owner, cpu)),
                    // All copies must be invalidated before it may write.
                    None => farthest(&last.readers, cpu, topology)
                        .map_or(0, |far| machine.transfer(far)),
                };
                last.until = leaves(start, cost, cpu);
                self.hold(cpu, access, start + cost);
                start + cost
            }
        }
    }

    fn hold(&mut self, cpu: usize, access: Access, at: Time) {
        self.holds.push_back(Hold {
            readers: CpuSet::of(cpu),
            writer: (access == Access::Write).then_some(cpu),
            at,
            until: Time::MAX,
        });
    }
}

/// When a line leaves its holder for `cpu`, by a transfer that takes `cost` from `start`:
/// after between one and three quarters of it, uniformly distributed. The draw depends
/// only on the transfer, so that the same seed gives the same run.
fn leaves(start: Time, cost: Time, cpu: usize) -> Time {
    const STEPS: u64 = 1 << 10;
    let draw = splitmix(start ^ (cpu as u64) << 40) % STEPS;
    start + cost * (STEPS / 2 + draw) / (2 * STEPS)
}

/// The finalizer of `SplitMix64`.
fn splitmix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

fn nearest(set: &CpuSet, cpu: usize, topology: &Topology) -> Distance {
    let each = set.iter().map(|other| topology.distance(other, cpu));
    each.min().unwrap_or(Distance::Near)
}

/// The distance of the farthest copy; `None` if only `cpu` has one.
fn farthest(set: &CpuSet, cpu: usize, topology: &Topology) -> Option<Distance> {
    let others = set.iter().filter(|&other| other != cpu);
    others.map(|other| topology.distance(other, cpu)).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::plain;
    use crate::sim::NS;

    fn ns(time: Time) -> Time {
        time / NS
    }

    #[test]
    fn an_owned_line_is_free_and_a_foreign_one_costs_a_transfer() {
        let machine = plain(2, 2);
        let mut lines = Lines::default();
        let id = lines.add("line");
        let first = lines.access(id, 0, Access::Write, 0, &machine);
        assert_eq!(first, machine.memory);
        let again = lines.access(id, 0, Access::Write, 1_000 * NS, &machine);
        assert_eq!(ns(again), 1_000);
        let near = lines.access(id, 1, Access::Write, 2_000 * NS, &machine);
        assert_eq!(near - 2_000 * NS, machine.near);
        let far = lines.access(id, 2, Access::Write, 3_000 * NS, &machine);
        assert_eq!(far - 3_000 * NS, machine.far);
        assert_eq!(lines.blame()["line"].transfers, 3);
    }

    #[test]
    fn writers_queue_and_the_holder_keeps_the_line_for_part_of_a_transfer() {
        let machine = plain(1, 4);
        let mut lines = Lines::default();
        let id = lines.add("line");
        let start = lines.access(id, 0, Access::Write, 0, &machine);
        let one = lines.access(id, 1, Access::Write, start, &machine);
        let two = lines.access(id, 2, Access::Write, start, &machine);
        assert_eq!((one, two), (start + machine.near, start + 2 * machine.near));
        // The second writer's line is on its way to the third, but has not left yet.
        let early = one + machine.near / 4 - NS;
        assert_eq!(lines.access(id, 1, Access::Write, early, &machine), early);
        let late = one + machine.near * 3 / 4 + NS;
        let again = lines.access(id, 1, Access::Write, late, &machine);
        assert_eq!(again, two + machine.near);
    }

    /// A retry that takes longer than the line stays fails sometimes, but not every time, so
    /// rates follow the cost of a transfer without a cliff.
    #[test]
    fn lines_leave_their_holders_at_different_points_of_a_transfer() {
        let kept = |at: Time| (0..1_000).filter(move |&i| leaves(i * 977, 1_000, 3) - i * 977 > at);
        assert_eq!(kept(249).count(), 1_000);
        assert!((400..600).contains(&kept(500).count()));
        assert_eq!(kept(750).count(), 0);
    }

    #[test]
    fn readers_share_and_a_writer_takes_their_copies() {
        let machine = plain(1, 8);
        let mut lines = Lines::default();
        let id = lines.add("line");
        let mut now = lines.access(id, 0, Access::Write, 0, &machine);
        for cpu in 1..8 {
            now = lines.access(id, cpu, Access::Read, now, &machine);
        }
        for cpu in 0..8 {
            assert_eq!(lines.access(id, cpu, Access::Read, now, &machine), now);
        }
        let written = lines.access(id, 3, Access::Write, now, &machine);
        assert_eq!(written - now, machine.near);
        let read = lines.access(id, 4, Access::Read, written, &machine);
        assert_eq!(read - written, machine.near);
    }
}
