//! Logs across power cuts.

use super::{p, read_log};
use proptest::prelude::*;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::wal::LogWriter;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The records up to the first damage are a prefix of the written records, and include all
    /// synced ones, in new files and in recycled ones.
    #[test]
    fn a_power_cut_leaves_a_prefix_with_all_synced_records(
        steps in prop::collection::vec((prop_oneof![0usize..600, 0usize..40_000], any::<bool>()), 1..25),
        keep in prop_oneof![Just(0.0), Just(1.0), 0.0f64..1.0],
        seed: u64,
        recycled: bool,
    ) {
        let fs = MemFs::new();
        let file = if recycled {
            let mut old = LogWriter::new(fs.create(p("/3.log")).unwrap(), 3, true);
            for i in 0..40u8 {
                old.add_record(&[&vec![i; 3_000]]).unwrap();
            }
            old.sync().unwrap();
            fs.reuse(p("/3.log"), p("/8.log")).unwrap()
        } else {
            fs.create(p("/8.log")).unwrap()
        };
        fs.sync_dir(p("/")).unwrap();
        let mut w = LogWriter::new(file, 8, recycled);
        let mut written = Vec::new();
        let mut synced = 0;
        for (i, (size, sync)) in steps.into_iter().enumerate() {
            let record = vec![i as u8; size];
            w.add_record(&[&record]).unwrap();
            written.push(record);
            if sync {
                w.sync().unwrap();
                synced = written.len();
            }
        }
        let left = fs.crash_clone(keep, seed);
        let back = read_log(&left, p("/8.log"), 8);
        prop_assert!(written.starts_with(&back.head));
        prop_assert!(back.head.len() >= synced);
        if keep == 1.0 {
            prop_assert_eq!(back.head.len(), written.len());
        }
    }
}
