//! JSON_TABLE: a table that is made of a document for each row of what stands to its left.
//!
//! It is bound as a table over one row without columns. Where its document mentions tables to the left,
//! [`super::lateral`] puts them in the place of that row.

use super::{
    binder::Binder,
    from::{Joined, NamedColumn},
    scope::{Clause, FromClause, Names, Relation, Scope},
    stored_shape::unnamed,
    table::column_names,
};
use crate::{
    ColumnSpec,
    parse::json_table::{ValueColumn, WrittenColumn, WrittenFallback, read_columns},
};
use muster_algebra::{
    ColId, ColumnMeta, ColumnOrigin, DeclaredColumn, JsonTable, JsonTableColumn, JsonTableContent, JsonTableFallback,
    JsonTableRows, Rel,
};
use muster_functions::json::column::{column_error, column_value};
use muster_types::{
    BytesKind, Collation, ErrorCode, MemberList, Result, SqlError, SqlType, TextKind,
    json::{self, JsonNode, JsonPath, JsonView},
    store::StoredType,
};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, TableAlias, TableFactor, Value};

const NAME: &str = "json_table";
/// Nested paths that a table may have.
const NESTED_MAX: usize = 16;

/// A call as the parser has made it.
pub(super) struct JsonTableCall<'q> {
    document: &'q Expr,
    path: &'q Expr,
    columns: &'q str,
    alias: Option<&'q TableAlias>,
}

impl<'q> JsonTableCall<'q> {
    /// The call that a table is; `None` for another table.
    pub fn of(factor: &'q TableFactor) -> Option<JsonTableCall<'q>> {
        let TableFactor::Table { name, alias, args: Some(args), .. } = factor else { return None };
        if !name.to_string().eq_ignore_ascii_case(NAME) {
            return None;
        }
        let expr = |arg: &'q FunctionArg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        };
        let [document, path, columns] = args.args.as_slice() else { return None };
        let Expr::Value(columns) = expr(columns)? else { return None };
        let Value::SingleQuotedString(columns) = &columns.value else { return None };
        Some(JsonTableCall { document: expr(document)?, path: expr(path)?, columns, alias: alias.as_ref() })
    }
}

/// The columns bound so far.
struct BoundColumns {
    named: Vec<NamedColumn>,
    outputs: Vec<ColId>,
    nested: usize,
    alias: String,
}

impl Binder<'_> {
    /// The table of a call. `scope`: what its document sees. Errors: 3667 without an alias, 1210 for a subquery in the
    /// document, 3146 for a document of another type, 3143 for a wrong path, those of the columns.
    pub(super) fn json_table(&mut self, call: JsonTableCall, scope: &Scope, names: &Names) -> Result<Joined> {
        let Some(alias) = call.alias else {
            let message = "Every table function must have an alias";
            return Err(SqlError::new(ErrorCode::TableFunctionMustHaveAlias, message));
        };
        let name = &alias.name.value;
        if !column_names(alias)?.is_empty() {
            return Err(SqlError::syntax(name, 1));
        }
        self.count_table()?;
        let document = self.expression(call.document, scope, names, Clause::TableFunction)?;
        if document.expr.has_subquery() {
            return Err(SqlError::new(ErrorCode::WrongArguments, "Incorrect arguments to JSON_TABLE"));
        }
        match document.ty {
            SqlType::Null | SqlType::Json | SqlType::Text { .. } => {}
            SqlType::Bytes { .. } => {
                let message = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
                return Err(SqlError::new(ErrorCode::InvalidJsonCharset, message));
            }
            _ => {
                let message = format!(
                    "Invalid data type for JSON data in argument 1 to function {NAME}; a JSON string or JSON type is \
                     required."
                );
                return Err(SqlError::new(ErrorCode::InvalidTypeForJson, message));
            }
        }
        let path = self.expression(call.path, scope, names, Clause::TableFunction)?;
        let path = path.as_literal().and_then(|path| path.to_text(0)).ok_or_else(|| SqlError::syntax(call.path, 1))?;
        JsonPath::parse(&path)?;
        let mut bound = BoundColumns { named: Vec::new(), outputs: Vec::new(), nested: 0, alias: name.clone() };
        let rows = self.json_rows(path, &read_columns(call.columns)?, &mut bound)?;
        let table = JsonTable {
            alias: name.clone(),
            document: document.expr,
            rows,
            outputs: bound.outputs,
            date_modes: self.env.session.date_modes().bits(),
            columns_text: call.columns.to_owned(),
        };
        let rel = Rel::JsonTable { input: Box::new(Rel::dual()), table: Box::new(table), keeps: false };
        for (column, id) in &bound.named {
            self.columns.set_shown_origin(*id, ColumnOrigin { alias: name.clone(), ..unnamed(column) });
        }
        let joined = Joined { rel, from: FromClause::single(Relation::derived(name), bound.named) };
        self.note_table(name, None, &joined);
        Ok(joined)
    }

