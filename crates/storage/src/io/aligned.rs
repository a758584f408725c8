//! Memory for direct I/O: zeroed, aligned to [`super::ALIGN`].

use super::ALIGN;
use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

/// A fixed number of aligned bytes.
pub struct AlignedBuf {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is owned by this value alone, like a `Box<[u8]>`.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared references only read.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// `bytes` is above 0; it is rounded up to a multiple of [`ALIGN`].
    pub fn zeroed(bytes: usize) -> AlignedBuf {
        let bytes = bytes.max(1).next_multiple_of(ALIGN);
        let layout = Self::layout(bytes);
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc_zeroed(layout) };
        match NonNull::new(start) {
            Some(start) => AlignedBuf { start, bytes },
            None => handle_alloc_error(layout),
        }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, ALIGN).expect("buffers are far smaller than isize::MAX")
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `bytes` initialised bytes that this value owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len())
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with the same layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_and_zeroed() {
        let mut buf = AlignedBuf::zeroed(5000);
        assert_eq!((buf.len(), buf.as_ptr() as usize % ALIGN), (8192, 0));
        assert!(buf.iter().all(|&b| b == 0));
        buf[8191] = 1;
        assert_eq!(buf.iter().map(|&b| u32::from(b)).sum::<u32>(), 1);
    }
}
