//! A number that moves over a finished prefix. Models `concurrent::publish`.

use super::group_commit_delay::GroupCommitDelay;
use super::waiter::{EventCount, Site, spin_and_yield};
use crate::sim::{Sim, Thread, Word};

/// The number of slots of the ring: fewer than in the code, but more than can be in
/// flight here.
const SLOTS: u64 = 1 << 12;
const BUCKETS: u64 = 64;
const BUCKET_WIDTH: u64 = 8;
const HELD: u64 = 1 << 63;

/// The model of `concurrent::publish::Publication`.
#[derive(Debug)]
pub struct Publication {
    visible: Word,
    slots: Vec<Word>,
    occupied: Word,
    buckets: Vec<Bucket>,
    site: Site,
    choices: Choices,
    /// Buckets that were passed, and that woken threads have yet to wake.
    pending_wakes: Word,
    commit_delay: GroupCommitDelay,
}

/// Choices of layout and algorithm.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// The number of neighbouring marks on a line (8 in the code).
    pub marks_on_line: usize,
    /// Whether writers mark before they look (in the code they look first).
    pub mark_first: bool,
    /// Whether woken threads wake others.
    pub relayed_wakes: bool,
    /// Whether the bucket of the thread that may move next is woken before the others (in
    /// the code, buckets are woken in the order of their positions).
    pub successor_first: bool,
    /// Whether the thread that syncs waits for the threads that the last sync released.
    pub gather: bool,
}

/// The number of buckets that one thread wakes if others wake the rest.
const WAKE_FAN_OUT: u32 = 2;

#[derive(Debug)]
struct Bucket {
    event: EventCount,
    sleepers: Word,
}

impl Bucket {
    fn new(sim: &Sim) -> Self {
        let event = EventCount::new(sim, "beds");
        let sleepers = event.0.beside(0).counted();
        Bucket { event, sleepers }
    }
}

impl Publication {
    /// A publication with no range in flight.
    #[must_use]
    pub fn new(sim: &Sim, choices: Choices) -> Self {
        let mut slots = Vec::with_capacity(SLOTS as usize);
        for at in 0..SLOTS as usize {
            let slot = match slots.last() {
                Some(last) if at % choices.marks_on_line != 0 => Word::beside(last, 0),
                _ => Word::new(sim, "marks", 0),
            };
            slots.push(slot);
        }
        Publication {
            visible: Word::new(sim, "visible", 0).counted(),
            slots,
            occupied: Word::new(sim, "occupied", 0).counted(),
            buckets: (0..BUCKETS).map(|_| Bucket::new(sim)).collect(),
            site: Site::default(),
            choices,
            pending_wakes: Word::new(sim, "owed beds", 0).counted(),
            commit_delay: GroupCommitDelay::new(),
        }
    }

    /// The visible number, at no cost, for assertions.
    #[must_use]
    pub fn peek(&self) -> u64 {
        self.visible.peek()
    }

    /// The visible number.
    pub async fn visible(&self, thread: &Thread) -> u64 {
        thread.load(&self.visible).await
    }

    fn slot(&self, first: u64) -> &Word {
        &self.slots[(first % SLOTS) as usize]
    }

    /// Reports that the range from `first` to `last` is finished.
    pub async fn finish(&self, thread: &Thread, first: u64, last: u64) {
        let before = first - 1;
        if !self.choices.mark_first && self.visible(thread).await == before {
            self.raise(thread, before, last).await;
            return;
        }
        thread.store(self.slot(first), last + 1).await;
        thread.fence().await;
        if self.visible(thread).await == before {
            self.claim(thread, before).await;
        }
    }

    /// Reports the same of a range that `sync_prefix` must make durable before it becomes
    /// visible.
    pub async fn finish_awaiting_sync<S: AsyncFnOnce(u64)>(
        &self,
        thread: &Thread,
        first: u64,
        last: u64,
        sync_prefix: S,
    ) {
        let before = first - 1;
        if self.visible(thread).await != before {
            thread.store(self.slot(first), (last + 1) | HELD).await;
            if self.visible(thread).await < before {
                self.sleep(thread, before).await;
            }
            if self.visible(thread).await >= last {
                return;
            }
        }
        let mut to = last;
        let mut count = 1 + self.pass_marked(thread, &mut to).await;
        if self.choices.gather
            && let Some(expected) = self.commit_delay.waits_for(count)
        {
            count = self.gather(thread, &mut to, count, expected).await;
        }
        let start = thread.now();
        sync_prefix(to).await;
        let took = thread.now() - start;
        let behind = self.pass_marked(thread, &mut to.clone()).await;
        self.commit_delay.record_sync(took, count + behind);
        self.raise(thread, before, to).await;
    }

    /// Yields until `expected` ranges are finished or the delay is over. Returns how many
    /// are finished then.
    async fn gather(&self, thread: &Thread, to: &mut u64, present: u64, expected: u64) -> u64 {
        let (start, mut count) = (thread.now(), present);
        let mut joined = start;
        while count < expected {
            thread.yield_now().await;
            thread.compute(thread.sim().machine().clock).await;
            let more = self.pass_marked(thread, to).await;
            let now = thread.now();
            if more > 0 {
                (count, joined) = (count + more, now);
            }
            if self.commit_delay.is_over(now - start, now - joined) {
                break;
            }
        }
        self.commit_delay.waited(count > present);
        count
    }

