//! A search for an order of the operations on one key that explains all outcomes (Wing and Gong, 1993, with Lowe's
//! memory of what has been tried).

use super::operation::{Operation, Version};
use std::collections::HashSet;

/// Operations that are in the order so far, by their positions, and the row after them.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Prefix {
    done: Vec<u64>,
    row: Option<Version>,
}

impl Prefix {
    fn has(&self, operation: usize) -> bool {
        self.done[operation / 64] & 1 << (operation % 64) != 0
    }

    fn with(&self, operation: usize, row: Option<Version>) -> Prefix {
        let mut next = Prefix { done: self.done.clone(), row };
        next.done[operation / 64] |= 1 << (operation % 64);
        next
    }
}

/// Returns true if the operations, which are sorted by their starts, can have happened one after the other, beginning
/// without a row.
pub(super) fn is_linearizable(operations: &[Operation]) -> bool {
    debug_assert!(operations.is_sorted_by_key(|operation| operation.start));
    let first = Prefix { done: vec![0; operations.len().div_ceil(64)], row: None };
    let mut tried = HashSet::from([first.clone()]);
    // Prefixes to go on with, each with the position of the first operation that is not in it.
    let mut open = vec![(first, 0)];
    while let Some((prefix, mut from)) = open.pop() {
        while from < operations.len() && prefix.has(from) {
            from += 1;
        }
        if from == operations.len() {
            return true;
        }
        let rest = || (from..operations.len()).filter(|&at| !prefix.has(at));
        // No operation comes before one that has ended when it starts. Operations that start later cannot end earlier.
        let mut first_end = u64::MAX;
        for at in rest() {
            if operations[at].start > first_end {
                break;
            }
            first_end = first_end.min(operations[at].end);
        }
        for at in rest().take_while(|&at| operations[at].start < first_end) {
            if let Some(row) = operations[at].apply(prefix.row) {
                let next = prefix.with(at, row);
                if tried.insert(next.clone()) {
                    open.push((next, from));
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{
        super::operation::{
            Kind::{Delete, Get, Insert, Update},
            Outcome::{Absent, Done, Exists, Found, Refused},
        },
        *,
    };

    fn check(operations: &[(u64, u64, super::super::operation::Kind, super::super::operation::Outcome)]) -> bool {
        let mut operations: Vec<Operation> =
            operations.iter().map(|&(start, end, kind, outcome)| Operation { start, end, kind, outcome }).collect();
        operations.sort_by_key(|operation| operation.start);
        is_linearizable(&operations)
    }

    #[test]
    fn one_after_the_other() {
        assert!(check(&[]));
        assert!(check(&[(1, 2, Insert(1), Done), (3, 4, Get, Found(1)), (5, 6, Delete, Done), (7, 8, Get, Absent)]));
        assert!(!check(&[(1, 2, Insert(1), Done), (3, 4, Get, Absent)]));
        assert!(!check(&[(1, 2, Insert(1), Done), (3, 4, Update(2), Done), (5, 6, Get, Found(1))]));
        assert!(!check(&[(1, 2, Insert(1), Done), (3, 4, Insert(2), Done)]));
        assert!(!check(&[(1, 2, Insert(1), Exists)]));
        assert!(check(&[(1, 2, Insert(1), Refused), (3, 4, Insert(2), Done), (5, 6, Update(3), Refused)]));
    }

    #[test]
    fn at_the_same_time() {
        // A read beside a write sees the row before or after it.
        for seen in [Absent, Found(1)] {
            assert!(check(&[(1, 4, Insert(1), Done), (2, 3, Get, seen)]));
        }
        // Two reads one after the other do not go back.
        assert!(!check(&[(1, 10, Insert(1), Done), (2, 3, Get, Found(1)), (4, 5, Get, Absent)]));
        // One of two deletes finds the row.
        assert!(check(&[(1, 2, Insert(1), Done), (3, 6, Delete, Done), (4, 5, Delete, Absent)]));
        assert!(!check(&[(1, 2, Insert(1), Done), (3, 6, Delete, Done), (4, 5, Delete, Done)]));
        // Two readers that see two updates in different orders.
        let updates = [(1, 2, Insert(1), Done), (3, 20, Update(2), Done), (4, 21, Update(3), Done)];
        let reads =
            |a, b| [(5, 6, Get, Found(2)), (7, 8, Get, Found(3)), (9, 10, Get, Found(a)), (11, 12, Get, Found(b))];
        assert!(check(&[&updates[..], &reads(3, 3)].concat()));
        assert!(!check(&[&updates[..], &reads(3, 2)].concat()));
    }
}
