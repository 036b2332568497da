use super::*;
use std::time::{Duration, Instant};

/// Tests that take kept memory run one at a time, since all of them look at the same pool.
pub(crate) static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

fn write(region: &Region, offset: usize, what: u8) {
    assert!(offset < region.bytes());
    // SAFETY: inside the region, as was checked.
    unsafe { region.start().as_ptr().wrapping_add(offset).write(what) };
}

fn read(region: &Region, offset: usize) -> u8 {
    assert!(offset < region.bytes());
    // SAFETY: inside the region, as was checked; mapped memory is initialized.
    unsafe { region.start().as_ptr().wrapping_add(offset).read() }
}

/// Does as owners do.
#[cfg(target_os = "linux")]
fn furnish(region: &Region, part: Range<usize>) {
    if let Some(pages) = region.furnish(part) {
        ahead::want(pages);
    }
}

#[test]
fn regions_for_huge_pages_begin_at_their_border() {
    for bytes in [TRANSPARENT, 3 * TRANSPARENT, TRANSPARENT + 4096] {
        let region = Region::take(bytes, HugePages::Transparent).expect("memory");
        assert!(region.start().addr().get().is_multiple_of(TRANSPARENT));
        for offset in [0, bytes / 2, bytes - 1] {
            write(&region, offset, 7);
            assert_eq!(read(&region, offset), 7);
        }
    }
}

#[test]
fn missing_reserved_pages_are_replaced_by_others() {
    // No system has pages of this size.
    let odd = HugePages::Reserved(8 << 10);
    let region = Region::reserve(2 * TRANSPARENT, odd, true).expect("memory");
    write(&region, 0, 7);
    assert_eq!(region.bytes(), 2 * TRANSPARENT);
    assert!(Region::take(2 * TRANSPARENT, odd).is_none());
}

/// A page stays touched, however little of the region its next owner uses.
#[test]
fn the_pool_remembers_what_was_ever_touched() {
    // No other test has regions of this size.
    const BYTES: usize = 3 << 20;
    let _turn = TURN.lock();
    let _claim = Claim::new(64 << 20);
    for touched in [2 << 20, 4096, 0, 1 << 20] {
        let region = Region::take(BYTES, HugePages::Off).expect("3 MiB of address space");
        region.release(touched);
        assert_eq!(pool::touched(BYTES), [2 << 20]);
    }
}

#[test]
fn memory_beyond_the_claims_is_not_kept() {
    // No other test has regions of this size.
    const BYTES: usize = 5 << 20;
    let _turn = TURN.lock();
    let release = || {
        let region = Region::take(BYTES, HugePages::Off).expect("5 MiB of address space");
        region.release(BYTES);
        pool::touched(BYTES).len()
    };
    let (small, large) = (Claim::new(BYTES - 1), Claim::new(BYTES));
    assert_eq!(release(), 1);
    drop(large);
    assert_eq!(
        pool::touched(BYTES),
        [0; 0],
        "more than the claims that are left"
    );
    assert_eq!(release(), 0);
    drop(small);
}

#[test]
fn idle_memory_goes_back_to_the_system() {
    // No other test has regions of this size.
    const BYTES: usize = 7 << 20;
    let _turn = TURN.lock();
    let _claim = Claim::new(64 << 20);
    // Twice: the thread that sees to it has ended in between, perhaps.
    for _ in 0..2 {
        let region = Region::take(BYTES, HugePages::Off).expect("7 MiB of address space");
        region.release(BYTES);
        assert_eq!(pool::touched(BYTES), [BYTES]);
        let start = Instant::now();
        while !pool::touched(BYTES).is_empty() {
            assert!(start.elapsed() < Duration::from_secs(120), "it never goes");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What a region that grows has been used for goes to the next one piece by piece,
/// beyond what that has handed out, and never changes what stands there.
#[cfg(target_os = "linux")]
#[test]
fn a_region_that_grows_gets_kept_memory_where_it_has_none() {
    const BYTES: usize = 8 * PIECE;
    let start_of = |piece: usize| PLAIN + piece * PIECE;
    let _turn = TURN.lock();
    for huge in [HugePages::Off, HugePages::Transparent] {
        // At its end nothing is kept.
        let _claim = Claim::new(64 * PIECE);
        // So much was in use that all of the following may be kept.
        drop(Region::take(32 * PIECE, HugePages::Off));
        let first = Region::reserve(BYTES, huge, true).expect("address space");
        furnish(&first, 0..PLAIN);
        write(&first, 5, 9);
        for piece in 0..5 {
            furnish(&first, start_of(piece)..start_of(piece + 1));
            write(&first, start_of(piece) + 5, piece as u8 + 1);
        }
        let before = pool::touched(PIECE).len();
        first.release(start_of(4) + 6);
        assert_eq!(pool::touched(PIECE).len(), before + 5, "whole pieces");
        let second = Region::reserve(BYTES, huge, true).expect("address space");
        for at in (0..BYTES).step_by(4096) {
            furnish(&second, at..at + 4096);
            write(&second, at, (at >> 12) as u8);
        }
        assert!(
            pool::touched(PIECE).len() <= before,
            "all pieces are used again"
        );
        for at in (0..BYTES).step_by(4096) {
            assert_eq!(read(&second, at), (at >> 12) as u8);
        }
        let old = (0..7).filter(|&piece| read(&second, start_of(piece) + 5) > 0);
        assert_eq!(old.count(), 5, "the former owner's pieces, moved");
        assert_eq!(read(&second, 5), 0, "plain pages are not kept");
        second.release(BYTES);
    }
}

/// What a growing region takes next is ready by then, and clean; nobody has it for long.
#[cfg(target_os = "linux")]
#[test]
fn the_next_huge_page_is_prepared() {
    let _turn = TURN.lock();
    let wait_until = |what: &str, happens: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !happens() {
            assert!(start.elapsed() < Duration::from_secs(120), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait_until("kept memory goes", &|| pool::touched(PIECE).is_empty());
    let region = Region::reserve(8 * PIECE, HugePages::Transparent, true).expect("memory");
    furnish(&region, 0..4096);
    furnish(&region, 4096..PIECE);
    for piece in 1..5 {
        furnish(&region, piece * PIECE..(piece + 1) * PIECE);
        wait_until("one is prepared", &|| prepared_bytes() == PIECE);
        for at in [piece * PIECE, (piece + 1) * PIECE - 1] {
            assert_eq!(read(&region, at), 0);
            write(&region, at, 7);
        }
    }
    wait_until("what nobody takes goes", &|| prepared_bytes() == 0);
    region.release(5 * PIECE);
}

/// The memory of a region that was used little is not kept.
#[cfg(target_os = "linux")]
#[test]
fn a_region_of_little_use_leaves_nothing_behind() {
    let _turn = TURN.lock();
    let _claim = Claim::new(64 << 20);
    let region = Region::reserve(8 * PIECE, HugePages::Transparent, true).expect("memory");
    furnish(&region, 0..4096);
    write(&region, 0, 1);
    let before = pool::touched(PIECE).len();
    region.release(4096);
    assert_eq!(pool::touched(PIECE).len(), before);
}
