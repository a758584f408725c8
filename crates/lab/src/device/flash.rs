//! A solid state drive: many places can be read at the same time, whatever their order.
//!
//! A batch takes one latency, then whatever is longer: the latencies of the reads that found no free unit at first, or
//! the transfer of all bytes.

use super::Request;

#[derive(Debug, Clone, Copy)]
pub struct Flash {
    pub latency_ms: f64,
    /// Reads that go on at the same time.
    pub parallel: usize,
    pub bytes_per_ms: f64,
}

impl Flash {
    /// 13,000 reads of 4 KiB a second one by one, 98,000 with 32 under way, 560 MB/s.
    pub const SATA: Flash = Flash { latency_ms: 0.070, parallel: 8, bytes_per_ms: 560_000.0 };
    /// 22,000 reads of 4 KiB a second one by one, 1,000,000 with many under way, 7,000 MB/s.
    pub const NVME: Flash = Flash { latency_ms: 0.045, parallel: 45, bytes_per_ms: 7_000_000.0 };

    pub fn batch_ms(&self, batch: &[Request]) -> f64 {
        if batch.is_empty() {
            return 0.0;
        }
        let bytes: u64 = batch.iter().map(|r| r.bytes).sum();
        let waves = batch.len().div_ceil(self.parallel);
        let waiting = (waves - 1) as f64 * self.latency_ms;
        self.latency_ms + waiting.max(bytes as f64 / self.bytes_per_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(count: usize, bytes: u64) -> Vec<Request> {
        vec![Request { position: 0, bytes }; count]
    }

    #[test]
    fn latencies_overlap_and_bytes_do_not() {
        let flash = Flash { latency_ms: 2.0, parallel: 4, bytes_per_ms: 100.0 };
        assert_eq!(flash.batch_ms(&[]), 0.0);
        assert_eq!(flash.batch_ms(&batch(1, 100)), 3.0);
        assert_eq!(flash.batch_ms(&batch(4, 100)), 2.0 + 4.0);
        // Three waves: two further latencies; or 9 transfers of 1 ms.
        assert_eq!(flash.batch_ms(&batch(9, 10)), 2.0 + 4.0);
        assert_eq!(flash.batch_ms(&batch(9, 100)), 2.0 + 9.0);
    }

    #[test]
    fn the_rates_of_the_data_sheets_come_out() {
        let per_second = |flash: Flash, count: usize| count as f64 / flash.batch_ms(&batch(count, 4096)) * 1e3;
        let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 0.1, "{got} instead of {want}");
        near(per_second(Flash::SATA, 1), 13_000.0);
        near(per_second(Flash::SATA, 32), 98_000.0);
        near(per_second(Flash::NVME, 1), 22_000.0);
        near(per_second(Flash::NVME, 512), 1_000_000.0);
    }
}