    async fn raise(&self, thread: &Thread, from: u64, mut to: u64) {
        while let Some(end) = self.marked_after(thread, to).await {
            to = end;
        }
        thread.store(&self.visible, to).await;
        thread.fence().await;
        self.wake(thread, from, to).await;
        if self.marked_after(thread, to).await.is_some() {
            self.claim(thread, to).await;
        }
    }

    async fn claim(&self, thread: &Thread, mut from: u64) {
        while let Some(mut to) = self.marked_after(thread, from).await {
            while let Some(end) = self.marked_after(thread, to).await {
                to = end;
            }
            if thread.exchange(&self.visible, from, to).await.is_err() {
                return;
            }
            thread.fence().await;
            self.wake(thread, from, to).await;
            from = to;
        }
    }

    async fn mark_after(&self, thread: &Thread, last: u64) -> Option<(u64, bool)> {
        let mark = thread.load(self.slot(last + 1)).await;
        let end = mark & !HELD;
        (end > last + 1).then(|| (end - 1, mark != end))
    }

    /// Moves `to` over the finished ranges behind it; returns how many there are.
    async fn pass_marked(&self, thread: &Thread, to: &mut u64) -> u64 {
        let mut count = 0;
        while let Some((end, _)) = self.mark_after(thread, *to).await {
            *to = end;
            count += 1;
        }
        count
    }

    async fn marked_after(&self, thread: &Thread, last: u64) -> Option<u64> {
        let mark = self.mark_after(thread, last).await;
        mark.and_then(|(end, awaits_sync)| (!awaits_sync).then_some(end))
    }

    /// Waits until `last` is visible.
    pub async fn wait(&self, thread: &Thread, last: u64) {
        let reached = |visible: u64| (visible >= last).then_some(());
        if self.visible(thread).await >= last {
            return;
        }
        let found = spin_and_yield(thread, &self.visible, &self.site, reached).await;
        if found.is_none() {
            self.sleep(thread, last).await;
        }
    }

    async fn sleep(&self, thread: &Thread, last: u64) {
        let at = last / BUCKET_WIDTH % BUCKETS;
        let bucket = &self.buckets[at as usize];
        thread.rmw(&bucket.sleepers, |n| n + 1).await;
        loop {
            let turn = thread.load(&bucket.event.0).await;
            thread
                .rmw(&self.occupied, |buckets| buckets | 1 << at)
                .await;
            thread.fence().await;
            if self.visible(thread).await >= last {
                break;
            }
            self.wake_pending(thread).await;
            thread.futex_wait(&bucket.event.0, turn).await;
        }
        thread.rmw(&bucket.sleepers, |n| n - 1).await;
        thread.fence().await;
        self.wake_pending(thread).await;
    }

    async fn wake(&self, thread: &Thread, from: u64, to: u64) {
        let wanted = thread.load(&self.occupied).await & buckets_of(from, to);
        if wanted == 0 {
            return;
        }
        let before = thread
            .rmw(&self.occupied, |buckets| buckets & !wanted)
            .await;
        let mut taken = wanted & before;
        let last = to / BUCKET_WIDTH % BUCKETS;
        if self.choices.successor_first && taken >> last & 1 != 0 {
            self.bucket_of(1 << last).event.notify_all(thread).await;
            taken &= !(1 << last);
        }
        if self.choices.relayed_wakes && taken.count_ones() > WAKE_FAN_OUT {
            thread
                .rmw(&self.pending_wakes, |pending_wakes| pending_wakes | taken)
                .await;
            self.wake_pending(thread).await;
            return;
        }
        while taken != 0 {
            self.bucket_of(taken).event.notify_all(thread).await;
            taken &= taken - 1;
        }
    }

    /// Wakes pending buckets until there are none, or until enough sleepers are awake to
    /// wake the others.
    async fn wake_pending(&self, thread: &Thread) {
        let mut helpers = 0;
        let mut pending_wakes = thread.load(&self.pending_wakes).await;
        while pending_wakes != 0 && helpers < WAKE_FAN_OUT {
            let lowest = pending_wakes & pending_wakes.wrapping_neg();
            if thread
                .rmw(&self.pending_wakes, |pending_wakes| pending_wakes & !lowest)
                .await
                & lowest
                != 0
            {
                let bucket = self.bucket_of(lowest);
                bucket.event.notify_all(thread).await;
                thread.fence().await;
                if thread.load(&bucket.sleepers).await > 0 {
                    helpers += 1;
                }
            }
            pending_wakes = thread.load(&self.pending_wakes).await;
        }
    }

    /// The bucket of the lowest bit.
    fn bucket_of(&self, bits: u64) -> &Bucket {
        &self.buckets[bits.trailing_zeros() as usize]
    }
}

fn buckets_of(from: u64, to: u64) -> u64 {
    let first = (from + 1) / BUCKET_WIDTH;
    let count = to / BUCKET_WIDTH + 1 - first;
    if count >= BUCKETS {
        return u64::MAX;
    }
    ((1 << count) - 1u64).rotate_left((first % BUCKETS) as u32)
}
