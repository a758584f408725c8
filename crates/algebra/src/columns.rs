//! Columns of one query. Each has a number of its own, so that moving an expression never renames it.

use crate::query_block::{BlockId, QueryBlocks};
use muster_types::{FloatDigits, SqlType};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A column of a query: unique over the whole statement, subqueries included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColId(pub u32);

/// The column of a table that a column's values come from unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnOrigin {
    pub database: String,
    /// The table's own name.
    pub table: String,
    /// The name it has in the query.
    pub alias: String,
    pub column: String,
}

/// The name, type and origin of a column while a statement is bound and planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnMeta {
    /// Name as the user sees it in the result.
    pub name: String,
    pub ty: SqlType,
    /// True if NULL can occur where the column is produced; an outer join above can still add NULLs.
    pub nullable: bool,
    pub origin: Option<ColumnOrigin>,
    /// Digits behind the point that a floating-point column shows; `None`: as many as it takes.
    pub decimals: Option<u8>,
}

/// What MySQL tells clients of a computed column where the type of its values does not say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultShape {
    /// The type in place of the column's. Both are texts or byte strings, or integers, or the column has nothing but
    /// NULL, or it is a number that is declared as a YEAR, or the text of an ENUM or SET.
    pub ty: Option<SqlType>,
    /// Characters of the longest value, bytes of a byte string.
    pub length: Option<u32>,
    /// Digits behind the point.
    pub decimals: Option<u8>,
    pub nullable: Option<bool>,
    /// True if a number that has a sign, or a byte string, is declared as UNSIGNED.
    pub unsigned: bool,
    /// True for a column of a temporary table, such as that of a UNION: its flags are those of a table's column.
    pub stored: bool,
    /// True for a date or time that comes out of a view or derived table which is merged: for clients it has the length
    /// and the character set of a text.
    pub in_client_charset: bool,
}

/// All columns of one statement, by number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    metas: Vec<ColumnMeta>,
    /// Characters of computed integers, of columns of which they are known.
    lengths: BTreeMap<ColId, u32>,
    /// Computed values that are one of several; see [`Columns::is_chosen`].
    chosen: BTreeSet<ColId>,
    /// The origins of columns of views and derived tables as clients are told about them.
    shown_origins: BTreeMap<ColId, ColumnOrigin>,
    /// Columns of the result that an outer join can make NULL.
    null_extended: BTreeSet<ColId>,
    /// See [`ResultShape`].
    shapes: BTreeMap<ColId, ResultShape>,
    /// Columns of JSON_TABLE, which CREATE TABLE .. SELECT makes as they are declared.
    declared: BTreeMap<ColId, DeclaredColumn>,
    /// The SELECTs of the statement.
    pub blocks: QueryBlocks,
}

/// What the declaration of a column says beside its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredColumn {
    /// M and D of `FLOAT(M,D)` and `DOUBLE(M,D)`.
    pub digits: Option<FloatDigits>,
    /// The width that is shown: of `TINYINT(1)`.
    pub display_width: Option<u8>,
}

impl Columns {
    pub fn add(&mut self, meta: ColumnMeta) -> ColId {
        self.metas.push(meta);
        ColId(self.metas.len() as u32 - 1)
    }

    /// A column like another one, of the same query block.
    pub fn add_copy(&mut self, id: ColId) -> ColId {
        let (meta, block) = (self.get(id).clone(), self.blocks.made(id));
        self.begin_block(block);
        let copy = self.add(meta);
        self.begin_block(None);
        copy
    }

    /// Says which query block makes the columns that are added from now on.
    pub fn begin_block(&mut self, block: Option<BlockId>) {
        self.blocks.change(ColId(self.metas.len() as u32), block);
    }

    /// A computed column.
    pub fn add_computed(&mut self, name: impl Into<String>, ty: SqlType, nullable: bool) -> ColId {
        self.add(ColumnMeta { name: name.into(), ty, nullable, origin: None, decimals: None })
    }

    pub fn get(&self, id: ColId) -> &ColumnMeta {
        &self.metas[id.0 as usize]
    }

    pub fn ty(&self, id: ColId) -> SqlType {
        self.get(id).ty
    }

    /// Gives a column a type that holds all its values, too.
    pub fn set_type(&mut self, id: ColId, ty: SqlType) {
        self.metas[id.0 as usize].ty = ty;
    }

    /// Says that a column's values come from there unchanged.
    pub fn set_origin(&mut self, id: ColId, origin: Option<ColumnOrigin>) {
        self.metas[id.0 as usize].origin = origin;
    }

    /// Says how many digits behind the point a floating-point column shows.
    pub fn set_decimals(&mut self, id: ColId, decimals: Option<u8>) {
        self.metas[id.0 as usize].decimals = decimals;
    }

    /// Says that an outer join can make a column of the result NULL.
    pub fn set_null_extended(&mut self, id: ColId) {
        self.null_extended.insert(id);
    }

    /// Returns true if a column of the result can be NULL.
    pub fn is_nullable_result(&self, id: ColId) -> bool {
        let shown = self.shape(id).nullable;
        self.null_extended.contains(&id) || shown.unwrap_or(self.get(id).nullable)
    }

    /// The origin of a column of a view or derived table as a client is told about it: the table is the view.
    pub fn shown_origin(&self, id: ColId) -> Option<&ColumnOrigin> {
        self.shown_origins.get(&id)
    }

    pub fn set_shown_origin(&mut self, id: ColId, origin: ColumnOrigin) {
        self.shown_origins.insert(id, origin);
    }

    /// How many characters MySQL declares for the integers of a computed column; `None`: as many as its type has.
    pub fn length(&self, id: ColId) -> Option<u32> {
        self.lengths.get(&id).copied()
    }

    /// Says how many characters MySQL declares for the integers of a computed column.
    pub fn set_length(&mut self, id: ColId, length: Option<u32>) {
        if let Some(length) = length {
            self.lengths.insert(id, length);
        }
    }

    /// What clients are told of a column beside its type.
    pub fn shape(&self, id: ColId) -> ResultShape {
        self.shapes.get(&id).copied().unwrap_or_default()
    }

    /// Says what clients are told of a column beside its type.
    pub fn set_shape(&mut self, id: ColId, shape: ResultShape) {
        if shape != ResultShape::default() {
            self.shapes.insert(id, shape);
        }
    }

    /// Returns true for a computed date or time that is one of several values, as of MAX or IF: for clients it is text
    /// in the connection's character set. Also for a text of MIN or MAX, which has the type of their column.
    pub fn is_chosen(&self, id: ColId) -> bool {
        self.chosen.contains(&id)
    }

    /// Says that a computed value is one of several.
    pub fn set_chosen(&mut self, id: ColId) {
        self.chosen.insert(id);
    }

    /// The declaration of a column of JSON_TABLE.
    pub fn declared(&self, id: ColId) -> Option<DeclaredColumn> {
        self.declared.get(&id).copied()
    }

    /// Says how a column of JSON_TABLE is declared; `None` for other columns.
    pub fn set_declared(&mut self, id: ColId, declared: Option<DeclaredColumn>) {
        if let Some(declared) = declared {
            self.declared.insert(id, declared);
        }
    }

    pub fn len(&self) -> usize {
        self.metas.len()
    }

    pub fn is_empty(&self) -> bool {
        self.metas.is_empty()
    }
}
