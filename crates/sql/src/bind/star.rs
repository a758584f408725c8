//! `*` and `t.*` in a select list, and a text in which the columns they stood for are written out.

use super::{
    binder::Binder,
    from::name_parts,
    scope::{FromClause, Names},
    select::Selected,
};
use crate::parse::offset_of;
use muster_algebra::ColumnUse;
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::{
    ast::{self, SelectItem, SelectItemQualifiedWildcardKind, Spanned},
    tokenizer::Span,
};

/// A `*` or `t.*`: its place in the statement's text, and the columns that it stood for, as they can be written there.
#[derive(Debug, Clone, PartialEq)]
pub struct Star {
    place: Span,
    columns: Vec<String>,
}

/// The statement's text with the columns in place of each `*`.
pub fn without_stars(text: &str, stars: &[Star]) -> String {
    let mut stars: Vec<&Star> = stars.iter().collect();
    stars.sort_by_key(|s| s.place.start);
    let (mut whole, mut rest) = (String::with_capacity(text.len()), 0);
    for star in stars {
        let (start, end) = (offset_of(text, star.place.start), offset_of(text, star.place.end));
        // A query block that is bound twice has its stars twice.
        if start >= rest {
            whole.push_str(&text[rest..start]);
            let columns = star.columns.join(", ");
            match text[start..end].eq_ignore_ascii_case("TABLE") {
                // `TABLE t`, whose `*` has the place of the word.
                true => whole.push_str(&format!("SELECT {columns} FROM")),
                false => whole.push_str(&columns),
            }
            rest = end;
        }
    }
    whole.push_str(&text[rest..]);
    whole
}

impl Binder<'_> {
    /// The columns at these positions in FROM, for which `item` stands.
    pub(super) fn star<'q>(
        &mut self,
        item: &SelectItem,
        from: &FromClause,
        positions: Vec<usize>,
        names: &Names,
    ) -> Vec<Selected<'q>> {
        if names.view_depth == 0 {
            let columns = positions.iter().map(|i| written(from, *i)).collect();
            self.stars.push(Star { place: item.span(), columns });
        }
        self.use_unnamed(positions.iter().map(|i| &from.columns[*i].id), ColumnUse::Select);
        let selected = |i: usize| {
            let column = &from.columns[i];
            let name = column.name.clone();
            Selected {
                item: self.bare(self.column_item(column.id)),
                alias: Some(name.clone()),
                name,
                ast: None,
                explicit: false,
            }
        };
        positions.into_iter().map(selected).collect()
    }
}

/// Positions of the columns of `t.*`. Error 1051 for a table that FROM does not have.
pub(super) fn columns_of_table(kind: &SelectItemQualifiedWildcardKind, from: &FromClause) -> Result<Vec<usize>> {
    let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
        return Err(SqlError::unsupported("expr.*"));
    };
    let (database, table) = name_parts(name)?;
    let qualifier: Vec<&str> = database.into_iter().chain([table]).collect();
    let Some(relation) = from.relations.iter().position(|r| from.matches(r, &qualifier)) else {
        return Err(SqlError::new(ErrorCode::UnknownTable, format!("Unknown table '{}'", qualifier.join("."))));
    };
    let is_shown = |i: &usize| from.columns[*i].relation == relation && !from.columns[*i].invisible;
    Ok((0..from.columns.len()).filter(is_shown).collect())
}

/// A column as `table`.`column`, with the database where two tables of one name need it.
fn written(from: &FromClause, position: usize) -> String {
    let column = &from.columns[position];
    let relation = &from.relations[column.relation];
    let alone = from.relations.iter().filter(|r| r.alias == relation.alias).count() == 1;
    let database = relation.database.as_ref().filter(|_| !alone);
    let parts = database.into_iter().chain([&relation.alias, &column.name]);
    parts.map(|name| format!("`{}`", name.replace('`', "``"))).collect::<Vec<_>>().join(".")
}

/// Error 1235 for a `*` with the options that other systems have.
pub(super) fn plain_wildcard(options: &ast::WildcardAdditionalOptions) -> Result<()> {
    let ast::WildcardAdditionalOptions {
        opt_ilike: None,
        opt_exclude: None,
        opt_except: None,
        opt_replace: None,
        opt_rename: None,
        opt_alias: None,
        ..
    } = options
    else {
        return Err(SqlError::unsupported("options of *"));
    };
    Ok(())
}
