//! A set of rows for IN and NOT IN, with MySQL's three values.
//!
//! A row that is equal in all parts makes IN TRUE. One that is equal wherever neither it nor the left side is NULL
//! makes it UNKNOWN. Which parts are compared then depends on the NULLs of both alone, so there is an index for each
//! combination of them that comes up: no row is compared one by one.

use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Bytes that are equal exactly if the values are; `None` for NULL.
pub type Part = Option<Box<[u8]>>;
/// Which parts of a row are NULL.
type Nulls = Vec<bool>;

/// Distinct rows.
#[derive(Default)]
pub struct Members {
    rows: HashMap<Nulls, HashSet<Vec<Part>>>,
    /// The compared parts of members, by the parts that are NULL in the members and in the left side. An entry is made
    /// when it is first asked for.
    compared: Mutex<HashMap<(Nulls, Nulls), Arc<HashSet<Vec<Part>>>>>,
}

impl Members {
    /// Returns true if the row is new. All rows come before the first question.
    pub fn add(&mut self, row: Vec<Part>) -> bool {
        self.rows.entry(nulls(&row)).or_default().insert(row)
    }

    /// `left IN (rows)`; `None` is UNKNOWN.
    pub fn contain(&self, left: &[Part]) -> Option<bool> {
        let left_nulls = nulls(left);
        if self.rows.get(&left_nulls).is_some_and(|rows| is_known(&left_nulls) && rows.contains(left)) {
            return Some(true);
        }
        let may_equal = |(nulls, rows): (&Nulls, &HashSet<Vec<Part>>)| {
            !(is_known(nulls) && is_known(&left_nulls))
                && self.index(nulls, &left_nulls, rows).contains(&compared(left, nulls, &left_nulls))
        };
        if self.rows.iter().any(may_equal) { None } else { Some(false) }
    }

    fn index(&self, nulls: &Nulls, left_nulls: &Nulls, rows: &HashSet<Vec<Part>>) -> Arc<HashSet<Vec<Part>>> {
        let mut indexes = self.compared.lock();
        let index = indexes.entry((nulls.clone(), left_nulls.clone()));
        let new = || Arc::new(rows.iter().map(|row| compared(row, nulls, left_nulls)).collect());
        index.or_insert_with(new).clone()
    }
}

fn nulls(row: &[Part]) -> Nulls {
    row.iter().map(Option::is_none).collect()
}

fn is_known(nulls: &Nulls) -> bool {
    !nulls.contains(&true)
}

/// The parts of a row that are NULL on neither side.
fn compared(row: &[Part], nulls: &Nulls, left_nulls: &Nulls) -> Vec<Part> {
    let known = nulls.iter().zip(left_nulls).map(|(a, b)| !a && !b);
    row.iter().zip(known).filter(|(_, known)| *known).map(|(part, _)| part.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set of up to three rows over NULL and two values, and every left side.
    #[test]
    fn in_has_three_values() {
        let values: [Part; 3] = [None, Some([1].into()), Some([2].into())];
        let rows: Vec<Vec<Part>> =
            values.iter().flat_map(|a| values.each_ref().map(|b| vec![a.clone(), b.clone()])).collect();
        let equal = |l: &[Part], r: &[Part]| {
            let part = |(l, r): (&Part, &Part)| l.as_ref().zip(r.as_ref()).map(|(l, r)| l == r);
            let parts: Vec<Option<bool>> = l.iter().zip(r).map(part).collect();
            match parts.contains(&Some(false)) {
                true => Some(false),
                false => parts.iter().all(Option::is_some).then_some(true),
            }
        };
        let n = rows.len() + 1;
        for number in 0..n * n * n {
            let chosen = [number % n, number / n % n, number / n / n].map(|i| rows.get(i));
            let mut members = Members::default();
            chosen.iter().flatten().for_each(|row| {
                members.add(row.to_vec());
            });
            for left in &rows {
                let found: Vec<Option<bool>> = chosen.iter().flatten().map(|row| equal(left, row)).collect();
                let want = match found.contains(&Some(true)) {
                    true => Some(true),
                    false => found.iter().all(Option::is_some).then_some(false),
                };
                assert_eq!(members.contain(left), want, "{left:?} IN {chosen:?}");
            }
        }
    }
}
