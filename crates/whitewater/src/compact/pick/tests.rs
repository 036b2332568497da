use super::*;
use crate::compact::reason::CompactionReason;
use crate::options::compaction::CompactionPri;
use crate::version::table_cache::OpenWith;
use crate::version::testing::{file_meta, parse_version, parse_version_with};
use whitewater_storage::sst::CompressionType;

fn options() -> CfOptions {
    CfOptions {
        level_compaction_dynamic_level_bytes: false,
        max_bytes_for_level_base: 100,
        target_file_size_base: 100,
        ..CfOptions::default()
    }
}

/// Describes a pick as `0: 4 3 + 1: 1`, followed by its properties.
fn describe(c: &Compaction) -> String {
    let level = |(level, files): &(usize, Files)| {
        let numbers: Vec<_> = files.iter().map(|f| f.meta.number.to_string()).collect();
        format!("{level}: {}", numbers.join(" "))
    };
    let inputs: Vec<String> = c.inputs.iter().map(level).collect();
    let mut text = format!("{} -> {}", inputs.join(" + "), c.output_level);
    if c.bottommost {
        text.push_str(", bottom");
    }
    if c.trivial_move {
        text.push_str(", move");
    }
    text
}

fn auto(text: &str, options: &CfOptions) -> String {
    let comparator = InternalComparator::default();
    let picked = pick_automatic(
        &parse_version(text),
        options,
        &comparator,
        &mut CompactCursor::default(),
        &Moment::default(),
    );
    picked.map_or_else(|| "none".to_owned(), |c| describe(&c))
}

#[test]
fn automatic_picks() {
    for (text, expected) in [
        ("", "none"),
        ("L0: 3:a-c 2:a-c 1:a-c", "none"),
        // All of level 0 is picked, and what it overlaps below.
        (
            "L0: 9:a-c 8:e-f 7:a-b 6:a-b\nL1: 3:b-d 2:g-h\nL2: 1:a-z",
            "0: 9 8 7 6 + 1: 3 -> 1",
        ),
        ("L0: 9:a-c 8:b-f 7:a-b 6:a-b", "0: 9 8 7 6 -> 1, bottom"),
        // Tables that do not overlap anything are moved.
        (
            "L0: 9:g-h 8:e-f 7:c-d 6:a-b",
            "0: 9 8 7 6 -> 1, bottom, move",
        ),
        ("L0: 9:g-h 8:e-g 7:c-d 6:a-b", "0: 9 8 7 6 -> 1, bottom"),
        (
            "L0: 9:g-h 8:e-g) 7:c-d 6:a-b",
            "0: 9 8 7 6 -> 1, bottom, move",
        ),
        // One compaction of level 0 runs at a time, and none into busy files.
        ("L0: 9:g-h 8:e-f 7:c-d 6:a-b 5:a-b!", "none"),
        ("L0: 9:g-h 8:e-f 7:c-d 6:a-b\nL1: 1:a-c!", "none"),
        // The clean cut at the base level: 2 and 3 share `d`.
        (
            "L0: 9:a-b 8:a-b 7:a-b 6:a-b\nL1: 2:b-d 3:d-f 4:f-g)",
            "0: 9 8 7 6 + 1: 2 3 4 -> 1, bottom",
        ),
        (
            "L0: 9:a-b 8:a-b 7:a-b 6:a-b\nL1: 2:b-d) 3:d-f",
            "0: 9 8 7 6 + 1: 2 -> 1, bottom",
        ),
        // Level 1 is too large: the file with the smallest overlap is picked.
        (
            "L1: 1:a-c@60 2:d-f@60\nL2: 5:a-c@50 6:d-e@10\nL3: 7:a-b",
            "1: 2 + 2: 6 -> 2, bottom",
        ),
        (
            "L1: 1:a-c@60 2:d-f@60\nL2: 5:a-c@50",
            "1: 2 -> 2, bottom, move",
        ),
        (
            "L1: 1:a-c@60 2:d-f@60!\nL2: 5:a-c@50 6:d-e@10",
            "none", // what is left is under the target
        ),
        (
            "L1: 1:a-c@160 2:d-f@60!\nL2: 5:a-c@50 6:d-e@10",
            "1: 1 + 2: 5 -> 2, bottom",
        ),
        // The cheapest file is blocked by the level below.
        (
            "L1: 1:a-c@60 2:d-f@60\nL2: 5:a-c@50 6:d-e@10!",
            "1: 1 + 2: 5 -> 2, bottom",
        ),
        // The output side also covers a second file of the level.
        (
            "L1: 1:a-b@60 2:c-d@60\nL2: 5:a-d@5\nL3: 9:x-z",
            "1: 1 2 + 2: 5 -> 2, bottom",
        ),
        // A shared user key keeps files together.
        ("L1: 1:a-c@60 2:c-f@60", "1: 1 2 -> 2, bottom, move"),
        ("L1: 2:d-e@150 4:k-m@10!\nL2: 9:a-p@10!", "none"),
    ] {
        assert_eq!(auto(text, &options()), expected, "{text}");
    }
}