    fn json_rows(&mut self, path: String, list: &[WrittenColumn], bound: &mut BoundColumns) -> Result<JsonTableRows> {
        let mut rows = JsonTableRows { path, columns: Vec::new(), nested: Vec::new() };
        for written in list {
            match written {
                WrittenColumn::Ordinality(name) => {
                    let stored = StoredType::new(SqlType::BIGINT);
                    rows.columns.push(self.json_column(name, stored, None, JsonTableContent::Ordinality, bound)?);
                }
                WrittenColumn::Value(column) => {
                    let (name, ty) = (&column.spec.name, self.json_column_type(&column.spec)?);
                    let date_modes = self.env.session.date_modes();
                    let stored = StoredType { date_modes, digits: column.spec.digits, ..StoredType::new(ty) };
                    let content = self.json_content(column, stored)?;
                    rows.columns.push(self.json_column(name, stored, column.spec.display_width, content, bound)?);
                }
                WrittenColumn::Nested { path, columns } => {
                    bound.nested += 1;
                    // The first path counts as well.
                    if bound.nested >= NESTED_MAX {
                        let message = format!(
                            "More than supported {NESTED_MAX} NESTED PATHs were found in JSON_TABLE '{}'",
                            bound.alias
                        );
                        return Err(SqlError::new(ErrorCode::JsonTableNestedPaths, message));
                    }
                    JsonPath::parse(path)?;
                    rows.nested.push(self.json_rows(path.clone(), columns, bound)?);
                }
            }
        }
        Ok(rows)
    }

