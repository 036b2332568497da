//! What the simulator has to know of a machine.
//!
//! [`parameters`](crate::parameters) reads one from a file, in nanoseconds;
//! here all times are picoseconds.

use crate::sim::Time;

/// How many cores a machine has, and how they hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// Packages.
    pub sockets: usize,
    /// Cores in each.
    pub cores: usize,
    /// Hardware threads of each core: 1 or 2.
    pub threads: usize,
}

/// How far apart two hardware threads are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// They share a core and its caches.
    Same,
    /// They share a socket.
    Near,
    /// They are on two sockets.
    Far,
}

impl Topology {
    /// All hardware threads.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.sockets * self.cores * self.threads
    }

    /// The socket of one. Numbers go round the cores first, so that siblings
    /// are used last, but socket by socket, as with `numactl`.
    #[must_use]
    pub fn socket(&self, cpu: usize) -> usize {
        cpu / (self.cores * self.threads)
    }

    /// The other hardware thread of its core.
    #[must_use]
    pub fn sibling(&self, cpu: usize) -> Option<usize> {
        if self.threads < 2 {
            return None;
        }
        let within = cpu % (self.cores * self.threads);
        let start = cpu - within;
        Some(start + (within + self.cores) % (self.cores * 2))
    }

    /// How far `a` is from `b`.
    #[must_use]
    pub fn distance(&self, a: usize, b: usize) -> Distance {
        if a == b || self.sibling(a) == Some(b) {
            Distance::Same
        } else if self.socket(a) == self.socket(b) {
            Distance::Near
        } else {
            Distance::Far
        }
    }
}

/// What an insert into a memtable costs, for an entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsertCost {
    /// Before its number is known: finding the place, copying the value.
    pub prepare: Time,
    /// Under its number.
    pub link: Time,
    /// Bytes that it moves from or to memory.
    pub bytes: u64,
}

/// A machine. Times are for one of what the field names.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its cores.
    pub topology: Topology,
    /// A load of a line that the core has.
    pub hit: Time,
    /// A read-modify-write of a line that the core has; a full fence.
    pub atomic: Time,
    /// A line from the core's other hardware thread.
    pub same: Time,
    /// A line from another core of the socket.
    pub near: Time,
    /// A line from another socket.
    pub far: Time,
    /// A line from memory.
    pub memory: Time,
    /// Time between two copies of a line for readers.
    pub port: Time,
    /// How much longer work takes beside a busy hardware thread of the core.
    pub smt_slowdown: f64,
    /// From one thread to another.
    pub context_switch: Time,
    /// Of a thread among others.
    pub slice: Time,
    /// The call that sleeps, without the switch.
    pub wait_call: Time,
    /// The call that wakes, without those it wakes.
    pub wake_call: Time,
    /// What each one woken costs the waker.
    pub wake_each: Time,
    /// From the wake-up to running, on a core that was idle.
    pub wake_idle: Time,
    /// The call that yields, if there is nobody to yield to.
    pub yield_call: Time,
    /// Reading the clock.
    pub clock: Time,
    /// Copying a KiB that is in the cache.
    pub copy_kib: Time,
    /// The first touch of a page of 4 KiB.
    pub first_touch: Time,
    /// A write to a file, without its bytes.
    pub write_call: Time,
    /// A sync of the log's file.
    pub sync: Time,
    /// Syncs under way at once.
    pub sync_lanes: usize,
    /// Writing a MiB back.
    pub write_back_mib: Time,
    /// Moving a MiB between memory and a socket.
    pub stream_mib: Time,
    /// A switch of memtables, while writers wait.
    pub switch: Time,
    /// A write's way from the benchmark's loop to the commit and back, without
    /// its entries.
    pub driver: Time,
    /// The same for each entry of its batch: making key and value.
    pub driver_entry: Time,
    /// The steps of a leader that are not a copy or a line, for a group.
    pub leader: Time,
    /// The skip list.
    pub skip_list: InsertCost,
    /// The radix tree.
    pub art: InsertCost,
}

impl Machine {
    /// A line over a distance.
    #[must_use]
    pub fn transfer(&self, distance: Distance) -> Time {
        match distance {
            Distance::Same => self.same,
            Distance::Near => self.near,
            Distance::Far => self.far,
        }
    }

    /// Copying `bytes` that are in the cache.
    #[must_use]
    pub fn copy_time(&self, bytes: u64) -> Time {
        bytes * self.copy_kib / 1024
    }

    /// Moving `bytes` between memory and a socket.
    #[must_use]
    pub fn stream_time(&self, bytes: u64) -> Time {
        bytes * self.stream_mib / (1 << 20)
    }

    /// Writing `bytes` back to the device.
    #[must_use]
    pub fn write_back_time(&self, bytes: u64) -> Time {
        bytes * self.write_back_mib / (1 << 20)
    }

    /// The first touch of `bytes` of fresh memory, a page at a time.
    #[must_use]
    pub fn touch_time(&self, bytes: u64) -> Time {
        bytes * self.first_touch / 4096
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sim::NS;

    /// Round figures, no hyper-threads.
    pub(crate) fn plain(sockets: usize, cores: usize) -> Machine {
        let insert = InsertCost {
            prepare: 0,
            link: 400 * NS,
            bytes: 0,
        };
        Machine {
            name: "plain".into(),
            topology: Topology {
                sockets,
                cores,
                threads: 1,
            },
            hit: NS,
            atomic: 5 * NS,
            same: 10 * NS,
            near: 50 * NS,
            far: 150 * NS,
            memory: 100 * NS,
            port: 5 * NS,
            smt_slowdown: 1.0,
            context_switch: 1_000 * NS,
            slice: 3_000_000 * NS,
            wait_call: 500 * NS,
            wake_call: 300 * NS,
            wake_each: 1_000 * NS,
            wake_idle: 2_000 * NS,
            yield_call: 400 * NS,
            clock: 25 * NS,
            copy_kib: 100 * NS,
            first_touch: 500 * NS,
            write_call: 1_000 * NS,
            sync: 100_000 * NS,
            sync_lanes: 1,
            write_back_mib: 1_000_000 * NS,
            stream_mib: 50_000 * NS,
            switch: 0,
            driver: 200 * NS,
            driver_entry: 50 * NS,
            leader: 100 * NS,
            skip_list: insert,
            art: InsertCost {
                prepare: 150 * NS,
                link: 30 * NS,
                bytes: 0,
            },
        }
    }

    #[test]
    fn siblings_and_sockets() {
        let topology = Topology {
            sockets: 2,
            cores: 4,
            threads: 2,
        };
        assert_eq!(topology.cpus(), 16);
        assert_eq!(
            (topology.sibling(0), topology.sibling(4)),
            (Some(4), Some(0))
        );
        assert_eq!(topology.sibling(15), Some(11));
        assert_eq!(topology.distance(0, 4), Distance::Same);
        assert_eq!(topology.distance(0, 5), Distance::Near);
        assert_eq!(topology.distance(7, 8), Distance::Far);
        let single = Topology {
            threads: 1,
            ..topology
        };
        assert_eq!(
            (single.sibling(3), single.distance(3, 4)),
            (None, Distance::Far)
        );
    }
}
