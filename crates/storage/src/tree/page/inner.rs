//! Inner pages: children, the keys between and around them, and the rows below each. Drawn in `docs/format.md`.

use super::{
    gallop::first_not,
    leaf::{BadPage, Fences},
};
use crate::page::{PAGE_HEADER, PageHeader, PageHeaderMut, PageType, TYPE_FIELDS};

/// Bytes of a child without its key: rows, page number, end of a key.
const CHILD: usize = 8 + 4 + 2;
/// Bytes of the end of the last key.
const LAST_END: usize = 2;
/// The offset of the flag that says that there is no high fence.
const NO_HIGH_FENCE: usize = TYPE_FIELDS + 4;

/// An inner page as bytes.
#[derive(Debug, Clone, Copy)]
pub struct Inner<'a> {
    page: &'a [u8],
    children: usize,
    ends: &'a [u8],
    heap: &'a [u8],
}

impl<'a> Inner<'a> {
    pub fn new(page: &'a [u8]) -> Result<Inner<'a>, BadPage> {
        let header = PageHeader(page);
        if header.page_type() != Some(PageType::Inner) || header.level() == 0 {
            return Err(BadPage("not an inner page"));
        }
        let children = header.row_count() as usize;
        let heap_bytes = crate::page::u32_at(page, TYPE_FIELDS) as usize;
        let ends_at = PAGE_HEADER + 12 * children;
        let heap_at = ends_at + 2 * (children + 1);
        if children == 0 || heap_at > page.len() || heap_bytes > page.len() - heap_at {
            return Err(BadPage("children outside of the page"));
        }
        let (ends, heap) = (&page[ends_at..heap_at], &page[heap_at..heap_at + heap_bytes]);
        Ok(Inner { page, children, ends, heap })
    }

    pub fn children(&self) -> usize {
        self.children
    }

    pub fn level(&self) -> u8 {
        PageHeader(self.page).level()
    }

    /// The next page on this level; 0 if there is none.
    pub fn right(&self) -> u32 {
        PageHeader(self.page).next()
    }

    /// Page number of a child.
    pub fn child(&self, i: usize) -> u32 {
        crate::page::u32_at(self.page, PAGE_HEADER + 8 * self.children + 4 * i)
    }

    /// Rows below a child, about.
    pub fn rows(&self, i: usize) -> u64 {
        crate::page::u64_at(self.page, PAGE_HEADER + 8 * i)
    }

    fn end(&self, i: usize) -> usize {
        u16::from_le_bytes([self.ends[2 * i], self.ends[2 * i + 1]]) as usize
    }

    /// Key `i`: keys below child `i` are not less. Key 0 is the low fence. Empty if the page's offsets are impossible.
    #[inline]
    pub fn key(&self, i: usize) -> &'a [u8] {
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        self.heap.get(start..self.end(i)).unwrap_or(&[])
    }

    /// The bound of the keys below a child; `None` if there is none: the last child of the last page of its level.
    pub fn key_behind(&self, i: usize) -> Option<&'a [u8]> {
        (i + 1 < self.children || self.page[NO_HIGH_FENCE] == 0).then(|| self.key(i + 1))
    }

    pub fn fences(&self) -> Fences<'a> {
        Fences { low: self.key(0), high: self.key_behind(self.children - 1) }
    }

    /// The child whose keys may include `key`.
    pub fn find(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.children - 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle + 1) <= key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Finds a child as [`Inner::find`] does, for a key that is not in a child before `from`; quick if it is near
    /// there.
    pub fn find_from(&self, key: &[u8], from: usize) -> usize {
        first_not(from, self.children - 1, 1, |i| self.key(i + 1) <= key)
    }

    /// The last child that may have keys below `bound` (all of them if there is no bound).
    pub fn find_last(&self, bound: Option<&[u8]>) -> usize {
        let Some(bound) = bound else { return self.children - 1 };
        let (mut low, mut high) = (0, self.children - 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle + 1) < bound { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub fn to_node(&self) -> InnerNode {
        let child = |i| Child { key: self.key(i).to_vec(), page: self.child(i), rows: self.rows(i) };
        InnerNode {
            level: self.level(),
            children: (0..self.children).map(child).collect(),
            high: self.fences().high.map(<[u8]>::to_vec),
            right: self.right(),
        }
    }
}

/// A child of an inner node, with the key on its left; that of the first child is the low fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub key: Vec<u8>,
    pub page: u32,
    pub rows: u64,
}

/// An inner page taken apart, to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerNode {
    /// 1 above leaves.
    pub level: u8,
    pub children: Vec<Child>,
    pub high: Option<Vec<u8>>,
    /// The next page on the level; 0 if there is none.
    pub right: u32,
}

