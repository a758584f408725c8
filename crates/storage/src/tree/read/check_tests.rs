//! Damage that is planted in the pages of a tree: a check finds each kind and says what it is.

use crate::tree::{
    page::inner::InnerNode,
    tests::{Home, empty_tree, home_of, number_schema},
    *,
};
use crate::{
    Counters,
    buffer_pool::PageGuardMut,
    file::{HEADER_PAGE, ROOT_PAGE},
    page::{PageHeaderMut, PageType, u16_at},
};
use muster_types::{BytesKind, SqlType, Value};

/// A tree of a few leaves, with changed rows, long values and free pages.
struct Damaged {
    tree: Tree,
    counters: Counters,
    _home: Home,
}

impl Damaged {
    fn new() -> Damaged {
        let home = home_of(4096, 64 * 4096);
        let counters = Counters::default();
        let mut schema = number_schema(&[0]);
        schema.columns[1].ty = SqlType::Bytes { kind: BytesKind::Blob, length: 65535 };
        let tree = empty_tree(&home, &schema, 0);
        let row = |n: i64, bytes: usize| vec![Value::Int(n), Value::Bytes(vec![n as u8; bytes]), Value::Int(n % 7)];
        for n in 0..300 {
            tree.insert(&row(n, if n % 50 == 7 { 6000 } else { 60 }), 1, &counters).unwrap();
        }
        // Pages of long values become free, others are encoded anew with few changes behind them.
        for n in [7, 57] {
            assert!(tree.replace(&row(n, 50), 2, &counters).unwrap());
        }
        let damaged = Damaged { tree, counters, _home: home };
        let report = damaged.tree.check(&damaged.counters).unwrap();
        let found = [report.leaf_pages, report.inner_pages, report.overflow_pages, report.free_pages];
        assert!(found.iter().all(|pages| *pages > 0) && report.lost_pages == 0, "{report:?}");
        damaged
    }

    fn page(&self, page_no: u32) -> PageGuardMut {
        self.tree.pool.fetch_mut(&self.tree.file, page_no, &self.counters).unwrap()
    }

    fn root(&self) -> InnerNode {
        let root = self.tree.fetch(ROOT_PAGE, &self.counters).unwrap();
        self.tree.inner(&root).unwrap().to_node()
    }

    fn set_root(&self, change: impl FnOnce(&mut InnerNode)) {
        let mut node = self.root();
        change(&mut node);
        let mut image = vec![0; 4096];
        node.write(&mut image);
        let mut page = self.page(ROOT_PAGE);
        page[12..].copy_from_slice(&{
            PageHeaderMut(&mut image).set_identity(ROOT_PAGE, self.tree.file.index_id());
            image[12..].to_vec()
        });
    }

    /// The number of a page of a type.
    fn page_of(&self, page_type: PageType) -> u32 {
        let pages = HEADER_PAGE + 1..self.tree.file.page_count();
        let is =
            |page_no: &u32| self.tree.fetch(*page_no, &self.counters).unwrap().header().page_type() == Some(page_type);
        pages.into_iter().find(is).unwrap()
    }

    /// A leaf with slots of rows that its base does not have.
    fn changed_leaf(&self) -> u32 {
        let leaves = self.root().children.into_iter().map(|child| child.page);
        let has_rows = |page_no: &u32| {
            let page = self.tree.fetch(*page_no, &self.counters).unwrap();
            let leaf = self.tree.leaf(&page).unwrap();
            leaf.slots().iter().filter(|slot| slot.unwrap().is_inserted()).count() > 1
        };
        leaves.into_iter().find(has_rows).unwrap()
    }

    /// The offset of the first slot in a leaf's page.
    fn first_slot(&self, page: &[u8]) -> usize {
        (u32::from_le_bytes(*page[48..].first_chunk().unwrap()) as usize).next_multiple_of(8)
    }

    /// The finding of a check, as text.
    fn finding(&self) -> String {
        self.tree.check(&self.counters).map_or_else(|e| e.to_string(), |report| format!("{report:?}"))
    }
}

