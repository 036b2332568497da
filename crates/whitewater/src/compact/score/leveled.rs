//! How full the levels of leveled compaction are: targets, scores, and how much work is due.
//! The rules are RocksDB's, with static and with dynamic level targets.

use super::LevelState;
use crate::options::CfOptions;
use crate::version::{Version, total_bytes};

/// The factor for scores above 1 when level targets are dynamic.
const SCORE_SCALE: f64 = 10.0;

/// Computes targets and scores.
pub(super) fn level_state(version: &Version, options: &CfOptions) -> LevelState {
    let num_levels = options.compacted_levels(version.levels.len());
    if num_levels < 2 {
        return LevelState::default(); // nowhere to compact to
    }
    let targets = if options.level_compaction_dynamic_level_bytes {
        dynamic_targets(version, num_levels, options)
    } else {
        static_targets(num_levels, options)
    };
    let scores = scores(version, options, &targets);
    let pending_bytes = pending_bytes(version, options, &targets);
    LevelState {
        base_level: targets.base_level,
        target_bytes: targets.bytes,
        scores,
        pending_bytes,
        ..LevelState::default()
    }
}

struct Targets {
    base_level: usize,
    /// The target size of each level that compactions read and write. Bytes.
    bytes: Vec<u64>,
    /// The deepest level that the data no longer needs.
    lowest_unnecessary: Option<usize>,
}

fn multiplier(options: &CfOptions) -> f64 {
    match options.max_bytes_for_level_multiplier {
        m if m > 1.0 => m,
        _ => 1.0,
    }
}

/// A product that stops at `u64::MAX` (the conversion saturates).
fn times(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor) as u64
}

fn static_targets(num_levels: usize, options: &CfOptions) -> Targets {
    let mut bytes = vec![options.max_bytes_for_level_base; num_levels];
    for level in 2..num_levels {
        let more = &options.max_bytes_for_level_multiplier_additional;
        let more = more.get(level - 1).map_or(1.0, |factor| f64::from(*factor));
        bytes[level] = times(times(bytes[level - 1], multiplier(options)), more);
    }
    Targets {
        base_level: 1,
        bytes,
        lowest_unnecessary: None,
    }
}

/// Targets that follow from the largest level upwards, so that the last level holds most of the
/// data, however little there is.
fn dynamic_targets(version: &Version, num_levels: usize, options: &CfOptions) -> Targets {
    let mut targets = Targets {
        base_level: num_levels - 1,
        bytes: vec![u64::MAX; num_levels],
        lowest_unnecessary: None,
    };
    let Some(first) = (1..num_levels).find(|&l| version.level_bytes(l) > 0) else {
        return targets; // level 0 goes straight to the last level
    };
    let factor = multiplier(options);
    let base_max = options.max_bytes_for_level_base;
    let base_min = (base_max as f64 / factor) as u64;
    let largest = (1..num_levels).map(|l| version.level_bytes(l)).max();
    let mut size = largest.unwrap_or(0);
    for level in (first..num_levels - 1).rev() {
        size = (size as f64 / factor) as u64;
        if size <= base_min && targets.lowest_unnecessary.is_none() {
            targets.lowest_unnecessary = Some(level);
        }
    }
    targets.base_level = first;
    let base_size = if size <= base_min {
        // The target of the first level that holds data would be tiny otherwise.
        base_min.saturating_add(1)
    } else {
        while targets.base_level > 1 && size > base_max {
            targets.base_level -= 1;
            size = (size as f64 / factor) as u64;
        }
        size.clamp(1, base_max)
    };
    let mut size = base_size;
    for level in targets.base_level..num_levels {
        if level > targets.base_level {
            size = times(size, factor);
        }
        // No target is below the base size: level 0 would have to wait for levels that are smaller
        // than itself.
        targets.bytes[level] = size.max(base_max);
    }
    targets
}

