//! GROUP_CONCAT: the texts of a group, in an order, joined.

use super::fold::counts;
use crate::Warnings;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, StringViewArray, builder::BinaryViewBuilder, cast::AsArray,
};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use muster_types::ErrorCode;
use std::{
    collections::HashSet,
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// A group with fewer bytes is left as it comes.
const PRUNE_BYTES: usize = 8 << 10;

/// The separator, order and limits of a GROUP_CONCAT.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupConcat {
    pub separator: String,
    /// Longer results are cut, in bytes (`group_concat_max_len`).
    pub bytes_max: usize,
    /// True for byte strings, which may be cut anywhere.
    pub is_binary: bool,
    /// Equal ones only once: the one that comes first.
    pub distinct: bool,
    /// True with ORDER BY: of entries with one key the last to come is the first (MySQL:
    /// `group_concat_key_cmp_with_order`, which tells each of them from the others).
    pub is_ordered: bool,
    pub cuts: Cuts,
}

impl GroupConcat {
    /// Drops the entries that cannot be seen: equal ones, and those behind the cut. With an order the others are left
    /// in the reverse of it, so that those that come later stand in front of them once all are reversed.
    fn prune(&self, entries: &mut Entries) {
        if self.distinct {
            let mut seen = HashSet::new();
            entries.list.retain(|entry| seen.insert(entry.equal.clone()));
        }
        if self.is_ordered {
            entries.list.reverse();
            entries.list.sort_by(|a, b| a.key.cmp(&b.key));
        }
        let mut joined_bytes = 0;
        entries.list.retain(|entry| {
            let is_seen = joined_bytes <= self.bytes_max;
            joined_bytes += entry.text.len() + if joined_bytes > 0 { self.separator.len() } else { 0 };
            is_seen
        });
        if self.is_ordered {
            entries.list.reverse();
        }
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
    /// The same for texts that are equal, with DISTINCT.
    equal: Box<[u8]>,
    text: Box<[u8]>,
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
        self.key.len() + self.equal.len() + self.text.len() + size_of::<ConcatEntry>()
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

    fn push(&mut self, group: usize, [key, equal, text]: [&[u8]; 3]) {
        let entries = &mut self.entries[group];
        self.bytes -= entries.bytes;
        entries.push(ConcatEntry { key: key.into(), equal: equal.into(), text: text.into() });
        if entries.bytes > entries.prune_bytes.max(PRUNE_BYTES).max(self.settings.bytes_max.saturating_mul(2)) {
            self.settings.prune(entries);
        }
        self.bytes += entries.bytes;
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Entries> {
        let taken = emit_to.take_needed(&mut self.entries);
        self.bytes -= taken.iter().map(|e| e.bytes).sum::<usize>();
        taken
    }

    fn join(&self, mut entries: Entries) -> Option<Vec<u8>> {
        if entries.list.is_empty() {
            return None;
        }
        self.settings.prune(&mut entries);
        if self.settings.is_ordered {
            entries.list.reverse();
        }
        let bytes_max = self.settings.bytes_max;
        let mut joined = Vec::new();
        for (i, entry) in entries.list.iter().enumerate() {
            if i > 0 {
                joined.extend_from_slice(self.settings.separator.as_bytes());
            }
            joined.extend_from_slice(&entry.text);
            self.settings.cuts.joined.fetch_add(1, Relaxed);
            if joined.len() > bytes_max {
                self.settings.cuts.warn();
                let mut end = bytes_max;
                // Not within a character.
                while !self.settings.is_binary && end > 0 && joined[end] & 0xC0 == 0x80 {
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
        let texts = &values[0];
        if *texts.data_type() == DataType::Null {
            return Ok(());
        }
        let key = |i: usize, row: usize| -> &[u8] {
            values
                .get(i)
                .map(|keys| keys.as_binary_view())
                .filter(|keys| keys.is_valid(row))
                .map_or(&[], |k| k.value(row))
        };
        for (row, group) in group_indices.iter().enumerate() {
            if !counts(texts.as_ref(), opt_filter, row) {
                continue;
            }
            let text = match texts.data_type() {
                DataType::BinaryView => texts.as_binary_view().value(row),
                _ => texts.as_string_view().value(row).as_bytes(),
            };
            self.push(*group, [key(1, row), key(2, row), text]);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let taken = self.take(emit_to);
        let joined = taken.into_iter().map(|entries| self.join(entries));
        if self.settings.is_binary {
            return Ok(Arc::new(joined.collect::<BinaryViewArray>()));
        }
        let texts = joined.map(|text| text.map(String::from_utf8).transpose());
        let texts = texts.collect::<std::result::Result<StringViewArray, _>>();
        Ok(Arc::new(texts.map_err(|e| DataFusionError::External(Box::new(e)))?))
    }

    /// Entries one behind the other: length of key, key, length of the key of equal ones, that key, length of text,
    /// text; lengths in 4 bytes, little-endian.
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut builder = BinaryViewBuilder::new();
        let mut bytes = Vec::new();
        for entries in self.take(emit_to) {
            bytes.clear();
            for entry in entries.list {
                for part in [&entry.key, &entry.equal, &entry.text] {
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
                let (equal, after) = part(after)?;
                let (text, after) = part(after)?;
                self.push(*group, [key, equal, text]);
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

    fn settings(distinct: bool) -> GroupConcat {
        let (separator, cuts) = ("; ".into(), Cuts::default());
        GroupConcat { separator, bytes_max: 1024, is_binary: false, distinct, is_ordered: true, cuts }
    }

    #[test]
    fn texts_are_joined_in_order_also_through_states() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("b"), Some("a"), None, Some("B")]));
        let keys: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([b"2", b"1", b"3", b"4"]));
        let equal: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([b"b", b"a", b"c", b"b"]));
        for (distinct, want) in [(false, "a; b; B"), (true, "a; b")] {
            let mut first = Groups::new(settings(distinct));
            first.update_batch(&[texts.clone(), keys.clone(), equal.clone()], &[0, 0, 0, 0], None, 2).unwrap();
            let state = first.state(EmitTo::All).unwrap();
            assert_eq!(first.size(), 0);
            let mut second = Groups::new(settings(distinct));
            second.merge_batch(&state, &[1, 0], 2).unwrap();
            let result = second.evaluate(EmitTo::All).unwrap();
            assert_eq!(result.as_string_view().iter().collect::<Vec<_>>(), [None, Some(want)]);
        }
        assert!(part(&[5, 0, 0, 0, 1]).is_err());
    }

    #[test]
    fn of_equal_keys_the_last_comes_first() {
        let texts: Vec<String> = (0..2000).map(|i| format!("{:010}", i)).collect();
        let keys: ArrayRef = Arc::new(BinaryViewArray::from_iter_values((0..2000).map(|i| [b'0' + (i % 2) as u8])));
        let column: ArrayRef = Arc::new(StringViewArray::from_iter_values(&texts));
        let joined = |is_ordered: bool| {
            let settings = GroupConcat { bytes_max: 1 << 20, is_ordered, ..settings(false) };
            let mut groups = Groups::new(settings);
            groups.update_batch(&[column.clone(), keys.clone()], &[0; 2000], None, 1).unwrap();
            // Pruned on the way, too.
            groups.settings.prune(&mut groups.entries[0]);
            groups.update_batch(&[column.slice(0, 2), keys.slice(0, 2)], &[0, 0], None, 1).unwrap();
            groups.evaluate(EmitTo::All).unwrap().as_string_view().value(0).to_string()
        };
        let ordered = joined(true);
        assert!(ordered.starts_with("0000000000; 0000001998; 0000001996; "), "{ordered:.60}");
        assert!(ordered.contains("; 0000000002; 0000000000; 0000000001; 0000001999; 0000001997; "));
        assert!(joined(false).starts_with("0000000000; 0000000001; 0000000002; "));
    }

    #[test]
    fn results_are_cut_between_characters_and_byte_strings_anywhere() {
        let keys: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([b"1", b"1"]));
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["é", "é"]));
        let bytes: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([&b"\xC3\xA9"[..], b"\xC3\xA9"]));
        let cut = |is_binary: bool, values: ArrayRef| {
            let settings = GroupConcat { separator: String::new(), bytes_max: 3, is_binary, ..settings(false) };
            let mut groups = Groups::new(settings);
            groups.update_batch(&[values, keys.clone()], &[0, 0], None, 1).unwrap();
            groups.evaluate(EmitTo::All).unwrap()
        };
        assert_eq!(cut(false, texts).as_string_view().value(0), "é");
        assert_eq!(cut(true, bytes).as_binary_view().value(0), b"\xC3\xA9\xC3");
    }
}
