//! The weights of a text at one level, one after another.

use super::table::WeightTable;

/// An iterator over the weights of a text.
pub struct Weights<'t> {
    table: &'static WeightTable,
    level: usize,
    /// What is not weighed yet.
    rest: &'t str,
    pending: &'static [u16],
    /// Weights that were computed, and how many of them were given.
    computed: Vec<u16>,
    given: usize,
}

impl<'t> Weights<'t> {
    pub fn new(table: &'static WeightTable, level: usize, text: &'t str) -> Weights<'t> {
        Weights { table, level, rest: text, pending: &[], computed: Vec::new(), given: 0 }
    }
}

impl Iterator for Weights<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some((first, rest)) = self.pending.split_first() {
                self.pending = rest;
                return Some(*first);
            }
            if let Some(weight) = self.computed.get(self.given) {
                self.given += 1;
                return Some(*weight);
            }
            let c = self.rest.chars().next()?;
            if let Some((weights, length)) = self.table.contraction(self.rest, c, self.level) {
                self.pending = weights;
                self.rest = &self.rest[length..];
                continue;
            }
            self.rest = &self.rest[c.len_utf8()..];
            match self.table.weights_of(c, self.level) {
                Some(weights) => self.pending = weights,
                None => {
                    self.computed.clear();
                    self.given = 0;
                    self.table.append_computed(c, self.level, &mut self.computed);
                }
            }
        }
    }
}
