//! Keys of a table: their parts, names, order and limits.

use super::{check_length, functional};
use crate::statement::StatementContext;
use muster_algebra::{ColumnDef, IndexDef, TableDef};
use muster_sql::{ColumnSpec, IndexColumn, IndexKind, IndexSpec};
use muster_types::{ErrorCode, KeyPart, Result, SqlError, SqlType};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// MySQL's limits (manual 15.22).
const MAX_KEYS: usize = 64;
const MAX_PARTS: usize = 16;
const MAX_KEY_BYTES: u64 = 3072;
const MAX_COMMENT_CHARS: usize = 1024;

pub const PRIMARY: &str = "PRIMARY";

/// Error 3106.
pub fn unsupported_on_generated(what: &str) -> SqlError {
    let message = format!("'{what}' is not supported for generated columns.");
    SqlError::new(ErrorCode::UnsupportedOnGenerated, message)
}

/// A key of one column.
fn single(kind: IndexKind, column: &str) -> IndexSpec {
    let column = IndexColumn { name: column.into(), expr: None, prefix: None, descending: false };
    IndexSpec {
        kind,
        name: None,
        columns: vec![column],
        comment: String::new(),
        invisible: false,
        is_typed: false,
        is_generated: false,
    }
}

/// The keys that the definition of a column asks for.
pub fn of_column(column: &ColumnSpec) -> Vec<IndexSpec> {
    let primary = column.primary_key.then(|| single(IndexKind::Primary, &column.name));
    let unique = column.unique.then(|| single(IndexKind::Unique, &column.name));
    primary.into_iter().chain(unique).collect()
}

/// The indexes of a table that is defined, the clustered one first.
#[derive(Debug, Clone)]
pub struct Keys {
    pub indexes: Vec<IndexDef>,
    /// Comments by the number of the index.
    pub comments: BTreeMap<u32, String>,
    /// Numbers of those whose definitions have USING.
    pub typed: BTreeSet<u32>,
    /// Numbers of those that were made for foreign keys.
    pub generated: BTreeSet<u32>,
    pub next_id: u32,
}

impl Keys {
    /// Rows in the order of a hidden number.
    pub fn none() -> Keys {
        Keys {
            indexes: vec![IndexDef::hidden(0)],
            comments: BTreeMap::new(),
            typed: BTreeSet::new(),
            generated: BTreeSet::new(),
            next_id: 1,
        }
    }

    /// Adds a key to a table, and the columns that its expressions take. `asks_null`: true if the definition of a
    /// column says NULL. Errors: 1068, 1171, those of [`index`] and of functional parts.
    pub fn add(
        &mut self,
        context: &Arc<StatementContext>,
        spec: &IndexSpec,
        (table, columns): (&TableDef, &mut Vec<ColumnDef>),
        asks_null: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        let existing: Vec<IndexDef> = self.indexes.iter().filter(|i| !i.parts.is_empty()).cloned().collect();
        let mut functional = None;
        if spec.columns.iter().any(|part| part.expr.is_some()) {
            let name = name(spec, &existing)?;
            let columned = functional::with_columns(context, spec, &name, table, columns)?;
            functional = Some(IndexSpec { name: Some(name), ..columned });
        }
        let spec = functional.as_ref().unwrap_or(spec);
        if spec.kind != IndexKind::Primary {
            let index = IndexDef { id: self.next_id, ..index(spec, columns, &existing)? };
            self.comment(&index, spec);
            self.next_id += 1;
            self.indexes.push(index);
            return Ok(());
        }
        if !self.indexes[0].parts.is_empty() {
            return Err(SqlError::new(ErrorCode::MultiplePriKey, "Multiple primary key defined"));
        }
        let index = IndexDef { id: self.indexes[0].id, ..index(spec, columns, &existing)? };
        let is_virtual = |column: usize| columns[column].generated.as_ref().is_some_and(|g| !g.stored);
        if index.parts.iter().any(|part| is_virtual(part.column)) {
            return Err(unsupported_on_generated("Defining a virtual generated column as primary key"));
        }
        for part in &index.parts {
            if asks_null(part.column) {
                let message =
                    "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
                return Err(SqlError::new(ErrorCode::PrimaryCantHaveNull, message));
            }
            columns[part.column].nullable = false;
        }
        self.comment(&index, spec);
        self.indexes[0] = index;
        Ok(())
    }

