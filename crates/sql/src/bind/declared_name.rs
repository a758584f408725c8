//! Names of result columns that are columns of views and derived tables.

use super::{
    binder::Binder,
    dml::RelationSource,
    scope::{Clause, FromClause},
};
use sqlparser::ast::{self, UnaryOperator};

impl Binder<'_> {
    /// The name of a column as a view or derived table has it, if that is merged into the query: it is the name of what
    /// stands there. Of a table, and of rows that are kept, a column is called as it is written.
    pub(super) fn declared_name(&self, expr: &ast::Expr, from: &FromClause) -> Option<String> {
        let mut inner = expr;
        while let ast::Expr::Nested(operand) | ast::Expr::UnaryOp { op: UnaryOperator::Plus, expr: operand } = inner {
            inner = operand;
        }
        let parts: Vec<&str> = match inner {
            ast::Expr::Identifier(name) => vec![&name.value],
            ast::Expr::CompoundIdentifier(names) => names.iter().map(|name| name.value.as_str()).collect(),
            _ => return None,
        };
        let id = from.find(&parts, Clause::FieldList.name()).ok().flatten()?;
        let column = from.columns.iter().find(|column| column.id == id)?;
        let is_merged = match from.relations[column.relation].source {
            RelationSource::Table => {
                let origin = self.columns.get(id).origin.as_ref();
                origin.is_some_and(|origin| is_system_view(&origin.database, &origin.table))
            }
            RelationSource::Derived | RelationSource::View(_) => !self.kept_apart_columns.contains(&id),
        };
        is_merged.then(|| column.name.clone())
    }
}

/// Returns true for the tables of `information_schema` that are views in MySQL 8.
fn is_system_view(database: &str, table: &str) -> bool {
    // In order.
    const VIEWS: &[&str] = &[
        "CHARACTER_SETS",
        "CHECK_CONSTRAINTS",
        "COLUMNS",
        "COLUMNS_EXTENSIONS",
        "COLUMN_STATISTICS",
        "EVENTS",
        "FILES",
        "KEYWORDS",
        "KEY_COLUMN_USAGE",
        "PARAMETERS",
        "PARTITIONS",
        "REFERENTIAL_CONSTRAINTS",
        "ROUTINES",
        "SCHEMATA",
        "SCHEMATA_EXTENSIONS",
        "STATISTICS",
        "TABLES",
        "TABLES_EXTENSIONS",
        "TABLE_CONSTRAINTS",
        "TABLE_CONSTRAINTS_EXTENSIONS",
        "TRIGGERS",
        "USER_ATTRIBUTES",
        "VIEWS",
        "VIEW_ROUTINE_USAGE",
        "VIEW_TABLE_USAGE",
    ];
    database.eq_ignore_ascii_case("information_schema")
        && VIEWS.binary_search(&table.to_ascii_uppercase().as_str()).is_ok()
}
