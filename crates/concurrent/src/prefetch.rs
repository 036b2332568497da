//! Prefetching: asking the processor for memory before it is needed.
//!
//! A prefetch is a hint. It changes nothing but what is cached, and any address may be
//! given. It is left out under model checkers and interpreters, and for processors that
//! this module does not support.

/// Prefetches the cache line at `at` for reading.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
#[inline(always)]
pub fn for_reading<T>(at: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch affects nothing but caches, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

/// Prefetches the cache line at `at` for reading.
#[cfg(all(target_arch = "aarch64", not(any(loom, shuttle, miri))))]
#[inline(always)]
pub fn for_reading<T>(at: *const T) {
    // SAFETY: a prefetch affects nothing but caches, whatever the address.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) at,
            options(readonly, nostack, preserves_flags)
        );
    }
}

/// Prefetches the cache line at `at` for reading.
#[cfg(any(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    any(loom, shuttle, miri)
))]
#[inline(always)]
pub fn for_reading<T>(_: *const T) {}

#[cfg(test)]
mod tests {
    use super::for_reading;

    #[test]
    fn any_address_may_be_prefetched() {
        let word = 7u64;
        for at in [&raw const word, std::ptr::null(), std::ptr::dangling()] {
            for_reading(at);
        }
        assert_eq!(word, 7);
    }
}