#[test]
fn a_running_job_owns_the_gaps_between_its_inputs() {
    let v = parse_version("L1: 1:a-b@50 2:d-e@150 3:g-h@50");
    for i in [0, 2] {
        v.levels[1][i].set_job(Some((1, 2)));
    }
    let c = InternalComparator::default();
    let pick = || {
        pick_automatic(
            &v,
            &options(),
            &c,
            &mut CompactCursor::default(),
            &Moment::default(),
        )
    };
    assert!(pick().is_none());
    // The gap between the outputs of two jobs is free.
    v.levels[1][2].set_job(Some((3, 2)));
    assert_eq!(describe(&pick().unwrap()), "1: 2 -> 2, bottom, move");
}

#[test]
fn inputs_are_marked_until_the_compaction_is_dropped() {
    let v = parse_version("L0: 4:a-c 3:a-c 2:a-c 1:a-c\nL1: 9:b-d");
    let c = InternalComparator::default();
    let pick = || {
        pick_automatic(
            &v,
            &options(),
            &c,
            &mut CompactCursor::default(),
            &Moment::default(),
        )
    };
    let first = pick().unwrap();
    assert!(v.levels.iter().flatten().all(|f| f.job() == Some((4, 1))));
    assert!(pick().is_none());
    drop(first);
    assert!(!v.levels.iter().flatten().any(|f| f.being_compacted()));
    assert!(pick().is_some());
}

#[test]
fn equals_take_turns() {
    let v = parse_version("L1: 1:a-b@60 2:c-d@60 3:e-f@60");
    let c = InternalComparator::default();
    let mut cursor = CompactCursor::default();
    let mut order = Vec::new();
    for _ in 0..4 {
        let picked = pick_automatic(&v, &options(), &c, &mut cursor, &Moment::default()).unwrap();
        order.push(picked.inputs[0].1[0].meta.number);
    }
    assert_eq!(order, [1, 2, 3, 1]);
}

#[test]
fn moves_stop_at_big_overlaps_below_and_other_codecs() {
    let mut o = options();
    // 25 * 100 bytes may overlap in level 3.
    let text = "L1: 1:a-c@120\nL3: 9:a-b@2500";
    assert_eq!(auto(text, &o), "1: 1 -> 2, move");
    assert_eq!(auto("L1: 1:a-c@120\nL3: 9:a-b@2501", &o), "1: 1 -> 2");
    o.max_compaction_bytes = 100;
    assert_eq!(auto(text, &o), "1: 1 -> 2");
    o = options();
    o.compression_per_level = vec![
        CompressionType::None,
        CompressionType::None,
        CompressionType::Zstd,
    ];
    assert_eq!(auto("L1: 1:a-c@120", &o), "1: 1 -> 2, bottom");
    o = options();
    o.bottommost_compression = Some(CompressionType::Zstd);
    assert_eq!(auto("L1: 1:a-c@120", &o), "1: 1 -> 2, bottom, move");
    // The deepest level that has tables counts as the bottommost.
    assert_eq!(auto("L5: 1:a-c@2000000", &o), "5: 1 -> 6, bottom, move");
}

