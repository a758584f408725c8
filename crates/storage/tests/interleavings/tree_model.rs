//! A model of the protocol of the trees (`src/tree`): a root and leaves of few keys, whose latches are locks of the
//! model checker. A page that came by a split is posted by a step of its own, neighbours that the root knows are
//! merged, freed pages are used again.

use shuttle::{
    sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread,
};

/// Keys are below this; it stands for the high fence that the last leaf does not have.
pub const END: u8 = u8::MAX;
const PAGES: usize = 10;
const MAX_KEYS: usize = 2;

/// The step of the protocol that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedFault {
    None,
    /// A post does not look whether the page is still there.
    PostUnseen,
    /// A reader does not look at the fences of a leaf whose number it remembered.
    TrustPageNumbers,
    /// A key that moves: who holds a leaf waits for the root.
    WaitUpward,
}

#[derive(Debug, Clone)]
struct Leaf {
    low: u8,
    high: u8,
    right: usize,
    keys: Vec<u8>,
}

/// A child of the root, with the key on its left.
type Child = (u8, usize);

pub struct Tree {
    root: RwLock<Vec<Child>>,
    /// `None`: a free page.
    leaves: [RwLock<Option<Leaf>>; PAGES],
    free: Mutex<Vec<usize>>,
    fault: PlantedFault,
}

fn child_of(root: &[Child], key: u8) -> usize {
    root.partition_point(|child| child.0 <= key) - 1
}

fn leaf(page: &Option<Leaf>) -> &Leaf {
    page.as_ref().expect("a free page was reached as a leaf")
}

fn leaf_mut(page: &mut Option<Leaf>) -> &mut Leaf {
    page.as_mut().expect("a free page was reached as a leaf")
}

impl Tree {
    pub fn new(fault: PlantedFault) -> Arc<Tree> {
        let leaves = [(); PAGES].map(|()| RwLock::new(None));
        *leaves[0].write().unwrap() = Some(Leaf { low: 0, high: END, right: 0, keys: Vec::new() });
        let free = Mutex::new((1..PAGES).rev().collect());
        Arc::new(Tree { root: RwLock::new(vec![(0, 0)]), leaves, free, fault })
    }