impl InnerNode {
    pub fn rows(&self) -> u64 {
        self.children.iter().map(|c| c.rows).sum()
    }

    pub fn bytes(&self) -> usize {
        bytes_of(&self.children) + self.high.as_ref().map_or(0, Vec::len)
    }

    /// The child that has the key.
    pub fn find(&self, key: &[u8]) -> usize {
        self.children[1..].partition_point(|child| child.key.as_slice() <= key)
    }

    /// The bound of the keys below a child; `None` if there is none.
    pub fn key_behind(&self, child: usize) -> Option<&[u8]> {
        match self.children.get(child + 1) {
            Some(next) => Some(&next.key),
            None => self.high.as_deref(),
        }
    }

    /// The node as its parent has it.
    pub fn as_child(&self, page: u32) -> Child {
        Child { key: self.children[0].key.clone(), page, rows: self.rows() }
    }

    /// Writes the node over the whole of `page`: header (without number and checksum), children and keys. It must fit.
    pub fn write(&self, page: &mut [u8]) {
        write_inner(self.level, &self.children, self.high.as_deref(), self.right, page);
    }

    /// Moves the upper half, by bytes, to a node of its own, whose page number will be `right`.
    pub fn split(&mut self, right: u32) -> InnerNode {
        let children = self.children.split_off(self.middle());
        let high = self.high.replace(children[0].key.clone());
        let upper = InnerNode { level: self.level, children, high, right: self.right };
        self.right = right;
        upper
    }

    /// The position at which to cut the children so that both sides have about the same bytes, and at least one child.
    fn middle(&self) -> usize {
        let half = self.bytes() / 2;
        let mut bytes = 0;
        for (i, child) in self.children.iter().enumerate() {
            bytes += CHILD + child.key.len();
            if bytes >= half {
                return (i + 1).clamp(1, self.children.len() - 1);
            }
        }
        self.children.len() - 1
    }
}

/// Bytes that children and the keys on their left take behind the page header.
fn bytes_of(children: &[Child]) -> usize {
    LAST_END + children.iter().map(|c| CHILD + c.key.len()).sum::<usize>()
}

/// How many of the children fit that many bytes with the key behind them, at least two (or all).
pub fn count_within(children: &[Child], limit: usize) -> usize {
    let mut bytes = LAST_END;
    for (i, child) in children.iter().enumerate() {
        if i > 2 && bytes + child.key.len() > limit {
            return i - 1;
        }
        bytes += CHILD + child.key.len();
    }
    children.len() - usize::from(bytes > limit && children.len() > 2)
}

/// Bytes that children and keys may take.
pub fn room(page_size: usize) -> usize {
    page_size - PAGE_HEADER
}

/// Longest key of a tree: an inner page then holds at least five keys, those around it included.
pub fn max_key(page_size: usize) -> usize {
    room(page_size) / 5 - CHILD
}

/// Writes children as an inner page over the whole of `page`.
pub fn write_inner(level: u8, children: &[Child], high: Option<&[u8]>, right: u32, page: &mut [u8]) {
    let n = children.len();
    page.fill(0);
    let mut header = PageHeaderMut(page);
    header.set_page_type(PageType::Inner);
    header.set_level(level);
    header.set_row_count(n as u16);
    header.set_next(right);
    let ends_at = PAGE_HEADER + 12 * n;
    let heap_at = ends_at + 2 * (n + 1);
    let mut end = 0;
    let keys = children.iter().map(|child| child.key.as_slice()).chain([high.unwrap_or(&[])]);
    for (i, key) in keys.enumerate() {
        page[heap_at + end..][..key.len()].copy_from_slice(key);
        end += key.len();
        page[ends_at + 2 * i..][..2].copy_from_slice(&(end as u16).to_le_bytes());
    }
    for (i, child) in children.iter().enumerate() {
        page[PAGE_HEADER + 8 * i..][..8].copy_from_slice(&child.rows.to_le_bytes());
        page[PAGE_HEADER + 8 * n + 4 * i..][..4].copy_from_slice(&child.page.to_le_bytes());
    }
    page[TYPE_FIELDS..TYPE_FIELDS + 4].copy_from_slice(&(end as u32).to_le_bytes());
    page[NO_HIGH_FENCE] = u8::from(high.is_none());
}

/// The shortest beginning of `right` that is greater than `left`. `left < right`.
pub fn separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    let same = left.iter().zip(right).take_while(|(l, r)| l == r).count();
    right[..(same + 1).min(right.len())].to_vec()
}
