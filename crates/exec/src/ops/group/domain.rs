//! Groups of keys with few values, found by array index instead of by hash.
//!
//! Every key value of a row has a code: its distance from the least one (numbers), or its place among those met so far
//! (texts). The codes of all keys side by side are an index into an array that holds the number of the group. The array
//! is only a memory of what [`GroupValues`](super::keys) said: when a code needs more bits, it is emptied and learns
//! again; when the keys have too many values, it is given up.

use super::codes::Codes;
use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::Schema;
use arrow_select::take::take;
use datafusion_common::Result;

/// An index has at most so many bits: the array stays in the second-level cache.
pub const INDEX_BITS_MAX: u32 = 14;
/// No group is known for the index.
const UNKNOWN: u32 = u32::MAX;

/// See the module.
pub struct Domain {
    codes: Vec<Codes>,
    /// Bits of each key's code.
    bits: Vec<u32>,
    /// Group of each index.
    groups: Vec<u32>,
    /// Index of each row of the last batch.
    indexes: Vec<u16>,
}

impl Domain {
    /// `None` if a key has a type without codes.
    pub fn of(keys: &Schema) -> Option<Domain> {
        let codes: Vec<Codes> = keys.fields().iter().map(|f| Codes::of(f.data_type())).collect::<Option<_>>()?;
        let bits = vec![0; codes.len()];
        Some(Domain { codes, bits, groups: vec![UNKNOWN], indexes: Vec::new() })
    }

    /// Forgets the groups, whose numbers no longer hold.
    pub fn forget(&mut self) {
        self.groups.fill(UNKNOWN);
    }

    /// Puts the group of each row into `places`. `intern` numbers the groups of rows that are met for the first time.
    /// False if the keys have too many values: nothing was done then.
    pub fn places(
        &mut self,
        keys: &[ArrayRef],
        places: &mut Vec<usize>,
        intern: impl FnOnce(&[ArrayRef], &mut Vec<usize>) -> Result<()>,
    ) -> Result<bool> {
        let mut moved = false;
        for (codes, key) in self.codes.iter_mut().zip(keys) {
            match codes.assign(key) {
                Some(same) => moved |= !same,
                None => return Ok(false),
            }
        }
        let bits: Vec<u32> = self.codes.iter().map(Codes::bits).collect();
        let all: u32 = bits.iter().sum();
        if all > INDEX_BITS_MAX {
            return Ok(false);
        }
        if moved || bits != self.bits {
            self.bits = bits;
            self.groups.clear();
            self.groups.resize(1 << all, UNKNOWN);
        }
        self.index_rows();
        if !self.look_up(places) {
            self.learn(keys, intern)?;
            self.look_up(places);
        }
        Ok(true)
    }

    pub fn bytes(&self) -> usize {
        let codes: usize = self.codes.iter().map(Codes::bytes).sum();
        codes + self.groups.capacity() * size_of::<u32>() + self.indexes.capacity() * size_of::<u16>()
    }

    fn index_rows(&mut self) {
        let rows = self.codes.first().map_or(0, |codes| codes.of_rows().len());
        self.indexes.clear();
        self.indexes.resize(rows, 0);
        let mut shift = 0;
        for (codes, bits) in self.codes.iter().zip(&self.bits) {
            self.indexes.iter_mut().zip(codes.of_rows()).for_each(|(index, code)| *index |= code << shift);
            shift += bits;
        }
    }

    /// Returns true if the groups of all rows are known.
    fn look_up(&self, places: &mut Vec<usize>) -> bool {
        let groups = &self.groups[..];
        places.clear();
        places.extend(self.indexes.iter().map(|index| groups[usize::from(*index)] as usize));
        !places.contains(&(UNKNOWN as usize))
    }

    /// Has the groups numbered that the last batch met for the first time.
    fn learn(
        &mut self,
        keys: &[ArrayRef],
        intern: impl FnOnce(&[ArrayRef], &mut Vec<usize>) -> Result<()>,
    ) -> Result<()> {
        let (mut rows, mut indexes) = (Vec::new(), Vec::new());
        for (row, index) in self.indexes.iter().enumerate() {
            let group = &mut self.groups[usize::from(*index)];
            if *group == UNKNOWN {
                // Until its number is known.
                *group = 0;
                rows.push(row as u32);
                indexes.push(usize::from(*index));
            }
        }
        let rows = UInt32Array::from(rows);
        let firsts = keys.iter().map(|key| take(key, &rows, None)).collect::<Result<Vec<_>, _>>()?;
        let mut numbers = Vec::new();
        intern(&firsts, &mut numbers)?;
        for (index, number) in indexes.into_iter().zip(numbers) {
            self.groups[index] = number as u32;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "domain_tests.rs"]
mod tests;
