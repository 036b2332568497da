use super::*;
use crate::options::compaction::FifoOptions;
use crate::version::testing::{parse_version, parse_version_with};

fn state_at(version: &Version, options: &CfOptions, now: u64, oldest_snapshot: u64) -> LevelState {
    let moment = Moment {
        now,
        oldest_snapshot,
        files_below: 9,
    };
    level_state(version, options, &UserComparator::Bytewise, &moment)
}

fn styled(compaction_style: CompactionStyle) -> CfOptions {
    CfOptions {
        compaction_style,
        level_compaction_dynamic_level_bytes: false,
        max_bytes_for_level_base: 1000,
        ttl: 0,
        periodic_compaction_seconds: 0,
        ..CfOptions::default()
    }
}

#[test]
fn sorted_runs_score_universal_compaction() {
    let universal = styled(CompactionStyle::Universal);
    for (text, score, runs) in [
        ("", 0.0, 0),
        ("L0: 3:a-b 2:a-b", 0.5, 2),
        ("L0: 3:a-b 2:a-b\nL2: 4:a-b 5:c-d\nL6: 6:a-z", 1.0, 4),
        // Files that are being compacted slow writes down, but are not due.
        ("L0: 3:a-b! 2:a-b\nL2: 4:a-b! 5:c-d!\nL6: 6:a-z", 0.5, 4),
    ] {
        let state = state_at(&parse_version(text), &universal, 0, 0);
        assert_eq!((state.score(), state.runs), (score, runs), "{text}");
        assert_eq!((state.is_due(), state.pending_bytes), (score >= 1.0, 0));
    }
    let one_level = parse_version_with("L0: 4:a-b 3:a-b 2:a-b 1:a-b", 1);
    assert!(state_at(&one_level, &universal, 0, 0).is_due());
}

#[test]
fn bytes_and_age_score_fifo_compaction() {
    let mut fifo = CfOptions {
        compaction_options_fifo: FifoOptions {
            max_table_files_size: 30,
            allow_compaction: false,
        },
        ..styled(CompactionStyle::Fifo)
    };
    let due = |text: &str, options: &CfOptions, now| {
        let state = state_at(&parse_version(text), options, now, 0);
        (state.is_due(), state.marks.next_due)
    };
    assert_eq!(due("L0: 3:a-b 2:a-b 1:a-b", &fifo, 0), (false, None));
    assert_eq!(due("L0: 3:a-b 2:a-b 1:a-b@11", &fifo, 0), (true, None));
    assert_eq!(due("L0: 3:a-b 2:a-b! 1:a-b@11", &fifo, 0), (false, None));
    assert_eq!(due("L0: 3:a-b\nL6: 1:a-b@21", &fifo, 0), (true, None));
    fifo.ttl = 60;
    // Only an unbroken sequence of oldest files counts.
    let text = "L0: 3:a-b#200 2:a-b#300 1:a-b#100";
    assert_eq!(due(text, &fifo, 160), (false, Some(161)));
    assert_eq!(due(text, &fifo, 161), (true, Some(361)));
    assert_eq!(due(text, &fifo, 361), (true, None));
    assert_eq!(due("L0: 1:a-b", &fifo, 1000), (false, None));
}

#[test]
fn files_are_due_by_age() {
    let mut options = styled(CompactionStyle::Level);
    options.ttl = 50;
    options.periodic_compaction_seconds = 90;
    let v = parse_version("L0: 3:a-b#100\nL1: 2:a-b#40 1:c-d#90!\nL3: 9:a-z#10");
    let at = |now| state_at(&v, &options, now, 0).marks;
    let marks = at(90);
    assert!(marks.is_empty());
    assert_eq!(marks.next_due, Some(91));
    // `ttl` skips the last level with data ...
    let marks = at(91);
    assert_eq!(marks.expired, [(1, 0)]);
    assert!(marks.periodic.is_empty());
    // ... but periodic compaction does not.
    let marks = at(151);
    assert_eq!(marks.expired, [(0, 0), (1, 0)]);
    assert_eq!(marks.periodic, [(1, 0), (3, 0)]);
    assert_eq!(marks.next_due, Some(191));
    assert_eq!(at(191).next_due, None);
    options.compaction_style = CompactionStyle::Universal;
    let marks = state_at(&v, &options, 151, 0).marks;
    assert!(marks.expired.is_empty());
    assert_eq!(marks.periodic, [(1, 0), (3, 0)]);
}