    fn comment(&mut self, index: &IndexDef, spec: &IndexSpec) {
        if !spec.comment.is_empty() {
            self.comments.insert(index.id, spec.comment.clone());
        }
        if spec.is_typed {
            self.typed.insert(index.id);
        }
        if spec.is_generated {
            self.generated.insert(index.id);
        }
    }

    /// Puts the keys in MySQL's order; those of one rank stay in theirs.
    pub fn sort(&mut self, columns: &[ColumnDef]) {
        self.indexes[1..].sort_by_key(|index| rank(index, columns));
    }
}

/// Leaves out keys that were made for foreign keys and that others begin with (MySQL: `foreign_key_prefix`).
pub fn without_needless<T>(keys: Vec<T>, spec: impl Fn(&T) -> &IndexSpec) -> Vec<T> {
    let begins = |short: &IndexSpec, long: &IndexSpec| {
        let is_same = |(a, b): (&IndexColumn, &IndexColumn)| {
            a.expr.is_none() && b.expr.is_none() && a.prefix == b.prefix && a.name.eq_ignore_ascii_case(&b.name)
        };
        short.columns.len() <= long.columns.len() && short.columns.iter().zip(&long.columns).all(is_same)
    };
    let mut needed = vec![true; keys.len()];
    for (at, key) in keys.iter().enumerate().map(|(at, key)| (at, spec(key))) {
        for before in 0..at {
            let other = spec(&keys[before]);
            if !needed[before] || !(key.is_generated || other.is_generated) {
                continue;
            }
            let key_is_short = key.is_generated && (!other.is_generated || key.columns.len() < other.columns.len());
            let (short, long) = if key_is_short { (key, other) } else { (other, key) };
            if !begins(short, long) {
                continue;
            }
            if key_is_short {
                needed[at] = false;
                break;
            }
            needed[before] = false;
        }
    }
    let mut needed = needed.into_iter();
    keys.into_iter().filter(|_| needed.next().unwrap_or(true)).collect()
}

/// Warning 1831 for each new key that has the parts of one before it.
pub fn warn_of_duplicates(context: &StatementContext, def: &TableDef, is_new: &dyn Fn(&IndexDef) -> bool) {
    for (at, index) in def.indexes.iter().enumerate().filter(|(_, index)| is_new(index)) {
        let is_same = |other: &IndexDef| other.unique == index.unique && other.parts == index.parts;
        let others = def.indexes.iter().enumerate().filter(|(other, _)| *other != at);
        let older = others.filter(|(_, other)| !is_new(other) || other.id < index.id);
        if !index.parts.is_empty() && older.map(|(_, other)| other).any(is_same) {
            let message = format!(
                "Duplicate index '{}' defined on the table '{}.{}'. This is deprecated and will be disallowed in a \
                 future release.",
                index.name, def.database, def.name
            );
            context.warn(ErrorCode::DuplicateIndex, message);
        }
    }
}