#[test]
fn growth_stays_under_the_limit() {
    let text = "L1: 1:a-b@60 2:c-d@60\nL2: 5:a-d@5";
    let mut o = options();
    o.max_compaction_bytes = 125;
    assert_eq!(auto(text, &o), "1: 1 + 2: 5 -> 2, bottom");
    o.max_compaction_bytes = 126;
    assert_eq!(auto(text, &o), "1: 1 2 + 2: 5 -> 2, bottom");
}

#[test]
fn dynamic_levels_go_to_the_last_level_first() {
    let o = CfOptions {
        level_compaction_dynamic_level_bytes: true,
        ..options()
    };
    let text = "L0: 4:a-c 3:a-c 2:a-c 1:a-c";
    assert_eq!(auto(text, &o), "0: 4 3 2 1 -> 6, bottom");
    let text = "L0: 4:a-c 3:a-c 2:a-c 1:a-c\nL6: 9:b-d@900";
    assert_eq!(auto(text, &o), "0: 4 3 2 1 -> 5");
    // While level 0 is blocked, its base level is left alone.
    let text = "L0: 4:a-c@100 3:a-c@100 2:a-c@100 5:x-y@100!\nL5: 8:m-n@120\nL6: 9:b-d@900";
    assert_eq!(auto(text, &o), "none");
    let one_level = parse_version_with("L0: 4:a-c 3:a-c 2:a-c 1:a-c", 1);
    let c = InternalComparator::default();
    assert!(
        pick_automatic(
            &one_level,
            &o,
            &c,
            &mut CompactCursor::default(),
            &Moment::default()
        )
        .is_none()
    );
}

fn manual(text: &str, level: usize, output: usize, begin: &str, end: &str) -> String {
    manual_of(text, level, output, (begin, end), None)
}

fn manual_of(
    text: &str,
    level: usize,
    output: usize,
    (begin, end): (&str, &str),
    older_than: Option<u64>,
) -> String {
    let bound = |s: &str| (!s.is_empty()).then(|| s.as_bytes().to_vec());
    let (begin, end) = (bound(begin), bound(end));
    let picked = pick_manual(
        &parse_version(text),
        &options(),
        &InternalComparator::default(),
        level,
        output,
        KeyRange::closed(begin.as_deref(), end.as_deref()),
        older_than,
    );
    match picked {
        None => "none".to_owned(),
        Some(Err(())) => "later".to_owned(),
        Some(Ok(c)) => describe(&c),
    }
}

#[test]
fn manual_picks() {
    let text = "L0: 9:a-c 8:e-h 7:b-e\nL1: 3:a-d 2:h-k\nL2: 1:m-p";
    for (level, output, begin, end, expected) in [
        // Level 0 is picked with everything that overlaps it.
        (0, 1, "a", "a", "0: 9 8 7 + 1: 3 2 -> 1, bottom"),
        (0, 1, "", "", "0: 9 8 7 + 1: 3 2 -> 1, bottom"),
        (0, 1, "x", "", "none"),
        (1, 2, "", "", "1: 3 2 -> 2, bottom, move"),
        (1, 2, "i", "z", "1: 2 -> 2, bottom, move"),
        (1, 1, "i", "z", "1: 2 -> 1, bottom"),
        (2, 2, "", "", "2: 1 -> 2, bottom"),
        (2, 6, "", "n", "2: 1 -> 6, bottom, move"),
        // The output does not pass a level that overlaps.
        (0, 6, "", "", "0: 9 8 7 + 1: 3 2 -> 1, bottom"),
        (3, 4, "", "", "none"),
    ] {
        assert_eq!(
            manual(text, level, output, begin, end),
            expected,
            "{level} {begin}-{end}"
        );
    }
    assert_eq!(manual("L0: 9:a-c 8:x-y!", 0, 1, "a", "b"), "later");
    assert_eq!(manual("L1: 9:a-c!", 1, 2, "", ""), "later");
    assert_eq!(manual("L1: 9:a-c\nL2: 8:b-d!", 1, 2, "", ""), "later");
    assert_eq!(
        manual("L1: 9:a-c 8:x-y!", 1, 2, "", "d"),
        "1: 9 -> 2, bottom, move"
    );
}

