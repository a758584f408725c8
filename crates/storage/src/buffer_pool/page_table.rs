//! From page to frame: a hash table in shards, each with its own lock.

use super::frames::PageKey;
use crate::mutex::{Mutex, MutexGuard};
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

const SHARDS: usize = 64;

/// Multiplicative hashing; page numbers are no secret and nobody chooses them to collide.
#[derive(Default)]
pub(super) struct PageHasher(u64);

/// A hash of which all bits are good.
pub(super) fn mix(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    (product as u64) ^ (product >> 64) as u64
}

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = mix(key);
    }
}

#[derive(Default)]
pub(super) struct Shard {
    pub frames: HashMap<PageKey, u32, BuildHasherDefault<PageHasher>>,
    /// Requests that found their page.
    pub hits: u64,
}

#[repr(align(64))]
#[derive(Default)]
struct Line(Mutex<Shard>);

pub(super) struct PageTable {
    shards: Box<[Line]>,
}

impl PageTable {
    pub fn new() -> PageTable {
        PageTable { shards: (0..SHARDS).map(|_| Line::default()).collect() }
    }

    /// Never blocks on a latch or on I/O while it is held.
    #[inline]
    pub fn shard(&self, key: PageKey) -> MutexGuard<'_, Shard> {
        // Bits that the table inside does not use: it takes the lowest and the seven highest.
        self.shards[(mix(key.0) >> 48) as usize % SHARDS].0.lock()
    }

    pub fn hits(&self) -> u64 {
        self.shards.iter().map(|line| line.0.lock().hits).sum()
    }
}
