use super::*;

const SETTINGS: Settings = Settings {
    cache_bytes: 8 << 20,
    value_size: 100,
    records: 10_000,
    limited: false,
    direct_reads: false,
};

fn opened<S: Store>() -> (tempfile::TempDir, S) {
    let directory = tempfile::tempdir().unwrap();
    let store = S::open(directory.path(), &SETTINGS).unwrap_or_else(|e| panic!("{e}"));
    (directory, store)
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// What a store does, step by step, is what a map would do.
struct LikeAMap;

impl Visit for LikeAMap {
    type Output = ();

    fn visit<S: Store>(self) {
        let (_directory, store) = opened::<S>();
        let get = |number| {
            let mut value = None;
            let found = store.get(&key(number), |bytes| value = Some(bytes.to_vec()));
            assert_eq!(found.unwrap_or_else(|e| panic!("{e}")), value.is_some());
            value
        };
        let put = |number, value: &[u8]| {
            store
                .put(&key(number), value)
                .unwrap_or_else(|e| panic!("{e}"));
        };
        let scan = |number, count| {
            let mut seen = Vec::new();
            let all = store.scan(&key(number), count, |key, value| {
                seen.push((u32::from_be_bytes(key.try_into().unwrap()), value.to_vec()));
            });
            assert_eq!(all.unwrap_or_else(|e| panic!("{e}")), seen.len());
            seen
        };
        // The number of the record that was at an end.
        let pop = |end| {
            let mut popped = None;
            let found = store.pop(end, |key, value| {
                popped = Some(u32::from_be_bytes(key.try_into().unwrap()));
                assert_eq!(value.len(), 100);
            });
            assert_eq!(found.unwrap_or_else(|e| panic!("{e}")), popped.is_some());
            popped
        };
        assert_eq!(pop(End::First), None);
        for number in (1..=1000).rev() {
            put(number * 2, &[number as u8; 100]);
        }
        put(8, &[200; 100]);
        for settled in [false, true] {
            if settled {
                store.settle().unwrap_or_else(|e| panic!("{e}"));
                store.compact().unwrap_or_else(|e| panic!("{e}"));
            }
            assert_eq!(get(8), Some(vec![200; 100]));
            assert_eq!(get(10), Some(vec![5; 100]));
            assert_eq!((get(9), get(3000)), (None, None));
            let three: Vec<_> = scan(7, 3)
                .into_iter()
                .map(|(key, value)| (key, value[0]))
                .collect();
            assert_eq!(three, [(8, 200), (10, 5), (12, 6)]);
            assert_eq!(scan(1998, 50).len(), 2);
            assert_eq!(scan(2001, 50).len(), 0);
        }
        for number in [2, 4, 6] {
            assert_eq!(pop(End::First), Some(number));
        }
        store.flush().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((get(2), get(6)), (None, None));
        assert_eq!(scan(0, 1), [(8, vec![200; 100])]);
        let mut last = 2000;
        if S::BACKWARDS {
            while last > 1000 {
                assert_eq!(pop(End::Last), Some(last));
                last -= 2;
            }
        }
        for number in (8..=last).step_by(2) {
            assert_eq!(pop(End::First), Some(number));
        }
        assert_eq!(pop(End::First), None);
    }
}

#[test]
fn every_store_does_what_a_map_would() {
    for engine in ALL {
        println!("{engine}");
        engine.with(LikeAMap);
    }
}

/// Threads write and read beside each other.
struct Threads;

impl Visit for Threads {
    type Output = ();

    fn visit<S: Store>(self) {
        let (_directory, store) = opened::<S>();
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let store = &store;
                scope.spawn(move || {
                    for number in 0..300 {
                        let key = key(number * 4 + thread);
                        store
                            .put(&key, &key.repeat(10))
                            .unwrap_or_else(|e| panic!("{e}"));
                        let found = store.get(&key, |value| assert_eq!(value, key.repeat(10)));
                        assert!(found.unwrap_or_else(|e| panic!("{e}")));
                    }
                });
            }
        });
        let all = store.scan(&key(0), 2000, |key, value| {
            assert_eq!(value, key.repeat(10))
        });
        assert_eq!(all.unwrap_or_else(|e| panic!("{e}")), 1200);
    }
}

#[test]
fn every_store_takes_calls_of_several_threads() {
    for engine in ALL {
        println!("{engine}");
        engine.with(Threads);
    }
}

#[test]
fn names_and_versions_are_known() {
    for engine in ALL {
        assert_eq!(Engine::named(engine.name()), Some(*engine));
        assert!(engine.title().contains('.'), "{}", engine.title());
        assert!(!engine.setup().is_empty());
    }
}