#[test]
fn manual_picks_of_older_files() {
    let older = |text: &str, begin, end| manual_of(text, 1, 1, (begin, end), Some(5));
    let text = "L1: 8:a-b 1:c-d 2:e-f 9:g-h 3:i-j";
    assert_eq!(older(text, "", ""), "1: 1 2 -> 1, bottom");
    assert_eq!(older(text, "e", ""), "1: 2 -> 1, bottom");
    assert_eq!(older(text, "g", ""), "1: 3 -> 1, bottom");
    assert_eq!(older(text, "", "b"), "none");
    assert_eq!(older("L1: 5:a-b 6:c-d", "", ""), "none");
    // Versions of one key stay together, whether new or not.
    let shared = "L1: 8:a-c 1:c-d 9:d-f 7:g-h";
    assert_eq!(older(shared, "", ""), "1: 8 1 9 -> 1, bottom");
    assert_eq!(older("L1: 8:a-b 1:c-d! 2:e-f", "", ""), "later");
}

#[test]
fn exclusive_ends_are_no_shared_keys() {
    let meta = file_meta(1, "a-c)", 10, 5);
    assert_eq!(key::user_key(&meta.largest), b"c");
    let text = "L1: 1:a-c)@60 2:c-f@60";
    assert_eq!(auto(text, &options()), "1: 1 -> 2, bottom, move");
}

/// The pick at a moment at which every file older than 100 s is due and no snapshot is left.
fn later(text: &str, options: &CfOptions, num_levels: usize) -> String {
    let moment = Moment {
        now: 1000,
        oldest_snapshot: 11,
        files_below: 50,
    };
    let picked = pick_automatic(
        &parse_version_with(text, num_levels),
        options,
        &InternalComparator::default(),
        &mut CompactCursor::default(),
        &moment,
    );
    picked.map_or_else(
        || "none".to_owned(),
        |c| format!("{}, {}", describe(&c), c.reason),
    )
}

#[test]
fn level0_is_merged_in_itself_while_its_base_is_busy() {
    let busy = "\nL1: 1:a-c!";
    for (text, expected) in [
        (
            "L0: 9:a-c 8:a-c 7:a-c 6:a-c 5:a-c 4:a-c",
            "0: 9 8 7 6 5 4 -> 0",
        ),
        // There are too few files, or too few in a row.
        ("L0: 9:a-c 8:a-c 7:a-c 6:a-c 5:a-c", "none"),
        ("L0: 9:a-c! 8:a-c 7:a-c 6:a-c 5:a-c 4:a-c", "none"),
        ("L0: 9:a-c 8:a-c 7:a-c 6:a-c! 5:a-c 4:a-c 3:a-c", "none"),
        // Files are merged up to where the next file makes more work than it saves.
        (
            "L0: 9:a-c 8:a-c 7:a-c 6:a-c 5:a-c@90 4:a-c",
            "0: 9 8 7 6 -> 0",
        ),
    ] {
        assert_eq!(
            auto(&format!("{text}{busy}"), &options()),
            expected,
            "{text}"
        );
    }
    // With nothing older, nothing is kept because of older data.
    let text = "L0: 9:a-c 8:a-c 7:a-c 6:a-c 5:a-c 4:a-c\nL1: 1:x-z!";
    let mut o = options();
    o.max_bytes_for_level_base = 10;
    assert_eq!(auto(text, &o), "0: 9 8 7 6 5 4 -> 1, bottom");
    let compaction = Compaction {
        version: parse_version("L0: 2:a-c 1:a-c"),
        inputs: Vec::new(),
        output_level: 0,
        path_id: 0,
        bottommost: false,
        open_behind: false,
        trivial_move: false,
        deletes: false,
        uncompressed: false,
        reason: CompactionReason::ManualCompaction,
        wishes: Wishes::default(),
    };
    let c = UserComparator::Bytewise;
    assert!(
        !compaction.key_not_below(&c, b"x"),
        "level 0 may have older files"
    );
}

