//! Settings of the C library's allocator.
//!
//! The columns of a batch are as large as the blocks that glibc maps from the kernel one by one and unmaps when they
//! are freed: each batch would pay for system calls and page faults.

/// Blocks below this size come from memory that the allocator keeps.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES_MIN: libc::c_int = 4 << 20;
/// Bytes that the allocator keeps at the end of a heap before it returns them to the kernel.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES_MAX: libc::c_int = 8 << 20;

/// Has the allocator keep memory for the next batch. Called once, before there are threads.
pub fn keep_batches() {
    // SAFETY: both calls take numbers only and may be made at any time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES_MAX);
    }
}
