//! Asking the processor for memory before it is needed.
//!
//! A hint: it changes what is cached and nothing else, may be given for any
//! address, and is left out where a checker or an interpreter runs the code,
//! and for processors that this module does not know.

/// Asks for the line at `at`, to read it.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
#[inline(always)]
pub fn for_reading<T>(at: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no effect but on caches, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

/// Asks for the line at `at`, to read it.
#[cfg(all(target_arch = "aarch64", not(any(loom, shuttle, miri))))]
#[inline(always)]
pub fn for_reading<T>(at: *const T) {
    // SAFETY: a prefetch has no effect but on caches, whatever the address.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) at,
            options(readonly, nostack, preserves_flags)
        );
    }
}

/// Asks for the line at `at`, to read it.
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
    fn any_address_may_be_asked_for() {
        let word = 7u64;
        for at in [&raw const word, std::ptr::null(), std::ptr::dangling()] {
            for_reading(at);
        }
        assert_eq!(word, 7);
    }
}
