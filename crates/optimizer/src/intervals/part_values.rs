//! What the values of a column are in one part of a key: the values themselves, or the beginnings of them.
//!
//! A part with a prefix, `KEY(c(5))`, holds the first characters only. Where each character has one weight, cutting
//! keeps the order, so an interval of values becomes the interval of what is left of its ends. Under utf8mb4_0900_ai_ci
//! it does not: 'ßb' equals 'ssb', but cut to two characters it is above 'ss'. What can be said there: the sort key of
//! a cut text is the beginning of the whole text's sort key. So of all texts from `x` on, the cut keys are from the
//! sort key of `x` on, or one of its beginnings. Where not even that is so (contractions, several levels of weights),
//! nothing is said.

use super::column_values::Values;
use super::{Cut, Interval, normalised};
use muster_algebra::{Collation, SqlType, Value};
use muster_types::collation::{self, LikePattern};
use muster_types::prefix_end;

/// One part of a key.
pub struct Part {
    pub ty: SqlType,
    pub nullable: bool,
    /// Characters (bytes of byte strings) that the key holds.
    pub prefix: Option<u32>,
}

impl Part {
    /// The intervals of the part in which keys of rows with these values are, normalised, and whether those are the
    /// keys for which the condition is TRUE, and no others.
    pub fn intervals(&self, values: &Values) -> (Vec<Interval>, bool) {
        let (intervals, exact) = match (values, self.ty) {
            (Values::Like(pattern), SqlType::Text { collation, .. }) => self.like(pattern, collation),
            (Values::Like(_), _) => (vec![Interval::NOT_NULL], false),
            (Values::Intervals { intervals, exact }, _) => match self.prefix {
                None => (intervals.clone(), *exact),
                Some(n) => (intervals.iter().flat_map(|i| self.cut(i, n as usize)).collect(), false),
            },
        };
        let intervals = if self.nullable { intervals } else { without_null(intervals) };
        (normalised(intervals, self.ty), exact)
    }

    /// What an interval of values is in keys that hold their first `n` characters.
    fn cut(&self, interval: &Interval, n: usize) -> Vec<Interval> {
        match self.ty {
            SqlType::Text { collation, .. } if collation.weighs_characters_singly() => {
                vec![Interval { low: before(&interval.low, n), high: after(&interval.high, n) }]
            }
            SqlType::Text { collation, .. } if collation.cuts_keys_with_texts() => cut_by_weights(interval, collation),
            // Nothing is known of keys of cut texts, but that those of NULL are apart.
            SqlType::Text { .. } => match interval.high {
                Cut::After(Value::Null) => vec![interval.clone()],
                _ => vec![Interval { low: Cut::Start, high: Cut::End }],
            },
            _ => vec![Interval { low: before(&interval.low, n), high: after(&interval.high, n) }],
        }
    }

    fn like(&self, pattern: &LikePattern, collation: Collation) -> (Vec<Interval>, bool) {
        let start = pattern.literal_prefix();
        // Characters that LIKE finds equal one by one may weigh otherwise next to each other.
        let by_characters = !collation.has_contractions();
        let known = start.chars().count();
        if let Some(n) = self.prefix.map(|n| n as usize)
            && (n <= known || pattern.is_literal())
            && by_characters
        {
            // LIKE compares character by character, whatever they weigh together.
            let text = collation::prefix(start, n);
            let value = match collation.weighs_characters_singly() {
                true => Value::Text(text.to_string()),
                false => Value::Bytes(collation.sort_key(text)),
            };
            return (vec![Interval::point(value)], false);
        }
        if pattern.is_literal() && by_characters {
            return (vec![Interval::point(Value::Text(start.to_string()))], false);
        }
        let mut bytes = Vec::new();
        let in_key = self.prefix.map_or(start, |n| collation::prefix(start, n as usize));
        collation.append_common_sort_key(in_key, &mut bytes);
        if bytes.is_empty() {
            return (vec![Interval::NOT_NULL], false);
        }
        // Spaces at the end are not told apart by the key; characters that weigh differently than LIKE compares them,
        // neither.
        let ends_with_space = start.chars().last().is_some_and(|c| collation.chars_equal(c, ' '));
        let by_key = collation.weighs_characters_singly() && !(collation.pad_space() && ends_with_space);
        let exact = self.prefix.is_none() && pattern.is_prefix() && by_key;
        let high = prefix_end(&bytes).map_or(Cut::End, |end| Cut::Before(Value::Bytes(end)));
        (vec![Interval { low: Cut::Before(Value::Bytes(bytes)), high }], exact)
    }
}

fn cut_value(value: &Value, n: usize) -> Value {
    match value {
        Value::Text(text) => Value::Text(collation::prefix(text, n).to_string()),
        Value::Bytes(bytes) => Value::Bytes(bytes[..bytes.len().min(n)].to_vec()),
        other => other.clone(),
    }
}

/// The low end of an interval, cut: values above it may have the same beginning. Those above NULL do not.
fn before(cut: &Cut, n: usize) -> Cut {
    match cut {
        Cut::After(value) if !value.is_null() => Cut::Before(cut_value(value, n)),
        Cut::Before(value) => Cut::Before(cut_value(value, n)),
        other => other.clone(),
    }
}

fn after(cut: &Cut, n: usize) -> Cut {
    match cut {
        Cut::Before(value) if !value.is_null() => Cut::After(cut_value(value, n)),
        Cut::After(value) => Cut::After(cut_value(value, n)),
        other => other.clone(),
    }
}

fn cut_by_weights(interval: &Interval, collation: Collation) -> Vec<Interval> {
    let key_of = |cut: &Cut| match cut {
        Cut::Before(Value::Text(text)) | Cut::After(Value::Text(text)) => Some(collation.sort_key(text)),
        _ => None,
    };
    let high = key_of(&interval.high).map_or(interval.high.clone(), |key| Cut::After(Value::Bytes(key)));
    let Some(key) = key_of(&interval.low) else { return vec![Interval { low: interval.low.clone(), high }] };
    let beginnings = (0..key.len()).map(|n| Interval::point(Value::Bytes(key[..n].to_vec())));
    let mut all: Vec<Interval> = beginnings.collect();
    all.push(Interval { low: Cut::Before(Value::Bytes(key)), high });
    all
}

/// The values of a column that cannot be NULL.
fn without_null(intervals: Vec<Interval>) -> Vec<Interval> {
    let is_below = |cut: &Cut| matches!(cut, Cut::Start | Cut::Before(Value::Null) | Cut::After(Value::Null));
    let mut kept = intervals;
    kept.retain(|i| !is_below(&i.high));
    for interval in &mut kept {
        if is_below(&interval.low) {
            interval.low = Cut::Start;
        }
    }
    kept
}
