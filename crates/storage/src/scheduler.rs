//! Requests to the kernel's scheduler.

/// The turn that a thread asks for, in nanoseconds: the shortest that the kernel gives.
#[cfg(target_os = "linux")]
const SHORT_TURN: u64 = 100_000;

/// Has the kernel give the calling thread short turns on a processor. A thread that asks for little at a time gets it sooner after it wakes,
/// where others compete for the processors, and takes no more of them than before (Linux 6.12 and newer, "EEVDF"; older kernels
/// ignore it, and so does this function what they answer).
pub(crate) fn ask_for_short_turns() {
    #[cfg(target_os = "linux")]
    {
        let size = size_of::<libc::sched_attr>() as libc::c_uint;
        // SAFETY: the struct has numbers only, for which zeros are values.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        // SAFETY: 0 is the calling thread; the kernel writes `size` bytes at most, which the struct has.
        let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        if known == 0 && attributes.sched_policy == libc::SCHED_OTHER as u32 {
            attributes.size = size;
            attributes.sched_flags = 0;
            attributes.sched_runtime = SHORT_TURN;
            // SAFETY: 0 is the calling thread; the kernel reads `size` bytes, which the struct has.
            unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        }
    }
}
