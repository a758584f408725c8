//! Requests to the processor beyond plain code: memory ahead of its use, and wide registers if it has them.

/// Bytes that move between memory and the processor's caches at once.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// Asks for bytes that will be read soon, and does not wait for them.
#[inline]
pub fn load_ahead(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(CACHE_LINE) {
        // SAFETY: the address is that of a byte of the slice, and the instruction changes nothing that a program sees.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Runs a short loop, compiled for the registers of 32 bytes (AVX2) if this processor has them. The closure must be
/// inlined for that, so it calls nothing but what is inlined itself.
#[inline(always)]
pub fn in_wide_registers<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        fn with_avx2<R>(run: impl FnOnce() -> R) -> R {
            run()
        }
        if has_avx2() {
            // SAFETY: the processor has these instructions.
            return unsafe { with_avx2(run) };
        }
    }
    run()
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_mean_the_same_in_all_registers() {
        let bytes: Vec<u8> = (0..1000).map(|i| (i * 7 % 256) as u8).collect();
        load_ahead(&bytes);
        load_ahead(&[]);
        let sum = |bytes: &[u8]| bytes.iter().map(|b| u64::from(*b)).sum::<u64>();
        assert_eq!(in_wide_registers(|| sum(&bytes)), sum(&bytes));
    }
}
