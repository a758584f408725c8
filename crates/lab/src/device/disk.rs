//! A disk with one arm.
//!
//! Seek time grows with the square root of the distance (Ruemmler and Wilkes, "An introduction to disk drive
//! modeling", 1994, for the accelerating arm; the linear part of long seeks is left out). Over random pairs of places
//! the mean of the root of the distance is 8/15 of the whole stroke's, which gives the curve from two figures of a data
//! sheet. A seek is followed by half a revolution.
//!
//! A gap ahead of the head is passed over if that is faster than seeking: the drive reads on into its cache.
//!
//! The drive serves what is under way together, at most `queue` requests at a time, in one sweep upwards from where the
//! head is. It is not credited with ordering by rotation; real drives do somewhat better.

use super::Request;

#[derive(Debug, Clone, Copy)]
pub struct Disk {
    pub capacity_bytes: u64,
    pub neighbour_seek_ms: f64,
    /// Over random pairs of places.
    pub average_seek_ms: f64,
    pub revolution_ms: f64,
    pub bytes_per_ms: f64,
    /// Requests that the drive orders among each other (native command queueing).
    pub queue: usize,
}

impl Disk {
    /// A drive for servers of about 2012.
    pub const RPM_7200: Disk = Disk {
        capacity_bytes: 1_000_000_000_000,
        neighbour_seek_ms: 1.0,
        average_seek_ms: 8.2,
        revolution_ms: 60_000.0 / 7_200.0,
        bytes_per_ms: 150_000.0,
        queue: 32,
    };

    /// Moving the arm over so many bytes.
    fn seek_ms(&self, distance: u64) -> f64 {
        let root = (distance as f64 / self.capacity_bytes as f64).sqrt();
        self.neighbour_seek_ms + (self.average_seek_ms - self.neighbour_seek_ms) * 15.0 / 8.0 * root
    }

    /// Bringing the head from where it is to a place.
    fn position_ms(&self, head: u64, place: u64) -> f64 {
        let jump = self.seek_ms(head.abs_diff(place)) + self.revolution_ms / 2.0;
        match place.checked_sub(head) {
            Some(gap) => jump.min(gap as f64 / self.bytes_per_ms),
            None => jump,
        }
    }

    /// Milliseconds for batches one after the other, the head at the beginning of the disk.
    pub fn serve_ms(&self, batches: impl Iterator<Item = Vec<Request>>) -> f64 {
        let (mut head, mut ms) = (0, 0.0);
        for mut batch in batches {
            for queued in batch.chunks_mut(self.queue) {
                queued.sort_unstable_by_key(|r| (r.position < head, r.position));
                for request in queued {
                    ms += self.position_ms(head, request.position) + request.bytes as f64 / self.bytes_per_ms;
                    head = request.position + request.bytes;
                }
            }
        }
        ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round numbers: 100 bytes of a disk, 1 byte a millisecond.
    const DISK: Disk = Disk {
        capacity_bytes: 10_000,
        neighbour_seek_ms: 2.0,
        average_seek_ms: 10.0,
        revolution_ms: 6.0,
        bytes_per_ms: 10.0,
        queue: 3,
    };

    fn serve(batches: &[&[u64]]) -> f64 {
        let request = |position: &u64| Request { position: *position, bytes: 100 };
        DISK.serve_ms(batches.iter().map(|b| b.iter().map(request).collect()))
    }

    #[test]
    fn the_curve_has_the_average_of_the_data_sheet() {
        assert_eq!(DISK.seek_ms(0), 2.0);
        assert_eq!(DISK.seek_ms(2_500), 2.0 + 15.0 * 0.5);
        let (mut sum, n) = (0.0, 400u64);
        for a in 0..n {
            for b in 0..n {
                sum += DISK.seek_ms(a.abs_diff(b) * DISK.capacity_bytes / n);
            }
        }
        let average = sum / (n * n) as f64;
        assert!((average - DISK.average_seek_ms).abs() < 0.05, "{average}");
    }

    #[test]
    fn neighbours_cost_transfer_only() {
        assert_eq!(serve(&[&[0], &[100], &[200]]), 30.0);
        // A short gap is read over: 50 bytes in 5 ms.
        assert_eq!(serve(&[&[0], &[150]]), 25.0);
        // A long one is not: 900 bytes would be 90 ms.
        assert_eq!(serve(&[&[0], &[1_000]]), 20.0 + 2.0 + 15.0 * 0.3 + 3.0);
        // Going back costs a seek, however short.
        assert_eq!(serve(&[&[2_500], &[100]]), 2.0 * (2.0 + 7.5 + 3.0) + 20.0 - 15.0 * (0.5 - 0.5));
    }

    #[test]
    fn a_sweep_orders_what_is_queued() {
        assert_eq!(serve(&[&[200, 0, 100]]), 30.0);
        // From 250 on upwards first, then the rest.
        let there_and_back = serve(&[&[150], &[300, 0, 250]]);
        assert_eq!(there_and_back, 15.0 + 10.0 + 20.0 + (2.0 + 15.0 * 0.2 + 3.0) + 10.0);
        // Only three at a time.
        assert!(serve(&[&[300, 200, 100, 0]]) > serve(&[&[0, 100, 200, 300]]));
    }
}
