use super::*;
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

/// `0: 4 3 + 1: 1` and what the pick says besides.
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
    );
    picked.map_or_else(|| "none".to_owned(), |c| describe(&c))
}

#[test]
fn automatic_picks() {
    for (text, expected) in [
        ("", "none"),
        ("L0: 3:a-c 2:a-c 1:a-c", "none"),
        // All of level 0, and what it overlaps below.
        (
            "L0: 9:a-c 8:e-f 7:a-b 6:a-b\nL1: 3:b-d 2:g-h\nL2: 1:a-z",
            "0: 9 8 7 6 + 1: 3 -> 1",
        ),
        ("L0: 9:a-c 8:b-f 7:a-b 6:a-b", "0: 9 8 7 6 -> 1, bottom"),
        // Tables that do not overlap are moved.
        (
            "L0: 9:g-h 8:e-f 7:c-d 6:a-b",
            "0: 9 8 7 6 -> 1, bottom, move",
        ),
        ("L0: 9:g-h 8:e-g 7:c-d 6:a-b", "0: 9 8 7 6 -> 1, bottom"),
        (
            "L0: 9:g-h 8:e-g) 7:c-d 6:a-b",
            "0: 9 8 7 6 -> 1, bottom, move",
        ),
        // One compaction of level 0 at a time, and none into busy files.
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
        // Level 1 is too big: the file that drags the least along.
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
        // The cheapest is blocked below.
        (
            "L1: 1:a-c@60 2:d-f@60\nL2: 5:a-c@50 6:d-e@10!",
            "1: 1 + 2: 5 -> 2, bottom",
        ),
        // The output side covers a second file of the level.
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
    let pick = || pick_automatic(&v, &options(), &c, &mut CompactCursor::default());
    assert!(pick().is_none());
    // Two jobs leave the gap between them free.
    v.levels[1][2].set_job(Some((3, 2)));
    assert_eq!(describe(&pick().unwrap()), "1: 2 -> 2, bottom, move");
}

#[test]
fn inputs_are_marked_until_the_compaction_is_dropped() {
    let v = parse_version("L0: 4:a-c 3:a-c 2:a-c 1:a-c\nL1: 9:b-d");
    let c = InternalComparator::default();
    let pick = || pick_automatic(&v, &options(), &c, &mut CompactCursor::default());
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
        let picked = pick_automatic(&v, &options(), &c, &mut cursor).unwrap();
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
    assert_eq!(auto("L5: 1:a-c@2000000", &o), "5: 1 -> 6, bottom");
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
    assert!(pick_automatic(&one_level, &o, &c, &mut CompactCursor::default()).is_none());
}

fn manual(text: &str, level: usize, output: usize, begin: &str, end: &str) -> String {
    let bound = |s: &str| (!s.is_empty()).then(|| s.as_bytes().to_vec());
    let (begin, end) = (bound(begin), bound(end));
    let picked = pick_manual(
        &parse_version(text),
        &options(),
        &InternalComparator::default(),
        level,
        output,
        begin.as_deref(),
        end.as_deref(),
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
        // Level 0 comes with everything that overlaps it.
        (0, 1, "a", "a", "0: 9 8 7 + 1: 3 2 -> 1, bottom"),
        (0, 1, "", "", "0: 9 8 7 + 1: 3 2 -> 1, bottom"),
        (0, 1, "x", "", "none"),
        (1, 2, "", "", "1: 3 2 -> 2, bottom, move"),
        (1, 2, "i", "z", "1: 2 -> 2, bottom, move"),
        (1, 1, "i", "z", "1: 2 -> 1, bottom"),
        (2, 2, "", "", "2: 1 -> 2, bottom"),
        (2, 6, "", "n", "2: 1 -> 6, bottom, move"),
        // Not past a level that overlaps.
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
fn exclusive_ends_are_no_shared_keys() {
    let meta = file_meta(1, "a-c)", 10, 5);
    assert_eq!(key::user_key(&meta.largest), b"c");
    let text = "L1: 1:a-c)@60 2:c-f@60";
    assert_eq!(auto(text, &options()), "1: 1 -> 2, bottom, move");
}