/// A kind of damage: what a check says of it, and how it is made.
type Damage = (&'static str, fn(&Damaged));

const DAMAGE: [Damage; 17] = [
    ("keys out of order", |d| d.set_root(|node| node.children.swap(1, 2))),
    ("key above the high fence", |d| {
        let leaf = d.root().children[1].page;
        // The last byte of the page is that of the high fence.
        *d.page(leaf).last_mut().unwrap() ^= 1;
    }),
    ("a high fence above the one that the parent has", |d| {
        d.set_root(|node| *node.children[1].key.last_mut().unwrap() ^= 1)
    }),
    ("a high fence above the one that the parent has", |d| {
        // The parent has two children where there is one.
        d.set_root(|node| {
            let mut twice = node.children[1].clone();
            twice.key.push(0);
            node.children.insert(2, twice);
        })
    }),
    ("the page before leads elsewhere", |d| {
        let (leaf, other) = (d.root().children[0].page, d.root().children[2].page);
        d.page(leaf).header_mut().set_next(other);
    }),
    ("the page before leads elsewhere", |d| {
        let leaf = d.root().children[1].page;
        d.page(leaf).header_mut().set_next(0);
    }),
    ("the last page of a level has a right link", |d| {
        let (first, last) = (d.root().children[0].page, d.root().children.last().unwrap().page);
        d.page(last).header_mut().set_next(first);
    }),
    ("level", |d| {
        let leaf = d.root().children[1].page;
        // The level of the page's header.
        d.page(leaf)[11] = 3;
    }),
    ("keys out of order", |d| {
        // Two rows change their records.
        let leaf = d.changed_leaf();
        let mut page = d.page(leaf);
        let slots = d.first_slot(&page);
        let count = usize::from(u16_at(&page, 52));
        let records: Vec<usize> = (0..count).map(|slot| slots + slot * 24).collect();
        let (a, b) = (records[0], *records.last().unwrap());
        for byte in 0..2 {
            page.swap(a + byte, b + byte);
        }
    }),
    ("a slot of a later transaction than the page's", |d| {
        let leaf = d.changed_leaf();
        let mut page = d.page(leaf);
        let slot = d.first_slot(&page);
        page[slot + 8..slot + 16].copy_from_slice(&99_u64.to_le_bytes());
    }),
    ("bytes of records that are not accounted for", |d| {
        let leaf = d.changed_leaf();
        let mut page = d.page(leaf);
        let dead = u16_at(&page, 54) + 1;
        page[54..56].copy_from_slice(&dead.to_le_bytes());
    }),
    ("two ways lead to this page", |d| {
        let (free, leaf) = (d.tree.file.header().free_head, d.root().children[0].page);
        d.page(free).header_mut().set_next(leaf);
    }),
    ("the free list leads here, but it is not a free page", |d| {
        let free = d.tree.file.header().free_head;
        d.page(free)[10] = PageType::Overflow as u8;
    }),
    ("wrong number of free pages", |d| {
        let mut header = d.tree.pool.header_mut(&d.tree.file, &d.counters).unwrap();
        d.tree.file.update_header(&mut header, |header| header.free_count += 1);
    }),
    ("overflow", |d| {
        let long = d.page_of(PageType::Overflow);
        // The bytes of the value from this page on.
        d.page(long)[52] ^= 1;
    }),
    ("nothing leads to this page", |d| {
        d.tree.pool.new_page(&d.tree.file, PageType::Free, &d.counters).unwrap();
    }),
    // A power cut may leave room that is lost, which is no damage.
    ("lost_pages: 1", |d| {
        d.tree.pool.new_page(&d.tree.file, PageType::Overflow, &d.counters).unwrap();
    }),
];

#[test]
fn every_kind_of_damage_is_found_and_named() {
    let findings = DAMAGE.iter().enumerate().map(|(number, (finding, plant))| {
        let damaged = Damaged::new();
        plant(&damaged);
        (number, *finding, damaged.finding())
    });
    let other: Vec<_> = findings.filter(|(_, finding, found)| !found.contains(finding)).collect();
    assert!(other.is_empty(), "{other:#?}");
}

#[test]
fn a_long_value_has_its_pages_for_itself() {
    let d = Damaged::new();
    let rows = d.tree.rows(crate::key::ByteRange::default(), false, &crate::ReadView::latest(), &d.counters).unwrap();
    drop(rows);
    // The first page of one value leads on to the last page of another.
    let long: Vec<u32> = (HEADER_PAGE + 1..d.tree.file.page_count())
        .filter(|page_no| {
            let page = d.tree.fetch(*page_no, &d.counters).unwrap();
            page.header().page_type() == Some(PageType::Overflow)
        })
        .collect();
    let next_of = |page_no: u32| d.tree.fetch(page_no, &d.counters).unwrap().header().next();
    let firsts: Vec<u32> = long.iter().copied().filter(|page_no| next_of(*page_no) != 0).collect();
    let stolen = next_of(firsts[1]);
    d.page(firsts[0]).header_mut().set_next(stolen);
    assert!(d.finding().contains("two ways lead to this page"), "{}", d.finding());
}

#[test]
fn entries_of_a_unique_tree_differ() {
    let home = home_of(4096, 64 * 4096);
    let counters = Counters::default();
    let mut schema = number_schema(&[0]);
    let mut by_remainder = schema.indexes[0].clone();
    (by_remainder.id, by_remainder.unique, by_remainder.parts[0].column) = (6, false, 2);
    schema.indexes.push(by_remainder);
    let tree = empty_tree(&home, &schema, 1);
    for n in [1, 8] {
        tree.insert(&[Value::Int(1), Value::Int(n)], 1, &counters).unwrap();
    }
    tree.check(&counters).unwrap();
    schema.indexes[1].unique = true;
    let layout = std::sync::Arc::new(TreeLayout::new(&schema, 1));
    let unique =
        Tree::open(std::sync::Arc::clone(tree.pool()), None, std::sync::Arc::clone(tree.file()), layout).unwrap();
    let e = unique.check(&counters).unwrap_err().to_string();
    assert!(e.contains("two entries with the same values in a unique index"), "{e}");
    // A marked entry is not in the way.
    let key = tree.key_of_values(&[Value::Int(1), Value::Int(8)]).unwrap();
    assert!(tree.mark(&key, 2, &counters).unwrap());
    unique.check(&counters).unwrap();
}
