//! Files of definitions: values by key, of which a record of the log may change some.
//!
//! ```text
//!   Definitions         what such a file holds: a value for each key
//!   DefinitionChanges   a new value, or none, for some of the keys
//! ```
//!
//! Storage knows neither what the keys name nor what the values say, so a change fits any such file: a value takes the
//! place of the one before, and a removal of what is not there does nothing. Therefore changes may be made once more on
//! a file that has them already, if all that came later follow in their order.
//!
//! The body of a file and a change are lists in the order of their keys, each key once:
//!
//! ```text
//!   0  bytes of the key     u16
//!   2  bytes of the value   u32; in a change 2^32 - 1 for a key that is removed
//!   6  the key, the value
//! ```

use crate::{
    checked_file::{self, FileKind},
    page::{u16_at, u32_at},
};
use std::{collections::BTreeMap, sync::Arc};

/// Bytes before a key.
const ENTRY_HEADER: usize = 6;
/// The length of the value of a removed key.
const REMOVED: u32 = u32::MAX;

/// The content of a file of definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions {
    pub kind: FileKind,
    pub values: BTreeMap<Vec<u8>, Arc<[u8]>>,
}

impl Definitions {
    /// Reads the bytes of a file. The kind has the version that the file must be of. Errors: why the file is not as it
    /// was written.
    pub fn from_bytes(bytes: &[u8], kind: FileKind) -> Result<Definitions, String> {
        let (version, body) = checked_file::open(bytes, kind)?;
        if version != kind.version {
            return Err(format!("format {version} has no definitions by key"));
        }
        let values = entries(body)?.into_iter().map(|(key, value)| match value {
            Some(value) => Ok((key, value)),
            None => Err("a definition that is removed".to_string()),
        });
        Ok(Definitions { kind, values: values.collect::<Result<_, _>>()? })
    }

    /// The bytes of a file with these definitions.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        self.values.iter().for_each(|(key, value)| push_entry(&mut body, key, Some(value)));
        checked_file::seal(self.kind, &body)
    }

    /// Changes the definitions.
    pub fn change(&mut self, changes: impl IntoIterator<Item = (Vec<u8>, Option<Arc<[u8]>>)>) {
        for (key, value) in changes {
            match value {
                Some(value) => self.values.insert(key, value),
                None => self.values.remove(&key),
            };
        }
    }

    /// Bytes that a definition takes in the file.
    pub fn bytes_of(key: &[u8], value: &[u8]) -> u64 {
        (ENTRY_HEADER + key.len() + value.len()) as u64
    }
}

/// Makes a file of definitions of its bytes, changed. Errors: why the bytes are not those of such a file; nothing is
/// changed then.
pub(crate) fn changed(
    bytes: &[u8],
    changes: impl IntoIterator<Item = (Vec<u8>, Option<Arc<[u8]>>)>,
) -> Result<Vec<u8>, String> {
    let kind = checked_file::kind_of(bytes).ok_or_else(|| format!("truncated at {} bytes", bytes.len()))?;
    let mut definitions = Definitions::from_bytes(bytes, kind)?;
    definitions.change(changes);
    Ok(definitions.to_bytes())
}

/// New values of some definitions; `None` for those that are removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DefinitionChanges {
    pub values: BTreeMap<Vec<u8>, Option<Arc<[u8]>>>,
}

impl DefinitionChanges {
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Gives a definition a new value.
    pub fn set(&mut self, key: Vec<u8>, value: impl Into<Arc<[u8]>>) {
        self.values.insert(key, Some(value.into()));
    }

    /// Removes a definition.
    pub fn remove(&mut self, key: Vec<u8>) {
        self.values.insert(key, None);
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.values.iter().for_each(|(key, value)| push_entry(&mut bytes, key, value.as_deref()));
        bytes
    }

    /// Reads all of a change. Errors: why it is none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<DefinitionChanges, String> {
        Ok(DefinitionChanges { values: entries(bytes)? })
    }
}

/// Adds a key with its value to a list. The key has less than 64 KiB, the value less than 4 GiB.
fn push_entry(list: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    let key_bytes = u16::try_from(key.len()).expect("a key is made of a few names");
    let value_bytes = value.map_or(REMOVED, |value| u32::try_from(value.len()).expect("a value has less than 4 GiB"));
    list.extend_from_slice(&key_bytes.to_le_bytes());
    list.extend_from_slice(&value_bytes.to_le_bytes());
    list.extend_from_slice(key);
    list.extend_from_slice(value.unwrap_or_default());
}

/// The keys of a list with their values. Errors: why it is no such list.
fn entries(mut list: &[u8]) -> Result<BTreeMap<Vec<u8>, Option<Arc<[u8]>>>, String> {
    let cut = || "a list of definitions is cut short".to_string();
    let mut found = BTreeMap::new();
    while !list.is_empty() {
        let (header, rest) = list.split_at_checked(ENTRY_HEADER).ok_or_else(cut)?;
        let (key, rest) = rest.split_at_checked(u16_at(header, 0).into()).ok_or_else(cut)?;
        let value_bytes = u32_at(header, 2);
        let present = value_bytes != REMOVED;
        let (value, rest) = rest.split_at_checked(if present { value_bytes as usize } else { 0 }).ok_or_else(cut)?;
        if found.last_key_value().is_some_and(|(last, _): (&Vec<u8>, _)| last.as_slice() >= key) {
            return Err("definitions that are not in the order of their keys".to_string());
        }
        found.insert(key.to_vec(), present.then(|| value.into()));
        list = rest;
    }
    Ok(found)
}

#[cfg(test)]
#[path = "definitions_tests.rs"]
mod tests;
