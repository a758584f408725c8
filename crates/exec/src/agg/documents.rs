//! JSON_ARRAYAGG and JSON_OBJECTAGG: the documents of a group as one. The argument is a document of its own for each
//! row, an array of one value or an object of one member, whose parts come one behind the other.

use super::fold::counts;
use crate::error::external;
use arrow_array::{Array, ArrayRef, BooleanArray, LargeBinaryArray, builder::LargeBinaryBuilder, cast::AsArray};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use muster_types::json::{self, JsonObject, JsonValue, JsonView};
use std::sync::Arc;

/// Objects with fewer bytes are left as they come; those with more lose the members that others replace.
const PRUNE_BYTES: usize = 8 << 10;

/// The documents of a group, one behind the other: the length in 8 bytes, little-endian, and the bytes.
#[derive(Debug, Clone, Default)]
struct Documents {
    bytes: Vec<u8>,
    /// Number of bytes at which objects become one.
    prune_bytes: usize,
}

impl Documents {
    fn push(&mut self, document: &[u8]) {
        self.bytes.extend_from_slice(&(document.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(document);
    }

    /// The parts of all documents as one document; `None` without any.
    fn joined(&self, objects: bool) -> Result<Option<JsonValue>> {
        let (mut items, mut members) = (Vec::new(), Vec::new());
        let mut rest = &self.bytes[..];
        if rest.is_empty() {
            return Ok(None);
        }
        while !rest.is_empty() {
            let (document, after) = document(rest)?;
            match JsonValue::of_view(JsonView::new(document)) {
                JsonValue::Array(elements) if !objects => items.extend(elements),
                JsonValue::Object(object) if objects => members.extend(object.into_members()),
                _ => return Err(DataFusionError::Internal("no document of parts".into())),
            }
            rest = after;
        }
        Ok(Some(match objects {
            true => JsonValue::Object(JsonObject::of_members(members)),
            false => JsonValue::Array(items),
        }))
    }
}

fn document(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let broken = || DataFusionError::Internal("the documents of a group are cut off".into());
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
    rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(broken)
}

pub struct Groups {
    /// True for objects, of whose members with one name the last one counts.
    objects: bool,
    documents: Vec<Documents>,
    bytes: usize,
}

impl Groups {
    pub fn new(objects: bool) -> Groups {
        Groups { objects, documents: Vec::new(), bytes: 0 }
    }

    /// Errors: 3157, 3151, 3150 for what no document may be.
    fn push(&mut self, group: usize, document: &[u8]) -> Result<()> {
        let documents = &mut self.documents[group];
        self.bytes -= documents.bytes.len();
        documents.push(document);
        if self.objects && documents.bytes.len() > documents.prune_bytes.max(PRUNE_BYTES) {
            let merged = documents.joined(true)?.map(|merged| encode(&merged)).transpose()?;
            documents.bytes.clear();
            merged.iter().for_each(|merged| documents.push(merged));
            documents.prune_bytes = 2 * documents.bytes.len();
        }
        self.bytes += documents.bytes.len();
        Ok(())
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Documents> {
        let taken = emit_to.take_needed(&mut self.documents);
        self.bytes -= taken.iter().map(|documents| documents.bytes.len()).sum::<usize>();
        taken
    }
}

fn encode(value: &JsonValue) -> Result<Vec<u8>> {
    json::encode(value).map_err(|limit| external(limit.error()))
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.documents.resize(total_num_groups, Documents::default());
        let documents = values[0].as_binary::<i64>();
        for (row, group) in group_indices.iter().enumerate() {
            if counts(documents, opt_filter, row) {
                self.push(*group, documents.value(row))?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let objects = self.objects;
        let document = |documents: Documents| documents.joined(objects)?.map(|value| encode(&value)).transpose();
        let documents = self.take(emit_to).into_iter().map(document).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(documents.iter().map(Option::as_deref).collect::<LargeBinaryArray>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut states = LargeBinaryBuilder::new();
        self.take(emit_to).iter().for_each(|documents| states.append_value(&documents.bytes));
        Ok(vec![Arc::new(states.finish())])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.documents.resize(total_num_groups, Documents::default());
        let states = values[0].as_binary::<i64>();
        for (row, group) in group_indices.iter().enumerate() {
            let mut rest = if states.is_valid(row) { states.value(row) } else { &[] };
            while !rest.is_empty() {
                let (document, after) = document(rest)?;
                self.push(*group, document)?;
                rest = after;
            }
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut each = Groups::new(self.objects);
        let rows: Vec<usize> = (0..values[0].len()).collect();
        each.update_batch(values, &rows, opt_filter, rows.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.bytes + self.documents.capacity() * size_of::<Documents>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(texts: &[&str]) -> ArrayRef {
        let documents: Vec<Vec<u8>> = texts.iter().map(|text| json::parse_to_bytes(text).unwrap()).collect();
        Arc::new(LargeBinaryArray::from_iter_values(&documents))
    }

    fn texts(documents: &ArrayRef) -> Vec<Option<String>> {
        documents.as_binary::<i64>().iter().map(|of| of.map(|bytes| json::to_text(JsonView::new(bytes)))).collect()
    }

    #[test]
    fn parts_follow_each_other_also_through_states() {
        for (objects, values, want) in [
            (false, ["[1]", "[null]", "[[2]]"], "[1, null, [2]]"),
            (true, [r#"{"b": 1}"#, r#"{"a": 2}"#, r#"{"b": null}"#], r#"{"a": 2, "b": null}"#),
        ] {
            let mut first = Groups::new(objects);
            first.update_batch(&[column(&values)], &[0, 0, 0], None, 2).unwrap();
            let state = first.state(EmitTo::All).unwrap();
            assert_eq!(first.size(), first.documents.capacity() * size_of::<Documents>());
            let mut second = Groups::new(objects);
            second.merge_batch(&state, &[1, 0], 2).unwrap();
            let found = texts(&second.evaluate(EmitTo::All).unwrap());
            assert_eq!(found, [None, Some(want.to_owned())]);
        }
        assert!(document(&[5, 0, 0, 0, 0, 0, 0, 0, 1]).is_err());
    }

    #[test]
    fn members_that_come_again_take_no_room() {
        let mut groups = Groups::new(true);
        for n in 0..5000 {
            groups.update_batch(&[column(&[&format!(r#"{{"k{}": {n}}}"#, n % 7)])], &[0], None, 1).unwrap();
            assert!(groups.bytes < 2 * PRUNE_BYTES, "{}", groups.bytes);
        }
        let found = texts(&groups.evaluate(EmitTo::All).unwrap());
        assert!(found[0].as_ref().unwrap().starts_with(r#"{"k0": 4998, "k1": 4999, "k2": 4993"#), "{found:?}");
    }
}
