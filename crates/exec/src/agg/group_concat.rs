//! GROUP_CONCAT: the texts of a group, in an order, joined.

use super::fold::counts;
use crate::Warnings;
use arrow_array::{Array, ArrayRef, BooleanArray, StringViewArray, builder::BinaryViewBuilder, cast::AsArray};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use muster_types::{Collation, ErrorCode};
use std::{
    collections::HashSet,
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// `group_concat_max_len`: longer results are cut. MySQL's default, in bytes.
pub const MAX_BYTES: usize = 1024;

/// A group with fewer bytes is left as it comes.
const PRUNE_BYTES: usize = 8 * MAX_BYTES;

/// The separator, order and limits of a GROUP_CONCAT.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupConcat {
    pub separator: String,
    /// Equal under this collation: only once.
    pub distinct: Option<Collation>,
    pub cuts: Cuts,
}

impl GroupConcat {
    /// Puts entries in order and drops those that cannot be seen: equal ones, and those behind the cut.
    fn prune(&self, entries: &mut Entries) {
        entries.list.sort_by(|a, b| a.key.cmp(&b.key));
        let mut seen = HashSet::new();
        let mut joined_bytes = 0;
        entries.list.retain(|entry| {
            if joined_bytes > MAX_BYTES || self.distinct.is_some_and(|c| !seen.insert(c.sort_key(&entry.text))) {
                return false;
            }
            joined_bytes += entry.text.len() + if joined_bytes > 0 { self.separator.len() } else { 0 };
            true
        });
        entries.bytes = entries.list.iter().map(ConcatEntry::bytes).sum();
        entries.prune_bytes = 2 * entries.bytes;
    }
}

/// Tells of results that were cut. One and the same for all partitions of a call.
#[derive(Debug, Clone, Default)]
pub struct Cuts {
    warnings: Arc<Warnings>,
    /// Texts joined so far, of all groups: what MySQL calls the row.
    joined: Arc<AtomicU64>,
}

impl Cuts {
    pub fn new(warnings: Arc<Warnings>) -> Cuts {
        Cuts { warnings, joined: Arc::default() }
    }

    fn warn(&self) {
        let row = self.joined.load(Relaxed);
        self.warnings.push(ErrorCode::CutValueGroupConcat, format!("Row {row} was cut by GROUP_CONCAT()"));
    }
}

/// Equal calls of a statement are one.
impl PartialEq for Cuts {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.warnings, &other.warnings)
    }
}

impl Eq for Cuts {}

impl Hash for Cuts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.warnings).hash(state);
    }
}

/// One text and what it is sorted by.
#[derive(Debug, Clone)]
struct ConcatEntry {
    key: Box<[u8]>,
    text: Box<str>,
}

/// The entries that a group has so far.
#[derive(Debug, Clone, Default)]
struct Entries {
    list: Vec<ConcatEntry>,
    bytes: usize,
    /// Number of held bytes at which the texts behind the cut are dropped.
    prune_bytes: usize,
}

impl Entries {
    fn push(&mut self, entry: ConcatEntry) {
        self.bytes += entry.bytes();
        self.list.push(entry);
    }
}

impl ConcatEntry {
    fn bytes(&self) -> usize {
        self.key.len() + self.text.len() + size_of::<ConcatEntry>()
    }
}

pub struct Groups {
    settings: GroupConcat,
    entries: Vec<Entries>,
    bytes: usize,
}

impl Groups {
    pub fn new(settings: GroupConcat) -> Groups {
        Groups { settings, entries: Vec::new(), bytes: 0 }
    }

