//! Functions over whole columns. A function knows which batches it can compute: those without a value that has a
//! warning, an error or a meaning of its own. All others are computed row by row, by the general evaluator.
//!
//! ```text
//!   mod.rs      which call is a function over columns; the kernel
//!   operand.rs  arguments: columns and constants
//!   length.rs   LENGTH, CHAR_LENGTH, BIT_LENGTH, ASCII
//!   pieces.rs   LEFT, RIGHT, TRIM, SUBSTRING, SUBSTRING_INDEX: parts of a text
//!   change.rs   UPPER, LOWER, REPLACE, REVERSE, REPEAT, LPAD, RPAD, HEX, CONCAT, CONCAT_WS: new texts
//!   locate.rs   LOCATE, INSTR, POSITION
//!   exact.rs    ABS, SIGN, CEIL, FLOOR, ROUND, TRUNCATE of exact numbers
//!   doubles.rs  functions of doubles
//!   extremes.rs GREATEST, LEAST
//!   dates.rs    numbers of dates and times
//! ```

mod change;
mod dates;
mod doubles;
mod exact;
mod extremes;
mod length;
mod locate;
mod operand;
mod pieces;

use super::{
    kernel::{Kernel, arrays},
    rowwise::RowWise,
};
use arrow_array::ArrayRef;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_algebra::{Expr, ScalarFunction};
use muster_types::{SqlType, Value};
use operand::Operand;

/// Computes a batch of so many rows; `None`, without a warning, for a batch that is to be computed row by row.
type ColumnFunction = Box<dyn Fn(&[Operand], usize) -> Option<ArrayRef> + Send + Sync>;

/// A call, as far as it is known before there are rows.
struct CallShape<'a> {
    /// Types of the arguments.
    types: &'a [SqlType],
    /// The values of those that are constant.
    constants: &'a [Option<Value>],
    result: SqlType,
    /// Longest text that a function makes, in bytes.
    text_bytes_max: usize,
}

/// The function over columns, if there is one for a call of this shape.
fn column_function(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    use ScalarFunction::*;
    match function {
        Length | CharLength | Ascii => length::of(function, call),
        Left | Right | Trim | LTrim | RTrim | Substring => pieces::of(function, call),
        Upper | Lower | Replace | Reverse | Repeat | LPad | RPad | Concat | ConcatWs => change::of(function, call),
        Library(library) if library.name == "HEX" => change::of(function, call),
        Library(library) if library.name == "SUBSTRING_INDEX" => pieces::of(function, call),
        Greatest | Least => extremes::of(function, call),
        Locate => locate::of(call),
        _ => exact::of(function, call).or_else(|| doubles::of(function, call)).or_else(|| dates::of(function, call)),
    }
}

/// A call over columns, and the same call row by row.
pub struct Columnwise {
    function: ColumnFunction,
    constants: Vec<Option<Value>>,
    rows: RowWise,
}

impl Columnwise {
    /// The kernel of a call with arguments of these types, if it has a function over columns; else `rows` as it is.
    /// `rows`: the call over its arguments that are no literals, in their order.
    pub fn of(rows: RowWise, types: &[SqlType]) -> std::result::Result<Columnwise, Box<RowWise>> {
        let Expr::Call { function, args, ty } = &rows.expr else { return Err(Box::new(rows)) };
        let constant = |arg: &Expr| match arg {
            Expr::Literal { value, .. } => Some(value.clone()),
            _ => None,
        };
        let constants: Vec<Option<Value>> = args.iter().map(constant).collect();
        let call = CallShape { types, constants: &constants, result: *ty, text_bytes_max: rows.texts.text_bytes_max };
        match column_function(*function, &call) {
            Some(function) => Ok(Columnwise { function, constants, rows }),
            None => Err(Box::new(rows)),
        }
    }
}

impl Kernel for Columnwise {
    fn label(&self) -> String {
        self.rows.label()
    }

    fn is_pure(&self) -> bool {
        self.rows.is_pure()
    }

    /// A batch that is computed row by row may warn for each value.
    fn is_shareable(&self) -> bool {
        false
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let columns = arrays(args, rows)?;
        let mut rest = columns.iter();
        let operands = self.constants.iter().map(|constant| match constant {
            Some(value) => Some(Operand::Constant(value)),
            None => rest.next().map(Operand::Column),
        });
        let operands: Option<Vec<Operand>> = operands.collect();
        match operands.and_then(|operands| (self.function)(&operands, rows)) {
            Some(result) => Ok(result),
            None => self.rows.call(args, rows),
        }
    }
}
