//! The part table.

use super::{
    stream::Stream,
    vocabulary::{COLORS, CONTAINER_WORDS, TYPE_WORDS},
};
use std::{fmt, ops::Range};

/// One part. Manufacturer, category and brand are numbers here; their texts are `MFGR#m`, `MFGR#mc` and `MFGR#mcb`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub key: u64,
    pub name: [&'static str; 2],
    pub manufacturer: i64,
    pub category: i64,
    pub brand: i64,
    pub color: &'static str,
    /// Position among all combinations of [`TYPE_WORDS`].
    pub type_index: usize,
    pub size: i64,
    /// Position among all combinations of [`CONTAINER_WORDS`].
    pub container_index: usize,
}

impl Part {
    pub fn name(&self) -> String {
        self.name.join(" ")
    }

    pub fn manufacturer(&self) -> String {
        format!("MFGR#{}", self.manufacturer)
    }

    pub fn category(&self) -> String {
        format!("MFGR#{}{}", self.manufacturer, self.category)
    }

    /// The brand number is not padded, so text order is not number order.
    pub fn brand(&self) -> String {
        format!("{}{}", self.category(), self.brand)
    }

    pub fn type_name(&self) -> String {
        let i = self.type_index;
        [TYPE_WORDS[0][i / 25], TYPE_WORDS[1][i / 5 % 5], TYPE_WORDS[2][i % 5]].join(" ")
    }

    pub fn container(&self) -> String {
        let i = self.container_index;
        [CONTAINER_WORDS[0][i / 8], CONTAINER_WORDS[1][i % 8]].join(" ")
    }
}

/// Parts `range` (positions from 0), of any scale.
pub fn rows(range: Range<u64>) -> impl Iterator<Item = Part> {
    let n = range.start;
    // Manufacturer and category share a stream in the classic generator, and so does the digit of cities.
    let mut manufacturer = Stream::at(1, 2 * n);
    let mut brand = Stream::at(46_831_694, n);
    let mut kind = Stream::at(1_841_581_359, n);
    let mut size = Stream::at(1_193_163_244, n);
    let mut container = Stream::at(727_633_698, n);
    let mut name = Stream::at(709_314_158, COLORS.len() as u64 * n);
    range.map(move |n| {
        let m = manufacturer.uniform(1, 5);
        let c = manufacturer.uniform(1, 5);
        let mut shuffled: [usize; COLORS.len()] = std::array::from_fn(|i| i);
        for i in 0..COLORS.len() {
            shuffled.swap(i, name.uniform(0, COLORS.len() as i64 - 1) as usize);
        }
        Part {
            key: n + 1,
            name: [COLORS[shuffled[1]], COLORS[shuffled[2]]],
            manufacturer: m,
            category: c,
            brand: brand.uniform(1, 40),
            color: COLORS[shuffled[0]],
            type_index: kind.uniform(1, 150) as usize - 1,
            size: size.uniform(1, 50),
            container_index: container.uniform(1, 40) as usize - 1,
        }
    })
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (m, c, b) = (self.manufacturer(), self.category(), self.brand());
        let (t, k) = (self.type_name(), self.container());
        write!(f, "{}|{}|{m}|{c}|{b}|{}|{t}|{}|{k}|", self.key, self.name(), self.color, self.size)
    }
}