fn scores(version: &Version, options: &CfOptions, targets: &Targets) -> Vec<(f64, usize)> {
    // The bytes on their way down from the levels above.
    let mut incoming = version.level_bytes(0) as f64;
    let mut scores = vec![(level0_score(version, options, targets), 0)];
    for level in 1..targets.bytes.len() - 1 {
        let score = level_score(version, options, targets, level, incoming);
        scores.push((score, level));
        let total = version.level_bytes(level);
        incoming += match targets.lowest_unnecessary {
            Some(lowest) if level <= lowest => total as f64,
            _ => total.saturating_sub(targets.bytes[level]) as f64,
        };
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores
}

fn level0_score(version: &Version, options: &CfOptions, targets: &Targets) -> f64 {
    let idle = version.levels[0].iter().filter(|f| !f.being_compacted());
    let (files, bytes) = idle.fold((0, 0), |(n, b), f| (n + 1, b + f.meta.size));
    let trigger = options.level0_file_num_compaction_trigger.max(1);
    let score = f64::from(files) / f64::from(trigger);
    let base_max = options.max_bytes_for_level_base.max(1);
    if !options.level_compaction_dynamic_level_bytes {
        return score.max(bytes as f64 / base_max as f64);
    }
    let mut score = score;
    if bytes >= base_max {
        score = score.max(1.01);
    }
    let base_target = targets.bytes[targets.base_level];
    if bytes > base_target {
        let base = version.level_bytes(targets.base_level).max(base_target);
        score = score.max(bytes as f64 / base as f64);
    }
    if score > 1.0 {
        score * SCORE_SCALE
    } else {
        score
    }
}

fn level_score(
    version: &Version,
    options: &CfOptions,
    targets: &Targets,
    level: usize,
    incoming: f64,
) -> f64 {
    let idle = version.levels[level]
        .iter()
        .filter(|f| !f.being_compacted());
    let bytes: u64 = idle.map(|f| f.meta.size).sum();
    let target = targets.bytes[level].max(1);
    if !options.level_compaction_dynamic_level_bytes || bytes < target {
        return drained(bytes, targets, level, bytes as f64 / target as f64);
    }
    // Data that is about to come down is compacted along with the level, so a level that will get
    // much of it is better left until then.
    let score = bytes as f64 / (target as f64 + incoming) * SCORE_SCALE;
    drained(bytes, targets, level, score)
}

/// Raises the score of a level that the data does not need, so that it is
/// emptied when nothing is more urgent.
fn drained(bytes: u64, targets: &Targets, level: usize, score: f64) -> f64 {
    match targets.lowest_unnecessary {
        Some(lowest) if level <= lowest && bytes > 0 => {
            score.max(SCORE_SCALE * (1.001 + 0.001 * (lowest - level) as f64))
        }
        _ => score,
    }
}

/// Follows the data above each level's target down the levels. Each part that moves on rewrites
/// its share of the next level.
fn pending_bytes(version: &Version, options: &CfOptions, targets: &Targets) -> u64 {
    let level0 = version.level_bytes(0);
    let trigger = options.level0_file_num_compaction_trigger.max(1) as usize;
    let due = version.num_files(0) >= trigger || level0 >= options.max_bytes_for_level_base;
    let mut pending = if due { level0 } else { 0 };
    let mut moving = pending;
    for level in targets.base_level..targets.bytes.len() - 1 {
        let mut bytes = total_bytes(&version.levels[level]);
        if level == targets.base_level && due {
            pending += bytes;
        }
        bytes += moving;
        moving = bytes.saturating_sub(targets.bytes[level]);
        let next = version.level_bytes(level + 1);
        if moving > 0 && next > 0 {
            pending += times(moving, next as f64 / bytes as f64 + 1.0);
        }
    }
    pending
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::testing::parse_version;

    fn options(dynamic: bool) -> CfOptions {
        CfOptions {
            level_compaction_dynamic_level_bytes: dynamic,
            max_bytes_for_level_base: 100,
            ..CfOptions::default()
        }
    }

    fn state(text: &str, dynamic: bool) -> LevelState {
        level_state(&parse_version(text), &options(dynamic))
    }

    fn score_of(state: &LevelState, level: usize) -> f64 {
        state.scores.iter().find(|(_, l)| *l == level).unwrap().0
    }

    #[test]
    fn static_targets_multiply() {
        let s = state("", false);
        assert_eq!(s.base_level, 1);
        assert_eq!(s.target_bytes[1..4], [100, 1000, 10_000]);
        assert_eq!(s.target_bytes[6], 10_000_000);
        assert_eq!(
            (s.scores.len(), s.scores[0].0, s.pending_bytes),
            (6, 0.0, 0)
        );
    }

    #[test]
    fn static_targets_have_further_factors() {
        let options = CfOptions {
            max_bytes_for_level_multiplier_additional: vec![7, 2, 1, 3],
            ..options(false)
        };
        let s = level_state(&parse_version(""), &options);
        assert_eq!(
            s.target_bytes[1..6],
            [100, 2000, 20_000, 600_000, 6_000_000]
        );
    }

    #[test]
    fn dynamic_targets_grow_from_the_last_level() {
        // (levels, base level, targets from the base level on)
        for (text, base, targets) in [
            ("", 6, vec![]),
            ("L6: 1:a-b@50", 6, vec![100]),
            // 900 / 10 is more than 100 / 10, so this is still one level.
            ("L6: 1:a-b@99", 6, vec![100]),
            ("L6: 1:a-b@900", 5, vec![100, 900]),
            ("L6: 1:a-b@9000", 4, vec![100, 900, 9000]),
            ("L5: 2:a-b@20\nL6: 1:a-b@9000", 4, vec![100, 900, 9000]),
            // Level 4 holds data, although 50 bytes need no level but the last.
            ("L4: 2:a-b@5\nL6: 1:a-b@50", 4, vec![100, 110, 1100]),
        ] {
            let s = state(text, true);
            assert_eq!(s.base_level, base, "{text}");
            let limited: Vec<u64> = s
                .target_bytes
                .iter()
                .copied()
                .filter(|&t| t < u64::MAX)
                .collect();
            assert_eq!(limited, targets, "{text}");
        }
    }

    #[test]
    fn level_zero_scores_by_files_and_bytes() {
        let four = "L0: 4:a-b@1 3:a-b@1 2:a-b@1 1:a-b@1";
        assert_eq!(score_of(&state(four, false), 0), 1.0);
        assert_eq!(score_of(&state(four, true), 0), 1.0);
        let busy = "L0: 4:a-b@1 3:a-b@1! 2:a-b@1! 1:a-b@1";
        assert_eq!(score_of(&state(busy, false), 0), 0.5);
        let big = "L0: 2:a-b@150 1:a-b@100";
        assert_eq!(score_of(&state(big, false), 0), 2.5);
        // With dynamic targets: there is no base level yet, and level 0 is just large enough.
        assert!((score_of(&state(big, true), 0) - 10.1).abs() < 1e-9);
        let over_base = "L0: 2:a-b@150 1:a-b@100\nL6: 9:a-b@50";
        assert_eq!(score_of(&state(over_base, true), 0), 25.0);
    }

    #[test]
    fn deeper_levels_score_by_idle_bytes() {
        let s = state("L1: 1:a-b@150 2:c-d@50!\nL2: 3:a-b@3000", false);
        assert_eq!(s.scores[..2], [(3.0, 2), (1.5, 1)]);
        // Bytes on their way down lower the score of the level that gets them.
        let s = state("L0: 9:a-z@100\nL5: 1:a-b@200\nL6: 3:a-b@900", true);
        assert_eq!(score_of(&s, 5), 200.0 / (100.0 + 100.0) * 10.0);
        // A level that the data does not need is drained.
        let s = state("L4: 2:a-b@5\nL5: 3:a-b@5\nL6: 1:a-b@50", true);
        assert!(score_of(&s, 4) > score_of(&s, 5) && score_of(&s, 5) > 10.0);
    }

    #[test]
    fn pending_bytes_follow_the_overflow_down() {
        assert_eq!(state("L0: 1:a-b@50", false).pending_bytes, 0);
        // Level 0 is due: it counts, and so does all of level 1.
        let s = state("L0: 1:a-b@100\nL1: 2:a-b@80", false);
        assert_eq!(s.pending_bytes, 180);
        // 80 bytes are over the target of level 1; the fan-out is 900 / 180.
        let s = state("L0: 1:a-b@100\nL1: 2:a-b@80\nL2: 3:a-b@900", false);
        assert_eq!(s.pending_bytes, 180 + 80 * 6);
        assert_eq!(
            state("L1: 1:a-b@100\nL2: 2:a-b@900", false).pending_bytes,
            0
        );
    }

    #[test]
    fn the_largest_base_is_no_limit() {
        let options = CfOptions {
            max_bytes_for_level_base: u64::MAX,
            max_bytes_for_level_multiplier: 1.0,
            ..options(true)
        };
        let s = level_state(&parse_version("L5: 2:a-b@20\nL6: 1:a-b@50"), &options);
        assert_eq!(s.base_level, 5);
        assert_eq!(s.target_bytes[5..], [u64::MAX; 2]);
    }
}
