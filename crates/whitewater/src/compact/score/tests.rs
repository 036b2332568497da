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

/// A memtable is flushed for reads once these pay for compacting its table, too.
#[test]
fn reads_in_vain_pay_for_the_flush_of_a_memtable() {
    const READS: u64 = 32 << 10;
    let size = parse_version("L0: 1:a-b").levels[0][0].meta.size;
    let options = CfOptions {
        read_triggered_compaction_threshold: READS as f64 / size as f64,
        ..styled(CompactionStyle::Level)
    };
    // A memtable from a to b whose entries are worth `worth` tables.
    let due = |text: &str, worth: u64, own_reads: u64, of_level0: u64, options: &CfOptions| {
        let version = parse_version(text);
        if let Some(file) = version.levels[0].first() {
            file.note_wasted_reads(of_level0);
        }
        let memtable = ReadMemtable {
            wasted_reads: own_reads,
            bytes: worth * size,
            key_span: &|| Some((b"a".to_vec(), b"b".to_vec())),
        };
        flush_is_due(&version, options, &UserComparator::Bytewise, &memtable)
    };
    // Nothing is below: no read is in vain.
    assert!(!due("", 1, 9 * READS, 0, &options));
    // What is below is rewritten, if it is in the memtable's range.
    let over = "L2: 1:a-b 3:c-d";
    assert!(!due(over, 1, 2 * READS, 0, &options));
    assert!(due(over, 1, 2 * READS + 1, 0, &options));
    // So is level 0, whose reads pay, too, but not for the memtable, unless it is due itself.
    let above = "L0: 5:a-b\nL2: 1:a-b 3:c-d";
    assert!(!due(above, 1, 2 * READS, READS, &options));
    assert!(due(above, 1, 2 * READS + 1, READS, &options));
    assert!(!due(above, 4, 4 * READS, 2 * READS, &options));
    assert!(due(above, 4, READS, 2 * READS + 1, &options));
    // If its compaction does not come, tables do not pile up.
    let piled = "L0: 8:a-b 7:a-b 6:a-b 5:a-b\nL2: 1:a-b 3:c-d";
    let three = "L0: 7:a-b 6:a-b 5:a-b\nL2: 1:a-b 3:c-d";
    assert!(due(three, 4, READS, 4 * READS + 1, &options));
    assert!(!due(piled, 4, READS, 5 * READS + 1, &options));
    // The range of level 0 counts, too, and what is compacted there comes first.
    let wide = "L0: 5:a-d\nL2: 1:a-b 3:c-d";
    assert!(!due(wide, 1, 4 * READS, 0, &options));
    assert!(due(wide, 1, 4 * READS + 1, 0, &options));
    assert!(!due("L0: 5:a-b!\nL2: 1:a-b", 1, 9 * READS, 0, &options));
    // A small memtable above much data is left alone, unless level 0 is compacted anyway.
    let text: Vec<String> = (1..=20).map(|i| format!("{i}:a{i:02}-a{i:02}")).collect();
    let much = format!("L2: {}", text.join(" "));
    assert!(due(&much, 2, 99 * READS, 0, &options));
    assert!(!due(&much, 1, 99 * READS, 0, &options));
    let busy = format!("L0: 30:a-b\n{much}");
    assert!(!due(&busy, 1, 99 * READS, 0, &options));
    assert!(due(&busy, 1, READS, 22 * READS, &options));
    // Few reads say little, and the option turns it off, as other styles do.
    let eager = CfOptions {
        read_triggered_compaction_threshold: f64::MIN_POSITIVE,
        ..options.clone()
    };
    assert!(!due(over, 1, 15 << 10, 0, &eager));
    assert!(due(over, 1, 16 << 10, 0, &eager));
    let off = CfOptions {
        read_triggered_compaction_threshold: 0.0,
        ..options.clone()
    };
    assert!(!due(over, 1, 9 * READS, 0, &off));
    let universal = CfOptions {
        compaction_style: CompactionStyle::Universal,
        ..options
    };
    assert!(!due(over, 1, 9 * READS, 0, &universal));
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