#[test]
fn requests_count_above_the_last_level_with_data() {
    let options = styled(CompactionStyle::Level);
    let requested = |text: &str| {
        state_at(&parse_version(text), &options, 0, 0)
            .marks
            .requested
    };
    assert_eq!(requested("L0: 2:a-b 1:a-b?"), [(0, 1)]);
    assert_eq!(requested("L0: 2:a-b? 1:a-b?!"), [(0, 0)]);
    assert_eq!(
        requested("L0: 4:a-b?\nL1: 2:a-b? 1:c-d\nL2: 3:a-b?"),
        [(0, 0), (1, 0)]
    );
}

#[test]
fn what_snapshots_kept_is_due_in_the_last_place() {
    // Sequence numbers: 1000 and 999 in level 0, 10 elsewhere.
    let options = styled(CompactionStyle::Level);
    let at = |text: &str, oldest| state_at(&parse_version(text), &options, 0, oldest).marks;
    let text = "L1: 1:a-c 2:e-f 3:h-i!\nL2: 4:b-d";
    let marks = at(text, 9);
    assert!(marks.is_empty());
    assert_eq!(marks.kept_by_snapshots, 10);
    let marks = at(text, 10);
    assert_eq!(marks.bottommost, [(1, 1), (2, 0)]);
    assert_eq!(marks.kept_by_snapshots, 0);
    assert!(at("L2: 9:b-d", 11).is_empty(), "written after the release");
    let marks = at("L0: 2:a-b 1:a-b", 1000);
    assert_eq!(marks.bottommost, [(0, 1)]);
    assert!(at("L0: 2:a-b 1:c-d\nL1: 3:d-e", 999).bottommost == [(1, 0)]);
}

#[test]
fn what_snapshots_kept_waits_for_its_delay() {
    let mut options = styled(CompactionStyle::Level);
    let version = parse_version("L2: 4:b-d#100");
    options.bottommost_file_compaction_delay = 50;
    let at = |now| state_at(&version, &options, now, 10).marks;
    assert!(at(150).is_empty());
    assert_eq!(at(150).next_due, Some(151));
    assert_eq!(at(151).bottommost, [(2, 0)]);
}

/// The reads that pay for a table of [`SIZE`], in the tests of flushes for reads.
const READS: u64 = 32 << 10;
const SIZE: u64 = 10 << 20;

fn paid_by_reads() -> CfOptions {
    CfOptions {
        read_triggered_compaction_threshold: READS as f64 / SIZE as f64,
        ..styled(CompactionStyle::Level)
    }
}

/// A memtable above `text`, whose tables have [`SIZE`] if it does not say otherwise.
struct Above<'a> {
    text: &'a str,
    /// Bytes of the memtable.
    bytes: u64,
    /// From a to b, or unknown.
    knows_span: bool,
    options: CfOptions,
}

impl<'a> Above<'a> {
    fn new(text: &'a str, bytes: u64) -> Self {
        Above {
            text,
            bytes,
            knows_span: true,
            options: paid_by_reads(),
        }
    }

    /// Whether it is to be flushed after `own` reads in vain, and `of_level0` of level 0.
    fn is_due(&self, own: u64, of_level0: u64) -> bool {
        let sized = |word: &str| match word.strip_suffix('!') {
            Some(word) => format!("{word}@{SIZE}!"),
            None if word.contains('-') && !word.contains('@') => format!("{word}@{SIZE}"),
            None => word.to_owned(),
        };
        let line = |line: &str| line.split(' ').map(sized).collect::<Vec<_>>().join(" ");
        let text: Vec<String> = self.text.lines().map(line).collect();
        let version = parse_version(&text.join("\n"));
        if let Some(file) = version.levels[0].first() {
            file.note_wasted_reads(of_level0);
        }
        let span = self.knows_span.then(|| (b"a".to_vec(), b"b".to_vec()));
        let memtable = ReadMemtable {
            wasted_reads: own,
            bytes: self.bytes,
            key_span: &|| span.clone(),
        };
        let user = &UserComparator::Bytewise;
        flush_is_due(&version, &self.options, user, &memtable)
    }
}

