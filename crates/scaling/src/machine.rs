//! What the simulator needs to know about a machine.
//!
//! [`parameters`](crate::parameters) reads a machine from a file, in nanoseconds; here
//! all times are in picoseconds.

use crate::sim::Time;

/// The number of cores of a machine, and how they are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// The number of sockets.
    pub sockets: usize,
    /// The number of cores in each socket.
    pub cores: usize,
    /// The number of hardware threads of each core: 1 or 2.
    pub threads: usize,
}

/// The distance between two hardware threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// They share a core and its caches.
    Same,
    /// They share a socket, but not a core.
    Near,
    /// They are on different sockets.
    Far,
}

impl Topology {
    /// The number of all hardware threads.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.sockets * self.cores * self.threads
    }

    /// The socket of a hardware thread. Numbers cover all cores before any sibling, so that
    /// siblings are used last; within that they go socket by socket, as with `numactl`.
    #[must_use]
    pub fn socket(&self, cpu: usize) -> usize {
        cpu / (self.cores * self.threads)
    }

    /// The other hardware thread of the same core.
    #[must_use]
    pub fn sibling(&self, cpu: usize) -> Option<usize> {
        if self.threads < 2 {
            return None;
        }
        let within = cpu % (self.cores * self.threads);
        let start = cpu - within;
        Some(start + (within + self.cores) % (self.cores * 2))
    }

    /// The distance between `a` and `b`.
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

/// The cost of inserting one entry into a memtable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsertCost {
    /// The time before the entry's number is known: to find the position and copy the
    /// value.
    pub prepare: Time,
    /// The time after the entry's number is known.
    pub link: Time,
    /// The number of bytes moved from or to memory.
    pub bytes: u64,
}

/// A machine. Each time is that of a single instance of what the field names.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The name of the machine.
    pub name: String,
    /// The cores of the machine.
    pub topology: Topology,
    /// A load from a line that the core has.
    pub hit: Time,
    /// A read-modify-write of a line that the core has, and a full fence.
    pub atomic: Time,
    /// The transfer of a line from the core's other hardware thread.
    pub same: Time,
    /// The transfer of a line from another core of the socket.
    pub near: Time,
    /// The transfer of a line from another socket.
    pub far: Time,
    /// The transfer of a line from memory.
    pub memory: Time,
    /// The time between two copies of a line for readers.
    pub port: Time,
    /// The factor by which work slows down while the core's other hardware thread is busy.
    pub smt_slowdown: f64,
    /// A context switch from one thread to another.
    pub context_switch: Time,
    /// The time slice of a thread when others wait for its core.
    pub slice: Time,
    /// The system call that sleeps, without the context switch.
    pub wait_call: Time,
    /// The system call that wakes, without the cost for each woken thread.
    pub wake_call: Time,
    /// The waker's cost for each woken thread.
    pub wake_each: Time,
    /// The time from a wake-up until the thread runs, on a core that was idle.
    pub wake_idle: Time,
    /// The system call that yields when no other thread wants the core.
    pub yield_call: Time,
    /// A reading of the clock.
    pub clock: Time,
    /// The copy of a KiB that is in the cache.
    pub copy_kib: Time,
    /// The first touch of a page of 4 KiB.
    pub first_touch: Time,
    /// A write to a file, without the cost of its bytes.
    pub write_call: Time,
    /// A sync of the log file.
    pub sync: Time,
    /// The number of syncs that can be in progress at the same time.
    pub sync_lanes: usize,
    /// The write-back of a MiB to the device.
    pub write_back_mib: Time,
    /// The movement of a MiB between memory and a socket.
    pub stream_mib: Time,
    /// A switch of memtables, during which writers wait.
    pub switch: Time,
    /// The path of a write from the benchmark's loop to the commit and back, without its
    /// entries.
    pub driver: Time,
    /// The part of that path for each entry of the batch, which makes its key and value.
    pub driver_entry: Time,
    /// The steps of a group's leader that are neither copies nor transfers of lines.
    pub leader: Time,
    /// The cost of an insert into the skip list.
    pub skip_list: InsertCost,
    /// The cost of an insert into the radix tree.
    pub art: InsertCost,
}

impl Machine {
    /// The time of a line transfer over a distance.
    #[must_use]
    pub fn transfer(&self, distance: Distance) -> Time {
        match distance {
            Distance::Same => self.same,
            Distance::Near => self.near,
            Distance::Far => self.far,
        }
    }

    /// The time to copy `bytes` that are in the cache.
    #[must_use]
    pub fn copy_time(&self, bytes: u64) -> Time {
        bytes * self.copy_kib / 1024
    }

    /// The time to move `bytes` between memory and a socket.
    #[must_use]
    pub fn stream_time(&self, bytes: u64) -> Time {
        bytes * self.stream_mib / (1 << 20)
    }

    /// The time to write `bytes` back to the device.
    #[must_use]
    pub fn write_back_time(&self, bytes: u64) -> Time {
        bytes * self.write_back_mib / (1 << 20)
    }

    /// The time of the first touch of `bytes` of fresh memory, page by page.
    #[must_use]
    pub fn touch_time(&self, bytes: u64) -> Time {
        bytes * self.first_touch / 4096
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sim::NS;

    /// A machine with round figures and no hyper-threads.
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