#[test]
fn priorities_choose_the_file() {
    let v = parse_version("L1: 1:a-b@60 2:c-d@70 3:e-f@50\nL2: 9:a-d@500");
    let with_seqs = |seqs: [(u64, u64); 3]| {
        let mut levels = v.levels.clone();
        for (file, (smallest, largest)) in levels[1].iter_mut().zip(seqs) {
            let mut meta = file.meta.clone();
            (meta.smallest_seqno, meta.largest_seqno) = (smallest, largest);
            *file = TableFile::new(meta, 0, &v.open_with.paths.first().clone(), Arc::default());
        }
        Arc::new(Version::new(levels, OpenWith::default()))
    };
    let v = with_seqs([(30, 60), (20, 70), (40, 50)]);
    let comparator = InternalComparator::default();
    for (pri, first) in [
        (CompactionPri::ByCompensatedSize, 2),
        (CompactionPri::OldestLargestSeqFirst, 3),
        (CompactionPri::OldestSmallestSeqFirst, 2),
        (CompactionPri::MinOverlappingRatio, 3),
        (CompactionPri::RoundRobin, 1),
    ] {
        let o = CfOptions {
            compaction_pri: pri,
            // No file is added because its range is covered.
            max_compaction_bytes: 1,
            ..options()
        };
        let mut cursor = CompactCursor::default();
        let picked = pick_automatic(&v, &o, &comparator, &mut cursor, &Moment::default());
        let picked = picked.unwrap();
        assert_eq!(picked.inputs[0].1[0].meta.number, first, "{pri:?}");
    }
}

#[test]
fn files_are_compacted_when_they_are_due() {
    let mut o = options();
    (o.ttl, o.periodic_compaction_seconds) = (100, 0);
    // First by request, then by age; not from the last level with data.
    let text = "L1: 1:a-b@1#5 2:c-d@1?\nL2: 3:a-b@1#5";
    assert_eq!(
        later(text, &o, 7),
        "1: 2 -> 2, bottom, FilesMarkedForCompaction"
    );
    let text = "L1: 1:a-b@1#5 2:c-d@1\nL2: 3:b-b@1#5";
    assert_eq!(later(text, &o, 7), "1: 2 -> 1, bottom, BottommostFiles");
    o.ttl = 0;
    // Except for snapshots and age, nothing is due.
    let text = "L1: 70:a-b@1#5\nL2: 71:b-b@1#5";
    assert_eq!(later(text, &o, 7), "none");
    o.ttl = 100;
    assert_eq!(later(text, &o, 7), "1: 70 + 2: 71 -> 2, bottom, Ttl");
    (o.ttl, o.periodic_compaction_seconds) = (0, 100);
    assert_eq!(later(text, &o, 7), "1: 70 -> 1, PeriodicCompaction");
    o.level_compaction_dynamic_level_bytes = true;
    assert_eq!(
        later("L5: 70:a-b@1#5\nL6: 71:b-b@900", &o, 7),
        "5: 70 + 6: 71 -> 6, bottom, PeriodicCompaction"
    );
    assert_eq!(
        later("L6: 71:b-b@1#5", &o, 7),
        "6: 71 -> 6, bottom, PeriodicCompaction"
    );
    // Because of a neighbour with older data below, sequence numbers could not become 0.
    let text = "L1: 1:a-c 2:c-e\nL2: 70:d-e";
    assert_eq!(later(text, &options(), 7), "none");
}

mod universal {
    use super::*;
    use crate::options::compaction::{CompactionStyle, StopStyle, UniversalOptions};

    fn universal(set: impl FnOnce(&mut UniversalOptions)) -> CfOptions {
        let mut o = CfOptions {
            compaction_style: CompactionStyle::Universal,
            level0_file_num_compaction_trigger: 4,
            ttl: 0,
            periodic_compaction_seconds: 0,
            ..options()
        };
        set(&mut o.compaction_options_universal);
        o
    }

