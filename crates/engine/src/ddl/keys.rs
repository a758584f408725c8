//! Keys of a table: their parts, names, order and limits.

use super::check_length;
use muster_algebra::{ColumnDef, IndexDef};
use muster_sql::{IndexColumn, IndexKind, IndexSpec};
use muster_types::{ErrorCode, KeyPart, Result, SqlError, SqlType};

/// MySQL's limits (manual 15.22).
const MAX_KEYS: usize = 64;
const MAX_PARTS: usize = 16;
const MAX_KEY_BYTES: u64 = 3072;
const MAX_COMMENT_CHARS: usize = 1024;

pub const PRIMARY: &str = "PRIMARY";

/// The keys that the columns and the elements of CREATE TABLE ask for, in MySQL's order: primary, unique, others.
pub fn all_specs(table: &muster_sql::CreateTable) -> Result<Vec<IndexSpec>> {
    let single = |kind, name: &str| IndexSpec {
        kind,
        name: None,
        columns: vec![IndexColumn { name: name.into(), prefix: None, descending: false }],
        comment: String::new(),
    };
    let mut specs: Vec<IndexSpec> = Vec::new();
    for c in &table.columns {
        if c.primary_key {
            specs.push(single(IndexKind::Primary, &c.name));
        }
        if c.unique {
            specs.push(single(IndexKind::Unique, &c.name));
        }
    }
    specs.extend(table.indexes.iter().cloned());
    if specs.iter().filter(|s| s.kind == IndexKind::Primary).count() > 1 {
        return Err(SqlError::new(ErrorCode::MultiplePriKey, "Multiple primary key defined"));
    }
    Ok(specs)
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
    let unique = spec.kind != IndexKind::Plain;
    let name = if spec.kind == IndexKind::Primary { PRIMARY.to_owned() } else { name(spec, existing)? };
    Ok(IndexDef { id: 0, name, parts, unique })
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
            let first = spec.columns.first().map_or("key", |c| &c.name);
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

/// The rank of a key in MySQL's order: primary, unique without NULLs, unique, others; then as defined.
pub fn rank(index: &IndexDef, columns: &[ColumnDef]) -> u8 {
    match () {
        () if index.name == PRIMARY => 0,
        () if index.unique && index.parts.iter().all(|p| !columns[p.column].nullable) => 1,
        () if index.unique => 2,
        () => 3,
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
        ColumnDef {
            name: name.into(),
            ty,
            nullable: true,
            default: None,
            auto_increment: false,
            display_width: None,
            digits: None,
            comment: String::new(),
        }
    }

    fn spec(name: Option<&str>, columns: &[(&str, Option<u32>)]) -> IndexSpec {
        let columns = columns.iter().map(|(n, p)| IndexColumn { name: (*n).into(), prefix: *p, descending: false });
        let name = name.map(str::to_owned);
        IndexSpec { kind: IndexKind::Plain, name, columns: columns.collect(), comment: String::new() }
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
