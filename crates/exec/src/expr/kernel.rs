//! One physical expression for all functions of ours: a kernel over the values of its arguments.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, cast::AsArray};
use arrow_schema::{DataType, Schema};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::expressions::Literal;
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// A result of constants that takes more than this is computed anew for each batch.
const FOLDED_BYTES_MAX: usize = 1 << 16;

/// A function over columns.
pub trait Kernel: Send + Sync + 'static {
    /// Name and everything that makes it differ from other kernels; two kernels with one label are taken for equal.
    fn label(&self) -> String;
    /// One result for each of `rows` rows; a scalar argument stands for all rows.
    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef>;
    /// Returns true if equal arguments always give equal results without any other effect.
    fn is_pure(&self) -> bool {
        true
    }
    /// Returns true if results may come in a form of fewer bytes than the expression's type says: a narrower
    /// decimal for a wider one, and a dictionary for texts and byte strings.
    fn is_adaptive(&self) -> bool {
        false
    }
    /// The least and the greatest value that an argument has where the result is TRUE; `None` if the kernel does not
    /// know.
    fn ends(&self, arg: usize) -> Option<[ScalarValue; 2]> {
        let _ = arg;
        None
    }
    /// Returns true if computing it once instead of twice is noticed by nobody.
    fn is_shareable(&self) -> bool {
        self.is_pure()
    }
}

/// A kernel with its arguments.
pub struct KernelExpr {
    kernel: Arc<dyn Kernel>,
    label: String,
    args: Vec<Arc<dyn PhysicalExpr>>,
    data_type: DataType,
    nullable: bool,
}

impl KernelExpr {
    /// The expression, already computed when all arguments are literals. `data_type`: what the kernel returns.
    pub fn build(
        kernel: impl Kernel,
        args: Vec<Arc<dyn PhysicalExpr>>,
        data_type: DataType,
        nullable: bool,
    ) -> Arc<dyn PhysicalExpr> {
        let expr = KernelExpr { label: kernel.label(), kernel: Arc::new(kernel), args, data_type, nullable };
        match expr.folded() {
            Some(literal) => literal,
            None => Arc::new(expr),
        }
    }

    /// See [`Kernel::is_shareable`].
    pub fn is_shareable(&self) -> bool {
        self.kernel.is_shareable()
    }

    /// The arguments for which [`Kernel::ends`] knows something, with that.
    pub fn ends(&self) -> impl Iterator<Item = (&Arc<dyn PhysicalExpr>, [ScalarValue; 2])> {
        self.args.iter().enumerate().filter_map(|(i, arg)| Some((arg, self.kernel.ends(i)?)))
    }

    /// An error stays where it is: the expression may never be evaluated. So does a long text, which would be there as
    /// long as the statement is.
    fn folded(&self) -> Option<Arc<dyn PhysicalExpr>> {
        if !self.kernel.is_pure() {
            return None;
        }
        let scalars = self.args.iter().map(|a| literal_of(a).cloned().map(ColumnarValue::Scalar));
        let scalars: Vec<ColumnarValue> = scalars.collect::<Option<_>>()?;
        let array = self.kernel.call(&scalars, 1).ok().filter(|a| a.get_array_memory_size() <= FOLDED_BYTES_MAX)?;
        let scalar = ScalarValue::try_from_array(&array, 0).ok()?;
        Some(Arc::new(Literal::new(scalar)))
    }
}

/// See [`Kernel::is_adaptive`].
pub fn is_adaptive(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<KernelExpr>().is_some_and(|e| e.kernel.is_adaptive())
}

/// The value of a literal expression.
pub fn literal_of(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    expr.downcast_ref::<Literal>().map(Literal::value)
}

impl fmt::Debug for KernelExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KernelExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.label)?;
        for (i, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

impl PartialEq for KernelExpr {
    fn eq(&self, other: &Self) -> bool {
        self.kernel.is_pure()
            && self.label == other.label
            && self.data_type == other.data_type
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| a == b)
    }
}

impl Eq for KernelExpr {}

impl Hash for KernelExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.label.hash(state);
        self.data_type.hash(state);
        self.args.hash(state);
    }
}

impl PhysicalExpr for KernelExpr {
    fn data_type(&self, _input_schema: &Schema) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn nullable(&self, _input_schema: &Schema) -> Result<bool> {
        Ok(self.nullable)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let args: Vec<ColumnarValue> = self.args.iter().map(|a| a.evaluate(batch)).collect::<Result<_>>()?;
        let array = self.kernel.call(&args, batch.num_rows())?;
        debug_assert_eq!(array.len(), batch.num_rows(), "{self}");
        debug_assert!(
            array.data_type() == &self.data_type
                || self.kernel.is_adaptive()
                    && matches!(
                        array.data_type(),
                        DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Dictionary(..)
                    ),
            "{self}: {}",
            array.data_type()
        );
        Ok(ColumnarValue::Array(array))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.args.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(KernelExpr {
            kernel: self.kernel.clone(),
            label: self.label.clone(),
            args: children,
            data_type: self.data_type.clone(),
            nullable: self.nullable,
        }))
    }

    fn is_volatile_node(&self) -> bool {
        !self.kernel.is_pure()
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Evaluates a predicate to an array; a NULL of type `Null` is unknown everywhere.
pub fn evaluate_predicate(expr: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<BooleanArray> {
    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    match array.data_type() {
        DataType::Boolean => Ok(array.as_boolean().clone()),
        _ => Ok(BooleanArray::new_null(batch.num_rows())),
    }
}

/// Returns the arguments as arrays of `rows` values.
pub fn arrays(args: &[ColumnarValue], rows: usize) -> Result<Vec<ArrayRef>> {
    args.iter().map(|a| a.to_array(rows)).collect()
}
