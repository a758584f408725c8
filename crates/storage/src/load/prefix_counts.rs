//! Counts distinct values of a key's leading parts, from keys in order.

use crate::key::{KeyCodec, KeyKind, KeyPartCodec};

/// Takes keys in order; counts how many differ in their first part, their first two, and so on. Exact.
#[derive(Debug)]
pub(super) struct PrefixCounter {
    parts: Vec<KeyPartCodec>,
    distinct: Vec<u64>,
    last: Vec<u8>,
    /// The end of each part of `last`.
    ends: Vec<usize>,
}

impl PrefixCounter {
    /// Makes a counter for keys of the codec's first `parts` parts; longer keys are fine.
    pub fn new(codec: &KeyCodec, parts: usize) -> PrefixCounter {
        let parts = codec.parts[..parts].to_vec();
        PrefixCounter { distinct: vec![0; parts.len()], last: Vec::new(), ends: Vec::with_capacity(parts.len()), parts }
    }

    /// Adds the next key; `false` if all its counted parts are those of the key before.
    #[inline]
    pub fn add(&mut self, key: &[u8]) -> bool {
        let common = common_prefix(&self.last, key);
        // Parts that end within the common bytes are the same, for no part's bytes begin another's.
        let same = self.ends.iter().take_while(|end| **end <= common).count();
        if same == self.parts.len() {
            return false;
        }
        self.distinct[same..].iter_mut().for_each(|n| *n += 1);
        self.ends.truncate(same);
        for part in &self.parts[same..] {
            let start = self.ends.last().copied().unwrap_or(0);
            self.ends.push(part_end(part, key, start));
        }
        self.last.truncate(common);
        self.last.extend_from_slice(&key[common..]);
        true
    }

    /// How many keys so far differ in their first part, in their first two, and so on.
    pub fn counts(&self) -> &[u64] {
        &self.distinct
    }

    pub fn finish(self) -> Vec<f64> {
        self.distinct.into_iter().map(|n| n as f64).collect()
    }
}

/// Returns true if one of the first `parts` parts of the key is NULL.
pub(super) fn has_null(codec: &KeyCodec, parts: usize, key: &[u8]) -> bool {
    let mut at = 0;
    codec.parts[..parts].iter().any(|part| {
        let null = is_null(part, key, at);
        at = part_end(part, key, at);
        null
    })
}

fn is_null(part: &KeyPartCodec, key: &[u8], at: usize) -> bool {
    part.nullable && key.get(at) == Some(&if part.descending { 0xFF } else { 0 })
}

/// The end of the key part that begins at `at` (`docs/format.md`, "Keys").
fn part_end(part: &KeyPartCodec, key: &[u8], at: usize) -> usize {
    if is_null(part, key, at) {
        return at + 1;
    }
    let start = at + part.nullable as usize;
    let width = match part.kind {
        KeyKind::Int { width, .. } => width,
        KeyKind::Float => 4,
        KeyKind::Decimal64 { .. } | KeyKind::Double => 8,
        KeyKind::Decimal128 { .. } => 16,
        KeyKind::Decimal256 { .. } => 32,
        KeyKind::Text(_) | KeyKind::Bytes => {
            // Two zeros end it; a zero in it has FF behind it.
            let zero = if part.descending { 0xFF } else { 0 };
            let mut at = start;
            while at + 1 < key.len() {
                match (key[at] == zero, key[at + 1] == zero) {
                    (true, true) => return at + 2,
                    (true, false) => at += 2,
                    _ => at += 1,
                }
            }
            return key.len();
        }
    };
    key.len().min(start + width)
}

#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let n = a.len().min(b.len());
    let (x, y) = (a[..n].as_chunks::<8>().0, b[..n].as_chunks::<8>().0);
    for (i, (x, y)) in x.iter().zip(y).enumerate() {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return 8 * i + differ.trailing_zeros() as usize / 8;
        }
    }
    let from = 8 * x.len();
    from + a[from..n].iter().zip(&b[from..n]).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnSchema, IndexSchema, TableSchema, tree::TreeLayout};
    use muster_types::{Collation, KeyPart, SqlType, Value};
    use std::collections::BTreeSet;

    #[test]
    fn counts_are_those_of_sets() {
        for (descending, nullable) in [(false, false), (true, true), (false, true), (true, false)] {
            let column = |ty| ColumnSchema { ty, nullable };
            let part = |column| KeyPart { column, prefix: None, descending };
            let schema = TableSchema {
                layouts: Default::default(),
                columns: vec![
                    column(SqlType::INT),
                    column(SqlType::varchar(9, Collation::Binary)),
                    column(SqlType::Bytes { kind: muster_types::BytesKind::VarBinary, length: 9 }),
                    column(SqlType::BIGINT),
                ],
                indexes: vec![IndexSchema { id: 1, parts: (0..4).map(part).collect(), unique: true }],
            };
            let layout = TreeLayout::new(&schema, 0);
            let texts = ["", "a", "a\0", "a\0\0", "a\0b", "b\u{7f}"];
            let mut rows = Vec::new();
            for i in 0..4i64 {
                for t in texts {
                    for b in [&b""[..], b"\0", b"\0\xFF", b"\xFF\xFF"] {
                        for j in 0..(i + t.len() as i64) % 3 {
                            let int = |i: i64| if nullable && i == 0 { Value::Null } else { Value::Int(i) };
                            rows.push(vec![int(i), Value::Text(t.into()), Value::Bytes(b.to_vec()), int(j)]);
                        }
                    }
                }
            }
            let mut keys: Vec<(Vec<u8>, bool)> = rows
                .iter()
                .map(|values| {
                    let mut key = Vec::new();
                    layout.key.append_values(values, &mut key).unwrap();
                    (key, values.iter().any(Value::is_null))
                })
                .collect();
            keys.sort();
            let mut counter = PrefixCounter::new(&layout.key, 4);
            for (key, null) in &keys {
                assert!(counter.add(key));
                assert!(!counter.add(key));
                assert_eq!(has_null(&layout.key, 4, key), *null);
            }
            let want: Vec<f64> = (1..=4)
                .map(|n| rows.iter().map(|r| format!("{:?}", &r[..n])).collect::<BTreeSet<_>>().len() as f64)
                .collect();
            assert_eq!(counter.finish(), want);
        }
    }
}