/// The least reads that count.
const LEAST: u64 = 16 << 10;

#[test]
fn reads_in_vain_pay_for_the_flush_of_a_memtable_and_the_compaction_of_its_table() {
    // Nothing is below: no read is in vain.
    assert!(!Above::new("", SIZE).is_due(9 * READS, 0));
    // What is below is rewritten, if it is in the memtable's range.
    let mut over = Above::new("L2: 1:a-b 3:c-d", SIZE);
    assert!(!over.is_due(2 * READS, 0));
    assert!(over.is_due(2 * READS + 1, 0));
    over.knows_span = false;
    assert!(!over.is_due(3 * READS, 0));
    assert!(over.is_due(3 * READS + 1, 0));
    // So is level 0, whose reads pay, too, but not for the memtable; and what it overlaps.
    let above = Above::new("L0: 5:a-b\nL2: 1:a-b 3:c-d", SIZE);
    assert!(!above.is_due(2 * READS, READS));
    assert!(above.is_due(2 * READS + 1, READS));
    let wide = Above::new("L0: 5:a-d\nL2: 1:a-b 3:c-d", SIZE);
    assert!(!wide.is_due(4 * READS, 0));
    assert!(wide.is_due(4 * READS + 1, 0));
    // What is compacted there comes first.
    assert!(!Above::new("L0: 5:a-b!\nL2: 1:a-b", SIZE).is_due(9 * READS, 0));
}

#[test]
fn a_memtable_joins_a_level_0_that_is_due_if_it_makes_the_compaction_little_larger() {
    let text = "L0: 5:a-b\nL2: 1:a-b 3:c-d";
    let half = Above::new(text, SIZE);
    assert!(!half.is_due(LEAST - 1, 2 * READS + 1), "few read it");
    assert!(half.is_due(LEAST, 2 * READS + 1));
    assert!(!half.is_due(LEAST, 2 * READS), "level 0 is not due");
    let larger = Above::new("L0: 5:a-b\nL2: 1:a-b 2:a-b 3:a-b 4:a-b", 2 * SIZE);
    assert!(!larger.is_due(READS / 2, 5 * READS + 1), "hardly read");
    assert!(larger.is_due(READS / 2 + 1, 5 * READS + 1));
    let more = Above::new(text, SIZE + 1);
    assert!(!more.is_due(LEAST, 2 * READS + 1));
    assert!(more.is_due(2 * READS + 1, 2 * READS + 1), "they pay");
    // If the compaction does not come, tables do not pile up.
    let three = Above::new("L0: 7:a-b 6:a-b 5:a-b\nL2: 1:a-b 3:c-d", SIZE);
    assert!(three.is_due(LEAST, 4 * READS + 1));
    let four = Above::new("L0: 8:a-b 7:a-b 6:a-b 5:a-b\nL2: 1:a-b 3:c-d", SIZE);
    assert!(!four.is_due(LEAST, 5 * READS + 1));
}

#[test]
fn few_writes_between_many_reads_do_not_have_all_data_rewritten() {
    // The level multiplier is 10.
    let tables: Vec<String> = (1..=20).map(|i| format!("{i}:a{i:02}-a{i:02}")).collect();
    let much = format!("L2: {}", tables.join(" "));
    assert!(Above::new(&much, 2 * SIZE).is_due(99 * READS, 0));
    assert!(!Above::new(&much, SIZE).is_due(99 * READS, 0));
    let busy = format!("L0: 30:a-b\n{much}");
    assert!(!Above::new(&busy, SIZE).is_due(99 * READS, 0));
    assert!(Above::new(&busy, SIZE).is_due(LEAST, 22 * READS), "anyway");
    // A flush costs as much as one of 8 MiB, however little there is.
    let small = Above::new("L2: 1:a-b@1000", 1 << 20);
    assert!(!small.is_due(READS * 4 / 5, 0));
    assert!(small.is_due(READS * 4 / 5 + 1, 0));
}

