use super::*;
use crate::fs::Fs;
use crate::fs::mem::MemFs;
use crate::key::{MAX_SEQUENCE, ValueType, internal_key, seek_key};
use crate::sst::read::block_list::BlockRole;
use crate::sst::read::table::Table;
use crate::sst::{
    IndexType, TableBuilder, TableBuilderOptions, TableOptions, TableReadOptions,
    TableReaderOptions,
};
use std::path::Path;

const ENTRIES: u32 = 5000;

fn key(n: u32) -> String {
    format!("{n:08}")
}

/// Of the key with this number.
fn value(n: u32) -> String {
    format!("value {n}")
}

/// A table of small blocks, with a cache of this many bytes.
fn table(options: TableOptions, cache: usize) -> Table {
    let fs = MemFs::new();
    let path = Path::new("/000042.sst");
    let options = TableBuilderOptions {
        table: TableOptions {
            block_size: 1024,
            metadata_block_size: 256,
            ..options
        },
        ..TableBuilderOptions::default()
    };
    let mut builder = TableBuilder::new(options, fs.create(path).unwrap()).unwrap();
    for n in 0..ENTRIES {
        let key = internal_key(key(n).as_bytes(), 5, ValueType::Value);
        builder.add(&key, value(n).as_bytes()).unwrap();
    }
    builder.finish().unwrap();
    let file = fs.open_random(path).unwrap();
    let size = file.len().unwrap();
    let options = TableReaderOptions {
        block_cache: Some(BlockCache::new(cache)),
        ..TableReaderOptions::default()
    };
    Table::open(file, size, options).unwrap()
}

fn read(table: &Table, n: u32) {
    let mut seen = 0;
    let lookup = seek_key(key(n).as_bytes(), MAX_SEQUENCE);
    let read = table.get(&lookup, TableReadOptions::default(), &mut |_, found| {
        assert_eq!(&*found, value(n).as_bytes());
        seen += 1;
        Ok(true)
    });
    read.unwrap();
    assert_eq!(seen, 1, "{n}");
}

#[test]
fn blocks_that_were_read_are_found_with_and_without_numbers() {
    for (numbered, options) in [
        (true, TableOptions::default()),
        (
            false,
            TableOptions {
                index_block_restart_interval: 8,
                ..TableOptions::default()
            },
        ),
        (
            false,
            TableOptions {
                index_type: IndexType::TwoLevelIndexSearch,
                ..TableOptions::default()
            },
        ),
    ] {
        let table = table(options, 64 << 20);
        (0..2).for_each(|_| (0..ENTRIES).for_each(|n| read(&table, n)));
        let blocks = table.blocks().unwrap();
        let is_data = |kind: &BlockRole| matches!(kind, BlockRole::Data { .. });
        let data = blocks.iter().filter(|block| is_data(&block.kind));
        let places: Vec<BlockPlace> = data.clone().map(|b| table.place_of(b.offset)).collect();
        assert!(places.len() > 100, "{}", places.len());
        let directory = table.directory().unwrap();
        let found = |place: &&BlockPlace| directory.find(**place, true).is_some();
        let found = places.iter().filter(found).count();
        for (n, place) in places.iter().enumerate() {
            assert_eq!(place.number, numbered.then_some(n as u32));
        }
        match numbered {
            true => assert_eq!(found, places.len()),
            // Blocks compete for slots.
            false => assert!(found > places.len() / 2, "{found} of {}", places.len()),
        }
        let slots = table.cache.as_ref().unwrap().0.charged() / size_of::<usize>();
        assert_eq!(slots, places.len() + usize::from(!numbered) * (PROBES - 1));
        let behind = data.clone().map(|b| BlockPlace {
            offset: b.offset + b.size + 5,
            number: table.place_of(b.offset).number.map(|number| number + 1),
        });
        let behind: Vec<_> = behind.take(places.len() - 1).collect();
        let padded = behind.iter().zip(&places[1..]);
        let padded = padded
            .filter(|(end, next)| end.offset < next.offset)
            .count();
        assert!(padded > places.len() / 8, "{padded} of {}", places.len());
        let expected = behind
            .iter()
            .filter(|place| directory.expect_entries(**place))
            .count();
        assert!(expected >= found - 1, "{expected} of {found}");
        let past = table.place_of(places[1].offset + 1);
        assert!(past.number.is_none() && directory.find(past, false).is_none());
    }
}

#[test]
fn readers_find_their_block_while_others_evict_and_load_it() {
    for index_block_restart_interval in [1, 8] {
        let options = TableOptions {
            index_block_restart_interval,
            ..TableOptions::default()
        };
        // The cache holds a part of the blocks, so that reads load and evict all the time. Threads
        // that read the same keys at once may load copies.
        let table = &table(options, 32 << 10);
        std::thread::scope(|scope| {
            for stride in [7, 7, 9, 9] {
                let keys = (0..10 * ENTRIES).map(move |n| n * stride % ENTRIES);
                scope.spawn(move || keys.for_each(|n| read(table, n)));
            }
        });
        let slots = &table.directory().unwrap().slots.slots;
        let entered = || slots.iter().filter_map(|slot| slot.load_full());
        // The cache, the slot and this test have it.
        assert!(entered().all(|block| Arc::strong_count(&block) == 3));
        assert_ne!(entered().count(), 0);
        table.cache.as_ref().unwrap().0.set_capacity(0);
        assert_eq!(entered().count(), 0);
    }
}

#[test]
fn a_copy_takes_the_slot_of_one_that_is_about_to_leave() {
    let cache = BlockCache::new(64 << 20);
    let directory = Directory::numbered(&cache, 3).unwrap();
    let place = |number: u32| BlockPlace {
        offset: u64::from(number) * 100,
        number: Some(number),
    };
    let [first, copy, other] =
        [1, 1, 2].map(|number| directory.place(place(number), Block::empty(), None));
    for block in [&first, &copy, &other] {
        Arc::clone(block).enter();
        assert!(block.is_entered());
    }
    let counts = || [&first, &copy, &other].map(Arc::strong_count);
    assert_eq!(counts(), [1, 2, 2]);
    first.leave();
    assert!(
        directory.find(place(1), false).is_some(),
        "the copy is there"
    );
    copy.leave();
    assert!(directory.find(place(1), false).is_none());
    assert!(directory.find(place(2), false).is_some());
    assert!(directory.find(place(0), false).is_none());
    assert_eq!(counts(), [1, 1, 2]);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_cache_charges_what_a_place_takes() {
    // With two counts, the owner of the block's memory (32) and what the allocator adds (16).
    let all = size_of::<PlacedBlock>() + 2 * size_of::<usize>() + 32 + 16;
    assert_eq!(all, crate::cache::PLACED_OVERHEAD);
}