    /// A column of the query. Error: 1060 for a name that another one has.
    fn json_column(
        &mut self,
        name: &str,
        stored: StoredType,
        display_width: Option<u8>,
        content: JsonTableContent,
        bound: &mut BoundColumns,
    ) -> Result<JsonTableColumn> {
        if bound.named.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(SqlError::duplicate_column(name));
        }
        let StoredType { ty, digits, .. } = stored;
        let decimals = digits.map(|digits| digits.scale);
        let meta = ColumnMeta { name: name.to_owned(), ty, nullable: true, origin: None, decimals };
        let id = self.columns.add(meta);
        self.columns.set_declared(id, Some(DeclaredColumn { digits, display_width }));
        let position = bound.outputs.len();
        bound.outputs.push(id);
        bound.named.push((name.to_owned(), id));
        Ok(JsonTableColumn { position, name: name.to_owned(), ty, digits, content })
    }

    fn json_content(&mut self, column: &ValueColumn, stored: StoredType) -> Result<JsonTableContent> {
        let path = column.path.clone();
        JsonPath::parse(&path)?;
        if column.exists {
            return Ok(JsonTableContent::Exists { path });
        }
        if column.is_reversed {
            self.warn(
                ErrorCode::DeprecatedSyntax,
                "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is \
                 deprecated syntax and will be removed in a future release. Specify ON EMPTY before ON ERROR instead.",
            );
        }
        let on_empty = self.json_fallback(column.on_empty.as_ref(), &column.spec.name, stored)?;
        let on_error = self.json_fallback(column.on_error.as_ref(), &column.spec.name, stored)?;
        Ok(JsonTableContent::Value { path, on_empty, on_error })
    }

    /// The column's value where it has none. Errors: 1235 for a DEFAULT that is no text, 3141 for one that is no
    /// JSON, 1067 for a container where the column holds none, 3156 and 3669 for a value that the column does not hold.
    fn json_fallback(
        &self,
        written: Option<&WrittenFallback>,
        name: &str,
        stored: StoredType,
    ) -> Result<JsonTableFallback> {
        let text = match written {
            None | Some(WrittenFallback::Null) => return Ok(JsonTableFallback::Null),
            Some(WrittenFallback::Error) => return Ok(JsonTableFallback::Error),
            Some(WrittenFallback::OtherDefault) => {
                let what = "non-string DEFAULT value for a column in a JSON_TABLE expression";
                return Err(SqlError::unsupported(what));
            }
            Some(WrittenFallback::Default(text)) => text,
        };
        let document = json::parse_to_bytes(text).map_err(|error| error.in_argument(1, "JSON_TABLE"))?;
        let view = JsonView::new(&document);
        if stored.ty != SqlType::Json && matches!(view.node(), JsonNode::Array(_) | JsonNode::Object(_)) {
            return Err(SqlError::new(ErrorCode::InvalidDefault, format!("Invalid default value for '{name}'")));
        }
        let value = column_value(view, stored).map_err(|fault| column_error(fault, name))?;
        Ok(JsonTableFallback::Default(value))
    }

    /// The type of a column as CREATE TABLE has it. A text without a character set has the connection's collation.
    /// Errors: those of types.
    fn json_column_type(&mut self, spec: &ColumnSpec) -> Result<SqlType> {
        spec.deprecated.iter().for_each(|part| self.warn_of(part.warning()));
        let collation = self.written_collation(spec)?;
        Ok(match spec.ty {
            SqlType::Enum(members) => SqlType::Enum(distinct(members.with_collation(collation), &spec.name, "ENUM")?),
            SqlType::Set(members) => SqlType::Set(distinct(members.with_collation(collation), &spec.name, "SET")?),
            SqlType::Text { kind, length, .. } if collation == Collation::Binary => {
                let kind = match kind {
                    TextKind::Char => BytesKind::Binary,
                    TextKind::VarChar => BytesKind::VarBinary,
                    TextKind::TinyText => BytesKind::TinyBlob,
                    TextKind::Text => BytesKind::Blob,
                    TextKind::MediumText => BytesKind::MediumBlob,
                    TextKind::LongText => BytesKind::LongBlob,
                };
                SqlType::Bytes { kind, length }
            }
            SqlType::Text { kind, length, .. } => {
                let max = match kind {
                    TextKind::Char => 255,
                    TextKind::VarChar => 65_535 / u64::from(collation.charset_max_bytes()),
                    _ => u64::MAX,
                };
                if u64::from(length) > max {
                    return Err(SqlError::column_too_long(&spec.name, max));
                }
                SqlType::Text { kind, length, collation }
            }
            ty => ty,
        })
    }

    fn written_collation(&self, spec: &ColumnSpec) -> Result<Collation> {
        let charset =
            |name: &str| Collation::default_of_charset(name).ok_or_else(|| SqlError::unknown_character_set(name));
        let of_charset = spec.charset.as_deref().map(charset).transpose()?;
        let named = match spec.collation.as_deref() {
            None => None,
            Some(name) => Some(Collation::from_name(name).ok_or_else(|| SqlError::unknown_collation(name))?),
        };
        if let (Some(of_charset), Some(named)) = (of_charset, named)
            && of_charset.charset() != named.charset()
        {
            return Err(SqlError::collation_of_other_charset(named.name(), of_charset.charset()));
        }
        let collation = named.or(of_charset).unwrap_or_else(|| self.default_collation());
        Ok(match spec.is_binary {
            true => Collation::binary_of_charset(collation.character_set()),
            false => collation,
        })
    }
}

/// Error 1291 if two members are equal.
fn distinct(members: MemberList, name: &str, kind: &str) -> Result<MemberList> {
    match members.duplicate() {
        None => Ok(members),
        Some(value) => {
            let message = format!("Column '{name}' has duplicated value '{value}' in {kind}");
            Err(SqlError::new(ErrorCode::DuplicatedValueInType, message))
        }
    }
}