/// One key, checked against the columns and the keys that are there already. Its number is the caller's to give.
pub fn index(spec: &IndexSpec, columns: &[ColumnDef], existing: &[IndexDef]) -> Result<IndexDef> {
    if existing.len() >= MAX_KEYS {
        let message = format!("Too many keys specified; max {MAX_KEYS} keys allowed");
        return Err(SqlError::new(ErrorCode::TooManyKeys, message));
    }
    if spec.columns.len() > MAX_PARTS {
        let message = format!("Too many key parts specified; max {MAX_PARTS} parts allowed");
        return Err(SqlError::new(ErrorCode::TooManyKeyParts, message));
    }
    let mut parts: Vec<KeyPart> = Vec::with_capacity(spec.columns.len());
    let mut bytes = 0;
    for c in &spec.columns {
        let part = part(c, columns)?;
        if parts.iter().any(|p| p.column == part.column) {
            return Err(SqlError::duplicate_column(&c.name));
        }
        let column = &columns[part.column];
        let own = column.ty.key_bytes(part.prefix);
        bytes += own;
        if own > MAX_KEY_BYTES || bytes > MAX_KEY_BYTES {
            let message = format!("Specified key was too long; max key length is {MAX_KEY_BYTES} bytes");
            return Err(SqlError::new(ErrorCode::TooLongKey, message));
        }
        parts.push(part);
    }
    if spec.comment.chars().count() > MAX_COMMENT_CHARS {
        let name = spec.name.as_deref().unwrap_or_default();
        let message = format!("Comment for index '{name}' is too long (max = {MAX_COMMENT_CHARS})");
        return Err(SqlError::new(ErrorCode::TooLongComment, message));
    }
    if spec.invisible && spec.kind == IndexKind::Primary {
        let message = "A primary key index cannot be invisible";
        return Err(SqlError::new(ErrorCode::PrimaryKeyCantBeInvisible, message));
    }
    let unique = spec.kind != IndexKind::Plain;
    let name = if spec.kind == IndexKind::Primary { PRIMARY.to_owned() } else { name(spec, existing)? };
    Ok(IndexDef { id: 0, name, parts, unique, invisible: spec.invisible })
}

fn name(spec: &IndexSpec, existing: &[IndexDef]) -> Result<String> {
    let taken = |name: &str| existing.iter().any(|i| i.name.eq_ignore_ascii_case(name));
    match &spec.name {
        Some(name) => {
            check_length(name)?;
            if name.is_empty() || name.ends_with(' ') || name.eq_ignore_ascii_case(PRIMARY) {
                return Err(SqlError::new(ErrorCode::WrongNameForIndex, format!("Incorrect index name '{name}'")));
            }
            if taken(name) {
                return Err(SqlError::new(ErrorCode::DupKeyName, format!("Duplicate key name '{name}'")));
            }
            Ok(name.clone())
        }
        None => {
            let first = match spec.columns.first() {
                Some(c) if c.expr.is_some() => "functional_index",
                first => first.map_or("key", |c| &c.name),
            };
            if !taken(first) && !first.eq_ignore_ascii_case(PRIMARY) {
                return Ok(first.to_owned());
            }
            // At most MAX_KEYS names are taken.
            let free = (2..MAX_KEYS + 3).map(|n| format!("{first}_{n}")).find(|n| !taken(n));
            free.ok_or_else(|| SqlError::internal("no free index name"))
        }
    }
}

fn part(c: &IndexColumn, columns: &[ColumnDef]) -> Result<KeyPart> {
    let at = columns.iter().position(|d| d.name.eq_ignore_ascii_case(&c.name)).ok_or_else(|| {
        let message = format!("Key column '{}' doesn't exist in table", c.name);
        SqlError::new(ErrorCode::KeyColumnDoesNotExist, message)
    })?;
    let ty = &columns[at].ty;
    if *ty == SqlType::Json {
        let message =
            format!("JSON column '{}' supports indexing only via generated columns on a specified JSON path.", c.name);
        return Err(SqlError::new(ErrorCode::JsonUsedAsKey, message));
    }
    let wrong_prefix = || {
        SqlError::new(
            ErrorCode::WrongPrefixKey,
            "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or \
             the storage engine doesn't support unique prefix keys",
        )
    };
    let long = ty.is_long();
    let prefix = match (c.prefix, ty) {
        (None | Some(0), _) if long => {
            let message = format!("BLOB/TEXT column '{}' used in key specification without a key length", c.name);
            return Err(SqlError::new(ErrorCode::BlobKeyWithoutLength, message));
        }
        (None, _) => None,
        (Some(0), _) => return Err(wrong_prefix()),
        (Some(n), SqlType::Text { length, .. } | SqlType::Bytes { length, .. }) => match n.cmp(length) {
            std::cmp::Ordering::Less => Some(n),
            // The whole value is no prefix; but the TEXT family never counts as held whole.
            std::cmp::Ordering::Equal if !long => None,
            std::cmp::Ordering::Equal => Some(n),
            std::cmp::Ordering::Greater => return Err(wrong_prefix()),
        },
        (Some(_), _) => return Err(wrong_prefix()),
    };
    Ok(KeyPart { column: at, prefix, descending: c.descending })
}

