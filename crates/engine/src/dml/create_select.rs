//! CREATE TABLE .. SELECT: a table of the columns that a query gives, then its rows.

use crate::{
    accounts::Privilege,
    catalog::TableEntry,
    ddl::{UnfinishedTable, columns, create_table_to_fill},
    statement::{Done, StatementContext, query},
};
use muster_algebra::{ColumnMeta, DefaultValue, TableId};
use muster_sql::{ColumnSpec, CreateTable, CreateTableSelect, DefaultClause, Statement};
use muster_types::{FloatDigits, Result, SqlError, SqlType, Value, store::implicit_default};
use std::sync::Arc;

/// Makes the table and inserts the rows. Others see it with all its rows, or never.
pub fn create_table_select(
    context: &Arc<StatementContext>,
    statement: &CreateTableSelect,
    parameters: &[Value],
) -> Result<Done> {
    let CreateTableSelect { table, query, ignore, replace } = statement;
    let (database, name) = context.qualify(&table.name)?;
    if !table.temporary {
        context.rights.check_table(&database, &name, Privilege::Insert, "INSERT")?;
    }
    let (outputs, read) = outputs(context, query, parameters)?;
    let own = context.tables.temporary();
    let is_read = |entry: &Arc<TableEntry>| read.contains(&entry.def.id);
    if table.temporary && own.definitions.table(&database, &name).is_ok_and(is_read) {
        // The table that is there is opened already.
        return Err(SqlError::cannot_reopen(&name));
    }
    let quoted: Vec<String> = outputs.iter().map(|spec| quote(&spec.name)).collect();
    let Some(made) = created(context, table, outputs)? else { return Ok(Done::rows(0)) };
    let verb = match (replace, ignore) {
        (true, _) => "REPLACE",
        (_, true) => "INSERT IGNORE",
        _ => "INSERT",
    };
    let (into, columns) = (format!("{}.{}", quote(&database), quote(&name)), quoted.join(", "));
    let parsed = muster_sql::parse(&format!("{verb} INTO {into} ({columns}) {}", query.text));
    let inserted = parsed.and_then(|statement| match statement {
        Statement::Insert(insert) => super::insert(context, &insert, parameters),
        _ => Err(SqlError::internal("an INSERT is another statement")),
    });
    let inserted = inserted?;
    made.finish()?;
    Ok(inserted)
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Makes the table of the columns that are only defined, then those of the query; one that is both has the type of its
/// definition. Returns `None` if the table is there already and that is no error.
fn created<'a>(
    context: &'a Arc<StatementContext>,
    table: &CreateTable,
    outputs: Vec<ColumnSpec>,
) -> Result<Option<UnfinishedTable<'a>>> {
    let mut whole = table.clone();
    let mut defined = std::mem::take(&mut whole.columns);
    for output in outputs {
        let same = defined.iter().position(|column| column.name.eq_ignore_ascii_case(&output.name));
        whole.columns.push(same.map_or(output, |at| defined.remove(at)));
    }
    whole.columns.splice(0..0, defined);
    create_table_to_fill(context, &whole)
}

/// The columns that the query gives, and the tables that it reads.
fn outputs(
    context: &Arc<StatementContext>,
    query: &muster_sql::Query,
    parameters: &[Value],
) -> Result<(Vec<ColumnSpec>, Vec<TableId>)> {
    let (bound, tables) = query::bind(context, query, parameters.into())?;
    let origin_column = |meta: &ColumnMeta| {
        let origin = meta.origin.as_ref()?;
        let entry = tables.definitions().table(&origin.database, &origin.table).ok()?;
        Some(entry.def.columns[entry.def.column(&origin.column)?].clone())
    };
    let default = |meta: &ColumnMeta| {
        let column = origin_column(meta)?;
        match &column.default {
            Some(DefaultValue::Value(value)) => column.ty.shown(value).map(DefaultClause::Value),
            Some(DefaultValue::CurrentTimestamp) => {
                Some(DefaultClause::CurrentTimestamp { fsp: column.ty.fsp().into() })
            }
            Some(DefaultValue::Expr(text)) => muster_sql::parse_expression(text).ok().map(DefaultClause::Expr),
            Some(DefaultValue::Dropped) => None,
            // A number that was made does not make the next one.
            None if column.auto_increment => Some(DefaultClause::Value(Value::Int(0))),
            None => None,
        }
    };
    let spec = |(id, name): &(muster_algebra::ColId, String)| {
        let (meta, declared) = (bound.columns.get(*id), bound.columns.declared(*id));
        let ty = match bound.made.get(id) {
            Some(ty) => *ty,
            _ if meta.origin.is_some() || declared.is_some() || meta.ty.is_text() && bound.columns.is_chosen(*id) => {
                meta.ty
            }
            _ => columns::holding(meta.ty),
        };
        let digits = meta.decimals.map(|scale| FloatDigits { precision: FLOAT_DIGITS + scale, scale });
        let is_float = matches!(ty.stored_type(), SqlType::Float | SqlType::Double);
        ColumnSpec {
            digits: match declared {
                Some(declared) => declared.digits,
                None => digits.filter(|_| is_float && meta.origin.is_some()),
            },
            display_width: match declared {
                Some(declared) => declared.display_width,
                None => origin_column(meta).and_then(|column| column.display_width),
            },
            collation: ty.collation().map(|collation| collation.name().to_owned()),
            copies_collation: !origin_column(meta).is_some_and(|column| column.explicit_collation),
            nullable: Some(bound.columns.is_nullable_result(*id)),
            default: match meta.origin {
                Some(_) => default(meta),
                None if bound.columns.is_nullable_result(*id) => None,
                None => computed_default(ty, context),
            },
            ..ColumnSpec::plain(name.clone(), ty)
        }
    };
    Ok((bound.outputs.iter().map(spec).collect(), tables.used()))
}

/// The default of a computed column that cannot be NULL: the implicit one of its type, which long texts have not, and
/// dates only without a strict `sql_mode`.
fn computed_default(ty: SqlType, context: &StatementContext) -> Option<DefaultClause> {
    let is_date = ty.is_temporal() && !matches!(ty, SqlType::Time { .. });
    let has_one = !(ty.is_long() || is_date && context.is_strict());
    implicit_default(ty).filter(|_| has_one).map(DefaultClause::Value)
}

/// Digits in front of the point of a floating-point column whose digits behind it are known.
const FLOAT_DIGITS: u8 = 17;
