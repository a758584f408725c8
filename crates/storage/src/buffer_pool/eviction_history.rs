//! When pages that left the pool were last used: a table of fixed size, in which a page may lose its place to another.

use super::{frames::PageKey, page_table::mix};

/// Places for each frame of the pool; a place is 8 bytes. A set that is read in a circle is recognised up to about
/// this many times the pool.
const PLACES_PER_FRAME: usize = 8;

#[derive(Clone, Copy, Default)]
struct Place {
    /// Part of the page's hash; 0 in an empty place.
    tag: u32,
    used: u32,
}

pub(super) struct EvictionHistory {
    places: Box<[Place]>,
}

impl EvictionHistory {
    pub fn new(frames: usize) -> EvictionHistory {
        EvictionHistory { places: vec![Place::default(); (frames * PLACES_PER_FRAME).next_power_of_two()].into() }
    }

    /// A page left; it was last used at this tick.
    pub fn insert(&mut self, key: PageKey, used: u32) {
        let (place, tag) = self.place(key);
        self.places[place] = Place { tag, used };
    }

    /// When a page was last used, if it is known.
    pub fn last_used(&self, key: PageKey) -> Option<u32> {
        let (place, tag) = self.place(key);
        Some(self.places[place]).filter(|place| place.tag == tag).map(|place| place.used)
    }

    fn place(&self, key: PageKey) -> (usize, u32) {
        let hash = mix(key.0);
        (hash as usize & (self.places.len() - 1), (hash >> 32) as u32 | 1)
    }
}