    fn push(&mut self, group: usize, key: &[u8], text: &str) {
        let entries = &mut self.entries[group];
        self.bytes -= entries.bytes;
        entries.push(ConcatEntry { key: key.into(), text: text.into() });
        if entries.bytes > entries.prune_bytes.max(PRUNE_BYTES) {
            self.settings.prune(entries);
        }
        self.bytes += entries.bytes;
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Entries> {
        let taken = emit_to.take_needed(&mut self.entries);
        self.bytes -= taken.iter().map(|e| e.bytes).sum::<usize>();
        taken
    }

    fn join(&self, mut entries: Entries) -> Option<String> {
        if entries.list.is_empty() {
            return None;
        }
        self.settings.prune(&mut entries);
        let mut joined = String::new();
        for (i, entry) in entries.list.iter().enumerate() {
            if i > 0 {
                joined.push_str(&self.settings.separator);
            }
            joined.push_str(&entry.text);
            self.settings.cuts.joined.fetch_add(1, Relaxed);
            if joined.len() > MAX_BYTES {
                self.settings.cuts.warn();
                let mut end = MAX_BYTES;
                while !joined.is_char_boundary(end) {
                    end -= 1;
                }
                joined.truncate(end);
                break;
            }
        }
        Some(joined)
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.entries.resize(total_num_groups, Entries::default());
        let (texts, keys) = (values[0].as_string_view(), values[1].as_binary_view());
        for (row, group) in group_indices.iter().enumerate() {
            if !counts(texts, opt_filter, row) {
                continue;
            }
            let key = if keys.is_null(row) { &[] } else { keys.value(row) };
            self.push(*group, key, texts.value(row));
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let taken = self.take(emit_to);
        Ok(Arc::new(taken.into_iter().map(|entries| self.join(entries)).collect::<StringViewArray>()))
    }

    /// Entries one behind the other: length of key, key, length of text, text; lengths in 4 bytes, little-endian.
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut builder = BinaryViewBuilder::new();
        let mut bytes = Vec::new();
        for entries in self.take(emit_to) {
            bytes.clear();
            for entry in entries.list {
                for part in [&*entry.key, entry.text.as_bytes()] {
                    bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
                    bytes.extend_from_slice(part);
                }
            }
            builder.append_value(&bytes);
        }
        Ok(vec![Arc::new(builder.finish())])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.entries.resize(total_num_groups, Entries::default());
        let states = values[0].as_binary_view();
        for (row, group) in group_indices.iter().enumerate() {
            if states.is_null(row) {
                continue;
            }
            let mut rest = states.value(row);
            while !rest.is_empty() {
                let (key, after) = part(rest)?;
                let (text, after) = part(after)?;
                let text = std::str::from_utf8(text).map_err(|e| DataFusionError::External(Box::new(e)))?;
                self.push(*group, key, text);
                rest = after;
            }
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut each = Groups::new(self.settings.clone());
        let rows: Vec<usize> = (0..values[0].len()).collect();
        each.update_batch(values, &rows, opt_filter, rows.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.bytes + self.entries.capacity() * size_of::<Entries>()
    }
}

fn part(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let broken = || DataFusionError::Internal("group_concat state is cut off".into());
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(broken)?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::BinaryViewArray;

    #[test]
    fn texts_are_joined_in_order_also_through_states() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("b"), Some("a"), None, Some("B")]));
        let keys: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([b"2", b"1", b"3", b"4"]));
        let settings = |distinct| GroupConcat { separator: "; ".into(), distinct, cuts: Cuts::default() };
        for (distinct, want) in [(None, "a; b; B"), (Some(Collation::DEFAULT), "a; b")] {
            let mut first = Groups::new(settings(distinct));
            first.update_batch(&[texts.clone(), keys.clone()], &[0, 0, 0, 0], None, 2).unwrap();
            let state = first.state(EmitTo::All).unwrap();
            assert_eq!(first.size(), 0);
            let mut second = Groups::new(settings(distinct));
            second.merge_batch(&state, &[1, 0], 2).unwrap();
            let result = second.evaluate(EmitTo::All).unwrap();
            assert_eq!(result.as_string_view().iter().collect::<Vec<_>>(), [None, Some(want)]);
        }
        assert!(part(&[5, 0, 0, 0, 1]).is_err());
    }
}