    fn write(&self, page: usize) -> RwLockWriteGuard<'_, Option<Leaf>> {
        self.leaves[page].write().unwrap()
    }

    /// Follows right links, each page latched before the one before is let go.
    fn move_right<'a>(
        &'a self,
        mut page: RwLockWriteGuard<'a, Option<Leaf>>,
        key: u8,
    ) -> (RwLockWriteGuard<'a, Option<Leaf>>, bool) {
        let mut crossed = false;
        while key >= leaf(&page).high {
            page = self.write(leaf(&page).right);
            crossed = true;
        }
        (page, crossed)
    }

    fn descend_mut(&self, key: u8) -> (RwLockWriteGuard<'_, Option<Leaf>>, bool) {
        let root = self.root.read().unwrap();
        let page = self.write(root[child_of(&root, key)].1);
        drop(root);
        self.move_right(page, key)
    }

    pub fn contains(&self, key: u8) -> bool {
        let root = self.root.read().unwrap();
        let mut page = self.leaves[root[child_of(&root, key)].1].read().unwrap();
        drop(root);
        while key >= leaf(&page).high {
            page = self.leaves[leaf(&page).right].read().unwrap();
        }
        leaf(&page).keys.contains(&key)
    }

    pub fn insert(&self, key: u8) {
        loop {
            let (mut page, crossed) = self.descend_mut(key);
            let posts = match leaf(&page).keys.len() < MAX_KEYS {
                true => {
                    add(&mut page, key);
                    None
                }
                false => Some(self.split(&mut page)),
            };
            drop(page);
            match posts {
                None if crossed => return self.post((key, PAGES)),
                None => return,
                Some(child) if self.fault == PlantedFault::PostUnseen => self.post_unseen(child),
                Some(child) => self.post(child),
            }
        }
    }

    /// Moves the upper half of a leaf's keys to a free page.
    fn split(&self, page: &mut Option<Leaf>) -> Child {
        let new = self.free.lock().unwrap().pop().expect("the model has pages enough");
        let mut right = self.write(new);
        let left = leaf_mut(page);
        let keys = left.keys.split_off(left.keys.len() / 2);
        let low = keys[0];
        *right = Some(Leaf { low, high: left.high, right: left.right, keys });
        (left.high, left.right) = (low, new);
        (low, new)
    }

    /// Makes the root know what is behind its child for a key.
    fn post(&self, (key, _): Child) {
        let mut root = self.root.write().unwrap();
        let at = child_of(&root, key);
        let bound = root.get(at + 1).map_or(END, |next| next.0);
        let mut page = self.leaves[root[at].1].read().unwrap();
        let mut unposted = Vec::new();
        while leaf(&page).high != bound {
            let child = (leaf(&page).high, leaf(&page).right);
            assert!(child.0 < bound, "the root has a child that is no more");
            page = self.leaves[child.1].read().unwrap();
            assert_eq!(leaf(&page).low, child.0);
            unposted.push(child);
        }
        drop(page);
        root.splice(at + 1..at + 1, unposted);
    }

    fn post_unseen(&self, child: Child) {
        let mut root = self.root.write().unwrap();
        let at = child_of(&root, child.0) + 1;
        root.insert(at, child);
    }

    pub fn delete(&self, key: u8) {
        let (mut page, _) = self.descend_mut(key);
        leaf_mut(&mut page).keys.retain(|k| *k != key);
        drop(page);
        self.merge(key);
    }

    /// Merges the leaf of a key with a neighbour that the root knows too, if both fit one page.
    fn merge(&self, key: u8) {
        let mut root = self.root.write().unwrap();
        let at = child_of(&root, key);
        for left in [Some(at), at.checked_sub(1)].into_iter().flatten() {
            let Some(&(low, gone)) = root.get(left + 1) else { continue };
            let (mut l, mut r) = (self.write(root[left].1), self.write(gone));
            let is_posted = leaf(&l).high == low;
            if !is_posted || leaf(&l).keys.len() + leaf(&r).keys.len() > MAX_KEYS {
                continue;
            }
            let Leaf { high, right, mut keys, .. } = r.take().expect("the root knows it");
            let l = leaf_mut(&mut l);
            l.keys.append(&mut keys);
            (l.high, l.right) = (high, right);
            root.remove(left + 1);
            self.free.lock().unwrap().push(gone);
            return;
        }
    }

    /// Moves a key: at no moment that a reader of both leaves could see are both keys there, or neither.
    pub fn relocate(&self, from: u8, to: u8) {
        let (lower, upper) = (from.min(to), from.max(to));
        loop {
            let (mut left, _) = self.descend_mut(lower);
            if upper < leaf(&left).high {
                leaf_mut(&mut left).keys.retain(|k| *k != from);
                if leaf(&left).keys.len() < MAX_KEYS {
                    return add(&mut left, to);
                }
                leaf_mut(&mut left).keys.push(from);
                leaf_mut(&mut left).keys.sort_unstable();
                let child = self.split(&mut left);
                drop(left);
                self.post(child);
                continue;
            }
            let Some(mut right) = self.leaf_from(leaf(&left), upper) else {
                drop(left);
                drop(self.root.read().unwrap());
                thread::yield_now();
                continue;
            };
            let (old, new) = if from < to { (&mut left, &mut right) } else { (&mut right, &mut left) };
            if leaf(new).keys.len() < MAX_KEYS {
                leaf_mut(old).keys.retain(|k| *k != from);
                return add(new, to);
            }
            let child = self.split(new);
            drop((left, right));
            self.post(child);
        }
    }

    /// The leaf of a key, to the right of a leaf that the caller holds. The root is not waited for.
    fn leaf_from(&self, held: &Leaf, key: u8) -> Option<RwLockWriteGuard<'_, Option<Leaf>>> {
        let root = match self.fault {
            PlantedFault::WaitUpward => self.root.read().unwrap(),
            _ => self.root.try_read().ok()?,
        };
        let (low, known) = root[child_of(&root, key)];
        let page = self.write(if low > held.low { known } else { held.right });
        drop(root);
        Some(self.move_right(page, key).0)
    }

    /// All keys in order: leaves are planned from the root and latched one by one, as scans do.
    pub fn scan(&self) -> Vec<u8> {
        let (mut keys, mut from) = (Vec::new(), 0);
        while from < END {
            let plan = self.root.read().unwrap().clone();
            let first = from;
            for (low, page) in plan.into_iter().filter(|(low, _)| *low >= first) {
                let page: RwLockReadGuard<'_, Option<Leaf>> = self.leaves[page].read().unwrap();
                let Some(planned) = &*page else { break };
                if (planned.low != low || low != from) && self.fault != PlantedFault::TrustPageNumbers {
                    break;
                }
                keys.extend(planned.keys.iter().filter(|key| **key >= from));
                from = planned.high;
            }
            if from < END {
                from = self.rest_of(from, &mut keys);
            }
        }
        keys
    }

    /// Reads the leaf that has a key, from this on. Returns where it ends.
    fn rest_of(&self, from: u8, keys: &mut Vec<u8>) -> u8 {
        let root = self.root.read().unwrap();
        let mut page = self.leaves[root[child_of(&root, from)].1].read().unwrap();
        drop(root);
        while from >= leaf(&page).high {
            page = self.leaves[leaf(&page).right].read().unwrap();
        }
        keys.extend(leaf(&page).keys.iter().filter(|key| **key >= from));
        leaf(&page).high
    }

    /// Checks that the tree is whole and returns its keys. Nobody else may be at work.
    pub fn check(&self) -> Vec<u8> {
        let root = self.root.read().unwrap();
        let (mut at, mut low, mut keys, mut reached) = (root[0].1, 0, Vec::new(), Vec::new());
        loop {
            let page = self.leaves[at].read().unwrap();
            let leaf = leaf(&page);
            assert_eq!(leaf.low, low);
            assert!(leaf.keys.iter().all(|key| (low..leaf.high).contains(key)));
            keys.extend_from_slice(&leaf.keys);
            reached.push((low, at));
            if leaf.high == END {
                break;
            }
            (at, low) = (leaf.right, leaf.high);
        }
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert!(root.iter().all(|child| reached.contains(child)), "the root has a child that is no more");
        assert_eq!(reached.len() + self.free.lock().unwrap().len(), PAGES, "a page is lost or used twice");
        keys
    }
}

fn add(page: &mut Option<Leaf>, key: u8) {
    let keys = &mut leaf_mut(page).keys;
    keys.push(key);
    keys.sort_unstable();
}
