//! A disk with one arm.
//!
//! Seek time grows with the square root of the distance (Ruemmler and Wilkes, "An introduction to disk drive
//! modeling", 1994, for the accelerating arm; the linear part of long seeks is left out). Over random pairs of places
//! the mean of the root of the distance is 8/15 of the whole stroke's, which gives the curve from two figures of a data
//! sheet. A seek is followed by half a revolution if the drive has nothing else to choose from.
//!
//! A gap ahead of the head is passed over if that is faster than seeking: the drive reads on into its cache.
//!
//! The drive serves what is under way together, at most `queue` requests at a time, in one sweep upwards from where the
//! head is. With q of them left it waits 1 / (1 + sqrt(q)) of a revolution, for it may take those first that come by
//! first. The root is a fit: over the whole disk 32 requests under way are served 2.3 times as fast as one by one, as
//! tests of such drives find.

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

    /// Bringing the head from where it is to a place, with so many requests to choose from.
    fn position_ms(&self, head: u64, place: u64, queued: usize) -> f64 {
        let rotation = self.revolution_ms / (1.0 + (queued as f64).sqrt());
        let jump = self.seek_ms(head.abs_diff(place)) + rotation;
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
                for (left, request) in (1..=queued.len()).rev().zip(queued.iter()) {
                    ms += self.position_ms(head, request.position, left) + request.bytes as f64 / self.bytes_per_ms;
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

    /// Round numbers.
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
        assert_eq!(serve(&[&[2_500], &[100]]), 2.0 * (2.0 + 7.5 + 3.0) + 20.0);
    }

    #[test]
    fn a_queue_doubles_the_rate() {
        let disk = Disk::RPM_7200;
        let mut random = 1u64;
        let places = (0..3_200).map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 32) * (disk.capacity_bytes >> 32)
        });
        let requests: Vec<Request> = places.map(|position| Request { position, bytes: 4096 }).collect();
        let in_batches = |n: usize| disk.serve_ms(requests.chunks(n).map(<[Request]>::to_vec));
        let (one, many) = (in_batches(1), in_batches(32));
        assert!((11.0..14.0).contains(&(one / 3_200.0)), "{one}");
        assert!((2.0..2.8).contains(&(one / many)), "{one} {many}");
    }

    #[test]
    fn a_sweep_orders_what_is_queued() {
        assert_eq!(serve(&[&[200, 0, 100]]), 30.0);
        // From 150 on upwards first, over a gap of 50, then the rest.
        let there_and_back = serve(&[&[50], &[300, 0, 150]]);
        assert_eq!(there_and_back, (5.0 + 10.0) + 10.0 + (5.0 + 10.0) + (2.0 + 15.0 * 0.2 + 3.0) + 10.0);
        // Two to choose from wait less than half a revolution.
        let two = (2.0 + 15.0 * 0.2 + 6.0 / (1.0 + 2f64.sqrt())) + (2.0 + 15.0 * 0.3 + 3.0) + 20.0;
        assert!((serve(&[&[1_400, 400]]) - two).abs() < 1e-9);
        // Only three at a time.
        assert!(serve(&[&[300, 200, 100, 0]]) > serve(&[&[0, 100, 200, 300]]));
    }
}
