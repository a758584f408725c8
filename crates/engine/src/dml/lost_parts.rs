//! Notes of the parts of values that columns do not hold, and warnings of delimiters that are deprecated. The values
//! are stored all the same.

use super::convert::Conversion;
use muster_algebra::ColumnDef;
use muster_types::{
    ErrorCode, SqlType, Value,
    cast::warning_of_delimiter,
    store::{deprecated_delimiter, loses_part, text::printable},
};

impl Conversion<'_> {
    /// Warns of a delimiter that is deprecated in the text of a date or time.
    pub fn warn_of_delimiter(&self, column: &ColumnDef, value: &Value, row: u64) {
        let text = match value {
            Value::Text(text) => text.as_str(),
            Value::Bytes(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
            _ => return,
        };
        if let Some(delimiter) = deprecated_delimiter(column.ty, text.as_bytes()) {
            let warning = warning_of_delimiter(text, delimiter, row);
            self.context.warn(warning.code, warning.message);
        }
    }

    /// Notes what the column does not hold of a value that it stores: 1265, for dates and times in a strict `sql_mode`
    /// 1292; warns of deprecated delimiters. `row` counts the statement's rows from 1.
    pub fn note_lost_parts(&self, column: &ColumnDef, value: &Value, stored: &Value, row: u64) {
        self.note_if(loses_part(column.ty, value, stored), column, value, row);
    }

    /// The same, of a value that loses a part or does not.
    pub fn note_if(&self, loses_part: bool, column: &ColumnDef, value: &Value, row: u64) {
        if self.context.filled_table.get().is_some() && !matches!(value, Value::Decimal(_)) {
            // The column is made for the values. A quotient has more digits than it shows.
            return;
        }
        self.warn_of_delimiter(column, value, row);
        if !loses_part {
            return;
        }
        let what = match column.ty.stored_type() {
            SqlType::Date => Some("date"),
            SqlType::Time { .. } => Some("time"),
            _ => None,
        };
        let name = &column.name;
        match what.filter(|_| self.is_strict()) {
            Some(what) => {
                let shown = match value {
                    Value::Text(text) => printable(text.as_bytes()),
                    other => other.to_text(0).unwrap_or_default(),
                };
                let message = format!("Incorrect {what} value: '{shown}' for column '{name}' at row {row}");
                self.context.note(ErrorCode::TruncatedWrongValue, message);
            }
            None => {
                self.context.note(ErrorCode::DataTruncated, format!("Data truncated for column '{name}' at row {row}"));
            }
        }
    }
}