    #[test]
    fn rules_apply_in_their_order() {
        let o = universal(|_| {});
        for (text, expected) in [
            ("L0: 9:a-c 8:a-c 7:a-c", "none"),
            // Newer runs have twice the bytes of the oldest.
            (
                "L0: 9:a-c 8:a-c 7:a-c\nL6: 1:a-c@15",
                "0: 9 8 7 + 6: 1 -> 6, bottom, UniversalSizeAmplification",
            ),
            // The runs of 10, 10 and 20 are alike, that of 500 is not. The output goes above the
            // level that follows.
            (
                "L0: 9:a-c 8:a-c 7:a-c@20\nL6: 1:a-c@500",
                "0: 9 8 7 -> 5, UniversalSizeRatio",
            ),
            (
                "L0: 9:a-c 8:a-c\nL3: 7:a-b 6:c-d\nL6: 1:a-c@500",
                "0: 9 8 + 3: 7 6 -> 5, UniversalSizeRatio",
            ),
            // The newest run is left out if the next is much larger.
            (
                "L0: 9:a-c@1 8:a-c 7:a-c@9 6:a-c@400\nL6: 1:a-c@500",
                "0: 8 7 -> 0, UniversalSizeRatio",
            ),
            // No runs are alike, so as many are merged as it takes to be down to four.
            (
                "L0: 9:a-c@1 8:a-c@10\nL4: 7:a-c@100\nL6: 1:a-c@1000",
                "none",
            ),
            (
                "L0: 9:a-c@1 8:a-c@9 7:a-c@81 6:a-c@729\nL6: 1:a-c@6000",
                "0: 9 8 -> 0, UniversalSortedRunNum",
            ),
            (
                "L0: 9:a-c@1 8:a-c@9\nL2: 7:a-c@81\nL4: 6:a-c@729\nL6: 1:a-c@6000",
                "0: 9 8 -> 1, UniversalSortedRunNum",
            ),
            // Runs next to those that are being compacted.
            (
                "L0: 9:a-c 8:a-c 7:a-c! 6:a-c 5:a-c\nL6: 1:a-c!",
                "0: 9 8 -> 0, UniversalSizeRatio",
            ),
        ] {
            assert_eq!(later(text, &o, 7), expected, "{text}");
        }
        let text = "L0: 9:a-c 8:a-c 7:a-c 6:a-c";
        let all = "0: 9 8 7 6 -> 0, bottom, UniversalSizeAmplification";
        assert_eq!(later(text, &o, 1), all);
    }

    #[test]
    fn options_bound_what_is_merged() {
        let text = "L0: 9:a-c 8:a-c 7:a-c 6:a-c\nL6: 1:a-c@900";
        let o = universal(|u| u.max_merge_width = 3);
        assert_eq!(later(text, &o, 7), "0: 9 8 7 -> 0, UniversalSizeRatio");
        let o = universal(|u| u.min_merge_width = 5);
        assert_eq!(later(text, &o, 7), "none");
        let o = universal(|u| u.max_size_amplification_percent = 4);
        let all = "0: 9 8 7 6 + 6: 1 -> 6, bottom, UniversalSizeAmplification";
        assert_eq!(later(text, &o, 7), all);
        let ratio = |r| universal(move |u| u.size_ratio = r);
        let text = "L0: 9:a-c@10 8:a-c@12 7:a-c@900\nL6: 1:a-c@9000";
        assert_eq!(later(text, &ratio(19), 7), "none");
        assert_eq!(
            later(text, &ratio(20), 7),
            "0: 9 8 -> 0, UniversalSizeRatio"
        );
        // Each next run is compared with the one before, in both directions.
        let text = "L0: 9:a-c@30 8:a-c@10 7:a-c@10 6:a-c@15\nL6: 1:a-c@9000";
        let similar = universal(|u| u.stop_style = StopStyle::SimilarSize);
        assert_eq!(later(text, &similar, 7), "0: 8 7 -> 0, UniversalSizeRatio");
        assert_eq!(
            later(text, &universal(|_| {}), 7),
            "0: 9 8 7 6 -> 5, UniversalSizeRatio"
        );
    }

    #[test]
    fn moves_are_made_only_where_allowed() {
        let text = "L0: 9:a-b 8:c-d 7:e-f 6:g-h";
        let all = "0: 9 8 7 6 -> 6, bottom";
        let why = ", UniversalSizeAmplification";
        assert_eq!(later(text, &universal(|_| {}), 7), format!("{all}{why}"));
        let o = universal(|u| u.allow_trivial_move = true);
        assert_eq!(later(text, &o, 7), format!("{all}, move{why}"));
        let overlapping = "L0: 9:a-b 8:b-d 7:e-f 6:g-h";
        assert_eq!(later(overlapping, &o, 7), format!("{all}{why}"));
        assert!(!later(text, &o, 1).contains("move"));
    }