#[test]
fn flushes_for_reads_are_turned_off_like_compactions() {
    let mut over = Above::new("L2: 1:a-b", SIZE);
    over.options.read_triggered_compaction_threshold = f64::MIN_POSITIVE;
    assert!(!over.is_due(LEAST - 1, 0), "few reads say little");
    assert!(over.is_due(LEAST, 0));
    over.options.read_triggered_compaction_threshold = 0.0;
    assert!(!over.is_due(9 * READS, 0));
    over.options = paid_by_reads();
    over.options.compaction_style = CompactionStyle::Universal;
    assert!(!over.is_due(9 * READS, 0));
}

/// Reads in vain are due once they are as many as the bytes to be rewritten, by the threshold.
#[test]
fn reads_in_vain_pay_for_what_a_compaction_would_rewrite() {
    // Each table is worth as many reads.
    const READS: u64 = 32 << 10;
    let size = parse_version("L0: 1:a-b").levels[0][0].meta.size;
    let options = CfOptions {
        read_triggered_compaction_threshold: READS as f64 / size as f64,
        ..styled(CompactionStyle::Level)
    };
    let user = &UserComparator::Bytewise;
    let after = |text: &str, reads: &[(usize, usize, u64)], options: &CfOptions| {
        let version = parse_version(text);
        for &(level, i, reads) in reads {
            version.levels[level][i].note_wasted_reads(reads);
        }
        let due = state_at(&version, options, 0, 0).marks.read_triggered;
        let any = is_due_around(&version, options, user, Some(b"a"));
        assert_eq!(any, !due.is_empty(), "{text}");
        due
    };
    // Of two tables of level 0, with nothing below.
    let two = "L0: 2:a-b 1:a-b";
    assert_eq!(after(two, &[(0, 0, 2 * READS)], &options), []);
    assert_eq!(after(two, &[(0, 0, 2 * READS + 1)], &options), [(0, 0)]);
    // Nothing is below or beside.
    assert_eq!(after("L0: 1:a-b", &[(0, 0, 9 * READS)], &options), []);
    assert_eq!(after("L2: 1:a-b", &[(2, 0, 9 * READS)], &options), []);
    // What is overlapped below is rewritten, too.
    let over = "L0: 2:a-b\nL2: 1:a-b 3:c-d";
    assert_eq!(after(over, &[(0, 0, 2 * READS)], &options), []);
    assert_eq!(after(over, &[(0, 0, 2 * READS + 1)], &options), [(0, 0)]);
    let deep = "L1: 2:a-b 4:c-d\nL2: 1:a-b 3:c-d";
    assert_eq!(after(deep, &[(1, 0, 2 * READS + 1)], &options), [(1, 0)]);
    assert_eq!(after(deep, &[(2, 0, 9 * READS)], &options), []);
    // What is compacted already is not due.
    assert_eq!(
        after("L0: 2:a-b! 1:a-b", &[(0, 1, 9 * READS)], &options),
        []
    );
    // Few reads say little, whatever they cost.
    let eager = CfOptions {
        read_triggered_compaction_threshold: f64::MIN_POSITIVE,
        ..options.clone()
    };
    assert_eq!(after(two, &[(0, 0, 15 << 10)], &eager), []);
    assert_eq!(after(two, &[(0, 0, 16 << 10)], &eager), [(0, 0)]);
    let off = CfOptions {
        read_triggered_compaction_threshold: 0.0,
        ..options.clone()
    };
    assert_eq!(after(two, &[(0, 0, 9 * READS)], &off), []);
    let universal = CfOptions {
        compaction_style: CompactionStyle::Universal,
        ..options
    };
    assert_eq!(after(two, &[(0, 0, 9 * READS)], &universal), []);
}