/// The rank of a key in MySQL's order: primary, unique, others; of unique ones those without NULLs first, then those
/// without prefixes; keys of virtual columns behind the others of their kind; then as defined (MySQL: `sort_keys`).
pub fn rank(index: &IndexDef, columns: &[ColumnDef]) -> u8 {
    let any = |is: &dyn Fn(&KeyPart) -> bool| index.parts.iter().any(is);
    let is_virtual = any(&|part| columns[part.column].generated.as_ref().is_some_and(|g| !g.stored));
    let has_nulls = any(&|part| columns[part.column].nullable);
    let is_cut = any(&|part| part.prefix.is_some());
    match (index.unique, is_virtual) {
        _ if index.name == PRIMARY => 0,
        (true, false) => 1 + 2 * u8::from(has_nulls) + u8::from(is_cut),
        (true, true) => 5,
        (false, false) => 6,
        (false, true) => 7,
    }
}

/// Error 1075: an AUTO_INCREMENT column that is not the only one, or does not lead a key.
pub fn check_auto_increment(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    let mut auto = columns.iter().enumerate().filter(|(_, c)| c.auto_increment);
    let Some((at, _)) = auto.next() else { return Ok(()) };
    let leads = indexes.iter().any(|i| i.parts.first().is_some_and(|p| p.column == at));
    if leads && auto.next().is_none() {
        return Ok(());
    }
    Err(SqlError::new(
        ErrorCode::WrongAutoKey,
        "Incorrect table definition; there can be only one auto column and it must be defined as a key",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::{Collation, TextKind};

    fn column(name: &str, ty: SqlType) -> ColumnDef {
        ColumnDef::plain(name, ty, true)
    }

    fn spec(name: Option<&str>, columns: &[(&str, Option<u32>)]) -> IndexSpec {
        let columns =
            columns.iter().map(|(n, p)| IndexColumn { name: (*n).into(), expr: None, prefix: *p, descending: false });
        let name = name.map(str::to_owned);
        IndexSpec {
            kind: IndexKind::Plain,
            name,
            columns: columns.collect(),
            comment: String::new(),
            invisible: false,
            is_typed: false,
            is_generated: false,
        }
    }

    #[test]
    fn limits_and_names() {
        let text = SqlType::Text { kind: TextKind::Text, length: 65535, collation: Collation::DEFAULT };
        let columns = [
            column("i", SqlType::INT),
            column("v", SqlType::varchar(10, Collation::DEFAULT)),
            column("w", SqlType::varchar(1000, Collation::DEFAULT)),
            column("t", text),
        ];
        let number = |s: IndexSpec| index(&s, &columns, &[]).unwrap_err().code.number();
        assert_eq!(number(spec(None, &[("x", None)])), 1072);
        assert_eq!(number(spec(None, &[("i", Some(2))])), 1089);
        assert_eq!(number(spec(None, &[("v", Some(11))])), 1089);
        assert_eq!(number(spec(None, &[("t", None)])), 1170);
        assert_eq!(number(spec(None, &[("w", None)])), 1071);
        assert_eq!(number(spec(None, &[("i", None), ("I", None)])), 1060);
        assert_eq!(number(spec(Some("primary"), &[("i", None)])), 1280);
        assert_eq!(index(&spec(None, &[("v", Some(10))]), &columns, &[]).unwrap().parts[0].prefix, None);
        let first = index(&spec(None, &[("v", Some(5))]), &columns, &[]).unwrap();
        assert_eq!((first.name.as_str(), first.parts[0].prefix), ("v", Some(5)));
        let second = index(&spec(None, &[("V", None)]), &columns, std::slice::from_ref(&first)).unwrap();
        assert_eq!(second.name, "V_2");
        assert_eq!(index(&spec(Some("V"), &[("i", None)]), &columns, &[first]).unwrap_err().code.number(), 1061);
    }
}