    #[test]
    fn new_data_is_not_compressed_beyond_the_share() {
        let uncompressed = |percent, text: &str| {
            let o = universal(|u| u.compression_size_percent = percent);
            let v = parse_version(text);
            let c = InternalComparator::default();
            let mut cursor = CompactCursor::default();
            pick_automatic(&v, &o, &c, &mut cursor, &Moment::default())
                .unwrap()
                .uncompressed
        };
        let text = "L0: 9:a-c 8:a-c 7:a-c@20\nL6: 1:a-c@60";
        assert!(!uncompressed(-1, text));
        assert!(uncompressed(60, text));
        assert!(!uncompressed(61, text));
        // The oldest data is always compressed.
        assert!(!uncompressed(0, "L0: 9:a-c 8:a-c 7:a-c 6:a-c"));
    }

    #[test]
    fn single_files_that_are_due() {
        let mut o = universal(|_| {});
        o.periodic_compaction_seconds = 100;
        for (text, expected) in [
            ("L0: 9:a-c 8:a-c#950\nL6: 1:a-c@500", "none"),
            (
                "L0: 9:a-c 8:a-c#5\nL6: 1:a-c@500",
                "0: 9 8 + 6: 1 -> 6, bottom, PeriodicCompaction",
            ),
            ("L0: 9:a-c#5 8:a-c!\nL6: 1:a-c@500", "none"),
            (
                "L0: 9:a-c 8:a-c!\nL6: 1:a-c@500#5",
                "6: 1 -> 6, bottom, PeriodicCompaction",
            ),
            // A requested compaction goes to the next level that has data.
            (
                "L0: 9:a-b? 8:x-z\nL4: 1:a-c",
                "0: 9 + 4: 1 -> 4, bottom, FilesMarkedForCompaction",
            ),
            ("L0: 9:x-z\nL4: 1:a-c\nL6: 2:b-c?", "none"),
        ] {
            assert_eq!(later(text, &o, 7), expected, "{text}");
        }
        let one_level = "L0: 9:a-c 8:a-c? 7:a-c";
        let marked = "0: 8 7 -> 0, bottom, FilesMarkedForCompaction";
        assert_eq!(later(one_level, &o, 1), marked);
        assert_eq!(later("L0: 9:a-c 8:a-c 7:a-c?", &o, 1), "none");
    }

    #[test]
    fn everything_is_merged_on_request() {
        let pick = |text: &str, num_levels| {
            let v = parse_version_with(text, num_levels);
            match pick_all(&v, &universal(|_| {}), &InternalComparator::default()) {
                None => "none".to_owned(),
                Some(Err(())) => "later".to_owned(),
                Some(Ok(c)) => describe(&c),
            }
        };
        assert_eq!(pick("", 7), "none");
        assert_eq!(
            pick("L0: 9:a-b 8:c-d\nL3: 7:a-b", 7),
            "0: 9 8 + 3: 7 -> 6, bottom"
        );
        assert_eq!(pick("L0: 9:a-b 8:c-d", 1), "0: 9 8 -> 0, bottom");
        assert_eq!(pick("L0: 9:a-b 8:c-d!", 1), "later");
    }
}

mod fifo {
    use super::*;
    use crate::options::compaction::{CompactionStyle, FifoOptions};

