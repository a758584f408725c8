//! The geometry of the log: the segment of a position, its place in the segment's file, and where a group may begin.

use super::{Lsn, group::GROUP_HEADER};

/// Bytes of a segment's header; groups begin behind it.
pub(crate) const SEGMENT_HEADER: u64 = 512;
/// The fewest bytes of a segment.
pub(crate) const SEGMENT_MIN: u64 = 64 << 10;
/// The most bytes of a segment.
pub(crate) const SEGMENT_MAX: u64 = 1 << 30;

/// The size of the segments, from which all places follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    segment: u64,
}

impl Geometry {
    /// `None` if no log has segments of such a size.
    pub fn new(segment_bytes: u64) -> Option<Geometry> {
        let fits = segment_bytes.is_power_of_two() && (SEGMENT_MIN..=SEGMENT_MAX).contains(&segment_bytes);
        fits.then_some(Geometry { segment: segment_bytes })
    }

    pub fn segment_bytes(self) -> u64 {
        self.segment
    }

    /// The number of the segment that holds a position.
    pub fn segment_of(self, lsn: Lsn) -> u64 {
        lsn / self.segment
    }

    /// The position of a segment's first byte.
    pub fn start_of(self, segment: u64) -> Lsn {
        segment * self.segment
    }

    /// The place of a position in the file of its segment.
    pub fn offset(self, lsn: Lsn) -> u64 {
        lsn % self.segment
    }

    /// Bytes from a position to the end of its segment.
    pub fn rest(self, lsn: Lsn) -> u64 {
        self.segment - self.offset(lsn)
    }

    /// The first position from this one on where a group may begin: behind the header of a segment, and where there is
    /// room for the header of a group.
    pub fn place(self, lsn: Lsn) -> Lsn {
        let at = if self.rest(lsn) < GROUP_HEADER as u64 { lsn + self.rest(lsn) } else { lsn };
        if self.offset(at) < SEGMENT_HEADER { at - self.offset(at) + SEGMENT_HEADER } else { at }
    }

    /// Places a group of so many bytes behind the end of the log: returns where it begins, and where a fill goes that
    /// keeps the rest of the segment before it free.
    pub fn fit(self, end: Lsn, bytes: u64) -> (Lsn, Option<Lsn>) {
        let at = self.place(end);
        if bytes <= self.rest(at) { (at, None) } else { (self.place(at + self.rest(at)), Some(at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lie_within_a_segment_and_behind_its_header() {
        let g = Geometry::new(SEGMENT_MIN).unwrap();
        let end = SEGMENT_MIN;
        assert_eq!((g.place(0), g.place(512), g.place(end), g.place(end + 8)), (512, 512, end + 512, end + 512));
        assert_eq!((g.place(end - 32), g.place(end - 24)), (end - 32, end + 512));
        assert_eq!(g.fit(0, 40), (512, None));
        assert_eq!(g.fit(end - 40, 40), (end - 40, None));
        assert_eq!(g.fit(end - 40, 48), (end + 512, Some(end - 40)));
        assert_eq!(g.fit(end - 24, 48), (end + 512, None));
        assert_eq!((g.segment_of(end), g.offset(end + 7), g.rest(end - 1), g.start_of(3)), (1, 7, 1, 3 * end));
    }

    #[test]
    fn sizes_of_segments() {
        assert!([0, 4096, SEGMENT_MIN + 1, 2 * SEGMENT_MAX].iter().all(|&size| Geometry::new(size).is_none()));
        assert!([SEGMENT_MIN, 1 << 20, SEGMENT_MAX].iter().all(|&size| Geometry::new(size).is_some()));
    }
}
