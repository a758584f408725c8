//! The rows of one document.

use crate::expr::row_values::Results;
use arrow_array::ArrayRef;
use muster_algebra::{JsonTable, JsonTableColumn, JsonTableContent, JsonTableFallback, JsonTableRows};
use muster_functions::json::column::{column_error, column_value};
use muster_types::{
    ErrorCode, Result, SqlError, SqlType, Value,
    json::{self, JsonNode, JsonPath, JsonValue, JsonView},
    store::{StoreFault, StoredType, store},
    temporal::DateModes,
};

/// A path of the table with its columns, ready to be followed.
pub struct RowPath {
    pub path: JsonPath,
    columns: Vec<Column>,
    nested: Vec<RowPath>,
    /// Positions of the columns of this path and of the paths within.
    positions: Vec<usize>,
}

struct Column {
    position: usize,
    name: String,
    /// With the table in front of it, as messages have a column that is no JSON.
    full_name: String,
    stored: StoredType,
    content: Content,
}

enum Content {
    Ordinality,
    Exists(JsonPath),
    Value { path: JsonPath, on_empty: JsonTableFallback, on_error: JsonTableFallback },
}

impl RowPath {
    /// The paths of the table. Error: an internal one, since the binder has read them.
    pub fn of_table(table: &JsonTable) -> Result<RowPath> {
        RowPath::new(&table.rows, &table.alias, DateModes::from_bits(table.date_modes))
    }

    fn new(rows: &JsonTableRows, alias: &str, modes: DateModes) -> Result<RowPath> {
        let column = |column: &JsonTableColumn| {
            Ok(Column {
                position: column.position,
                name: column.name.clone(),
                full_name: format!("{alias}.{}", column.name),
                stored: StoredType { date_modes: modes, digits: column.digits, ..StoredType::new(column.ty) },
                content: match &column.content {
                    JsonTableContent::Ordinality => Content::Ordinality,
                    JsonTableContent::Exists { path } => Content::Exists(JsonPath::parse(path)?),
                    JsonTableContent::Value { path, on_empty, on_error } => Content::Value {
                        path: JsonPath::parse(path)?,
                        on_empty: on_empty.clone(),
                        on_error: on_error.clone(),
                    },
                },
            })
        };
        Ok(RowPath {
            path: JsonPath::parse(&rows.path)?,
            columns: rows.columns.iter().map(column).collect::<Result<_>>()?,
            nested: rows.nested.iter().map(|nested| RowPath::new(nested, alias, modes)).collect::<Result<_>>()?,
            positions: rows.all_columns().into_iter().map(|column| column.position).collect(),
        })
    }

    /// Adds the rows of one of the values that the path leads to, the `number`th, to `made`. `row`: the values of all
    /// columns so far, in which those of this path are NULL before and afterwards.
    pub fn add_rows(&self, view: JsonView<'_>, number: u64, row: &mut [Value], made: &mut MadeRows) -> Result<()> {
        for column in &self.columns {
            row[column.position] = column.value(view, number)?;
        }
        let before = made.rows;
        for nested in &self.nested {
            for (i, part) in json::seek(view, &nested.path).into_iter().enumerate() {
                nested.add_rows(part, i as u64 + 1, row, made)?;
            }
        }
        if made.rows == before {
            made.push(row)?;
        }
        self.positions.iter().for_each(|position| row[*position] = Value::Null);
        Ok(())
    }
}

impl Column {
    fn value(&self, view: JsonView<'_>, number: u64) -> Result<Value> {
        match &self.content {
            Content::Ordinality => Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX))),
            Content::Exists(path) => {
                let exists = Value::Int(json::has_match(view, path).into());
                store(&exists, self.stored).map_err(|unfit| column_error(unfit.fault, &self.full_name))
            }
            Content::Value { path, on_empty, on_error } => match json::seek(view, path).as_slice() {
                [] => self.instead(on_empty, || {
                    let message = format!("Missing value for JSON_TABLE column '{}'", self.name);
                    SqlError::new(ErrorCode::MissingJsonTableValue, message)
                }),
                found => match self.found(found) {
                    Ok(value) => Ok(value),
                    Err(Unstored::Container) => self.instead(on_error, || {
                        let name = &self.name;
                        let message =
                            format!("Can't store an array or an object in the scalar JSON_TABLE column '{name}'");
                        SqlError::new(ErrorCode::WrongJsonTableValue, message)
                    }),
                    Err(Unstored::Fault(fault)) => self.instead(on_error, || column_error(fault, &self.name)),
                },
            },
        }
    }

    /// The value of the column for what the path has found.
    fn found(&self, found: &[JsonView<'_>]) -> std::result::Result<Value, Unstored> {
        let is_json = self.stored.ty == SqlType::Json;
        match found {
            [one] if matches!(one.node(), JsonNode::Null) => Ok(Value::Null),
            [one] if is_json || !matches!(one.node(), JsonNode::Array(_) | JsonNode::Object(_)) => {
                column_value(*one, self.stored).map_err(Unstored::Fault)
            }
            several if is_json => {
                let parts = several.iter().map(|part| JsonValue::of_view(*part)).collect();
                let array = json::encode(&JsonValue::Array(parts));
                array.map(Value::Json).map_err(|limit| Unstored::Fault(StoreFault::JsonLimit(limit)))
            }
            _ => Err(Unstored::Container),
        }
    }

    fn instead(&self, fallback: &JsonTableFallback, error: impl FnOnce() -> SqlError) -> Result<Value> {
        match fallback {
            JsonTableFallback::Null => Ok(Value::Null),
            JsonTableFallback::Error => Err(error()),
            JsonTableFallback::Default(value) => Ok(value.clone()),
        }
    }
}

/// Why a column does not hold what its path has found.
enum Unstored {
    /// An array, an object, or several values in a column of another type than JSON.
    Container,
    Fault(StoreFault),
}

/// Rows that are made and not delivered yet, by columns.
pub struct MadeRows {
    columns: Vec<Results>,
    pub rows: usize,
    /// Bytes of the texts and documents.
    pub bytes: usize,
}

impl MadeRows {
    pub fn new(types: &[SqlType]) -> MadeRows {
        MadeRows { columns: types.iter().map(|ty| Results::new(*ty, 0)).collect(), rows: 0, bytes: 0 }
    }

    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            self.bytes += match value {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) | Value::Json(bytes) => bytes.len(),
                _ => size_of::<u64>(),
            };
            column.push(value.clone())?;
        }
        self.rows += 1;
        Ok(())
    }

    pub fn finish(self, types: &[SqlType]) -> Result<Vec<ArrayRef>> {
        self.columns.into_iter().zip(types).map(|(column, ty)| column.finish(*ty)).collect()
    }
}