    #[test]
    fn the_oldest_files_are_deleted() {
        let mut o = CfOptions {
            compaction_style: CompactionStyle::Fifo,
            ttl: 100,
            periodic_compaction_seconds: 0,
            compaction_options_fifo: FifoOptions {
                max_table_files_size: 25,
                allow_compaction: false,
            },
            ..options()
        };
        for (text, expected) in [
            ("L0: 9:a-c 8:a-c", "none"),
            ("L0: 9:a-c 8:a-c 7:a-c", "0: 7 -> 0, bottom, FIFOMaxSize"),
            ("L0: 9:a-c@26 8:a-c", "0: 9 8 -> 0, bottom, FIFOMaxSize"),
            ("L0: 9:a-c 8:a-c! 7:a-c 6:a-c", "none"),
            // Files that are too old are deleted, oldest first; a newer one waits for those before
            // it.
            ("L0: 9:a-c#950 8:a-c#5", "0: 8 -> 0, bottom, FIFOTtl"),
            ("L0: 9:a-c#5 8:a-c#950", "none"),
            // If that is not enough, the size decides.
            (
                "L0: 9:a-c@26#950 8:a-c#5",
                "0: 9 8 -> 0, bottom, FIFOMaxSize",
            ),
            // Files left by another compaction style go first.
            (
                "L0: 9:a-c\nL6: 1:a-c 2:d-e 3:f-g",
                "6: 1 2 -> 6, bottom, FIFOMaxSize",
            ),
        ] {
            assert_eq!(later(text, &o, 7), expected, "{text}");
        }
        o.compaction_options_fifo.max_table_files_size = 1000;
        let small = "L0: 9:a-c 8:a-c 7:a-c 6:a-c";
        assert_eq!(later(small, &o, 1), "none");
        o.compaction_options_fifo.allow_compaction = true;
        let all = "0: 9 8 7 6 -> 0, bottom, FIFOReduceNumFiles";
        assert_eq!(later(small, &o, 1), all);
        o.write_buffer_size = 10;
        assert_eq!(
            later(small, &o, 1),
            "none",
            "they are larger than memtables"
        );
    }
}

/// Otherwise newer data would be below it afterwards.
#[test]
fn what_moves_up_keeps_others_out_of_the_levels_it_passes() {
    let comparator = InternalComparator::default();
    let version = parse_version("L0: 9:b-b\nL6: 1:a-c");
    let busy = |key: &[u8]| -> Vec<usize> {
        let range = KeyRange::closed(Some(key), Some(key));
        let busy = |level: &usize| range_is_busy(&version, &comparator.user, *level, range);
        (1..7).filter(busy).collect()
    };
    assert_eq!(busy(b"b"), [0; 0]);
    let moving = pick_move(&version, &options(), &comparator, 6, 3);
    assert!(moving.is_some());
    assert_eq!(busy(b"b"), [3, 4, 5]);
    assert_eq!(busy(b"d"), [0; 0]);
}

/// I6, for both styles, with levels of fixed and of chosen sizes.
#[test]
fn a_last_level_that_is_kept_free_is_not_compacted() {
    let reserving = |o: CfOptions| CfOptions {
        keeps_last_level_free: true,
        ..o
    };
    let dynamic = CfOptions {
        level_compaction_dynamic_level_bytes: true,
        ..options()
    };
    let universal = CfOptions {
        compaction_style: CompactionStyle::Universal,
        ..options()
    };
    let level0 = "L0: 9:a-c 8:b-f 7:a-b 6:a-b";
    for (o, text, without, with) in [
        (
            &options(),
            level0,
            "0: 9 8 7 6 -> 1, bottom",
            "0: 9 8 7 6 -> 1",
        ),
        (
            &dynamic,
            level0,
            "0: 9 8 7 6 -> 6, bottom",
            "0: 9 8 7 6 -> 5",
        ),
        (
            &universal,
            level0,
            "0: 9 8 7 6 -> 6, bottom",
            "0: 9 8 7 6 -> 5",
        ),
        // Files on the last level are left alone.
        (
            &options(),
            "L5: 2:a-c@99000000\nL6: 1:a-c",
            "5: 2 + 6: 1 -> 6, bottom",
            "none",
        ),
    ] {
        assert_eq!(auto(text, o), without, "{text}");
        assert_eq!(auto(text, &reserving(o.clone())), with, "{text}");
    }
    let comparator = InternalComparator::default();
    let v = parse_version("L0: 9:a-c\nL3: 3:a-c\nL6: 1:a-c");
    let all = pick_all(&v, &reserving(universal), &comparator);
    let all = all.expect("files").expect("idle");
    assert_eq!(describe(&all), "0: 9 + 3: 3 -> 5");
    // Entries that may have to hide something later are kept.
    assert!(!all.key_not_below(&comparator.user, b"x"));
}
