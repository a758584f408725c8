//! Inner pages: children, the separators between them, and the rows below each. Drawn in `docs/format.md`.

use super::{gallop::first_not, leaf::BadPage};
use crate::page::{PAGE_HEADER, PageHeader, PageHeaderMut, PageType, TYPE_FIELDS};

/// Bytes of a child without its separator: rows, page number, end of a separator.
const CHILD: usize = 8 + 4 + 2;

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
        let heap_at = ends_at + 2 * children.saturating_sub(1);
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

    /// Page number of a child.
    pub fn child(&self, i: usize) -> u32 {
        crate::page::u32_at(self.page, PAGE_HEADER + 8 * self.children + 4 * i)
    }

    /// Rows below a child.
    pub fn rows(&self, i: usize) -> u64 {
        crate::page::u64_at(self.page, PAGE_HEADER + 8 * i)
    }

    fn end(&self, i: usize) -> usize {
        u16::from_le_bytes([self.ends[2 * i], self.ends[2 * i + 1]]) as usize
    }

    /// The separator between children `i` and `i + 1`; empty if the page's offsets are impossible.
    #[inline]
    pub fn separator(&self, i: usize) -> &'a [u8] {
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        self.heap.get(start..self.end(i)).unwrap_or(&[])
    }

    /// The child whose keys may include `key`.
    pub fn find(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.children - 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.separator(middle) <= key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Finds a child as [`Inner::find`] does, for a key that is not in a child before `from`; quick if it is near
    /// there.
    pub fn find_from(&self, key: &[u8], from: usize) -> usize {
        first_not(from, self.children - 1, 1, |i| self.separator(i) <= key)
    }

    /// The last child that may have keys below `bound` (all of them if there is no bound).
    pub fn find_last(&self, bound: Option<&[u8]>) -> usize {
        let Some(bound) = bound else { return self.children - 1 };
        let (mut low, mut high) = (0, self.children - 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.separator(middle) < bound { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub fn to_node(&self) -> InnerNode {
        let mut node = InnerNode { level: self.level(), children: Vec::with_capacity(self.children) };
        for i in 0..self.children {
            let separator = if i == 0 { Vec::new() } else { self.separator(i - 1).to_vec() };
            node.children.push(Child { separator, page: self.child(i), rows: self.rows(i) });
        }
        node
    }
}

/// A child of an inner node, with the separator on its left (not written for the first child).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub separator: Vec<u8>,
    pub page: u32,
    pub rows: u64,
}

/// An inner page taken apart, to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerNode {
    /// 1 above leaves.
    pub level: u8,
    pub children: Vec<Child>,
}

impl InnerNode {
    pub fn rows(&self) -> u64 {
        self.children.iter().map(|c| c.rows).sum()
    }

    pub fn bytes(&self) -> usize {
        bytes_of(&self.children)
    }

    /// Writes the node over the whole of `page`: header (without number and checksum) and children. It must fit.
    pub fn write(&self, page: &mut [u8]) {
        write_inner(self.level, &self.children, page);
    }

    /// The position at which to cut the children so that both sides have about the same bytes, and at least one child.
    pub fn middle(&self) -> usize {
        let half = self.bytes() / 2;
        let mut bytes = 0;
        for (i, child) in self.children.iter().enumerate() {
            bytes += CHILD + child.separator.len();
            if bytes >= half {
                return (i + 1).clamp(1, self.children.len() - 1);
            }
        }
        self.children.len() - 1
    }
}

/// Bytes that children take behind the page header.
pub fn bytes_of(children: &[Child]) -> usize {
    let separators: usize = children.iter().skip(1).map(|c| c.separator.len()).sum();
    children.len() * CHILD + separators
}

/// How many of the children fit that many bytes, at least two (or all).
pub fn count_within(children: &[Child], limit: usize) -> usize {
    let mut bytes = 0;
    for (i, child) in children.iter().enumerate() {
        bytes += CHILD + if i == 0 { 0 } else { child.separator.len() };
        if bytes > limit && i >= 2 {
            return i;
        }
    }
    children.len()
}

/// Bytes that children may take.
pub fn room(page_size: usize) -> usize {
    page_size - PAGE_HEADER
}

/// Longest key of a tree: an inner page then holds at least four separators.
pub fn max_key(page_size: usize) -> usize {
    room(page_size) / 5 - CHILD
}

/// Writes children as an inner page over the whole of `page`.
pub fn write_inner(level: u8, children: &[Child], page: &mut [u8]) {
    let n = children.len();
    page.fill(0);
    let mut header = PageHeaderMut(page);
    header.set_page_type(PageType::Inner);
    header.set_level(level);
    header.set_row_count(n as u16);
    let ends_at = PAGE_HEADER + 12 * n;
    let heap_at = ends_at + 2 * n.saturating_sub(1);
    let mut end = 0;
    for (i, child) in children.iter().enumerate() {
        page[PAGE_HEADER + 8 * i..][..8].copy_from_slice(&child.rows.to_le_bytes());
        page[PAGE_HEADER + 8 * n + 4 * i..][..4].copy_from_slice(&child.page.to_le_bytes());
        if i > 0 {
            page[heap_at + end..][..child.separator.len()].copy_from_slice(&child.separator);
            end += child.separator.len();
            page[ends_at + 2 * (i - 1)..][..2].copy_from_slice(&(end as u16).to_le_bytes());
        }
    }
    page[TYPE_FIELDS..TYPE_FIELDS + 4].copy_from_slice(&(end as u32).to_le_bytes());
}

/// The shortest beginning of `right` that is greater than `left`. `left < right`.
pub fn separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    let same = left.iter().zip(right).take_while(|(l, r)| l == r).count();
    right[..(same + 1).min(right.len())].to_vec()
}
