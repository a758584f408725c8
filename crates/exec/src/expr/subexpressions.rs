//! Subexpressions that several expressions of one operator have in common are computed once for each batch.

use super::{Physical, kernel::KernelExpr};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use datafusion_common::Result;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Expressions of more nodes, each counted with all below it, are left alone: comparing them takes that long.
const WEIGHT_MAX: usize = 20_000;

/// The subexpressions that several expressions have; inner ones come before those that contain them.
#[derive(Default)]
pub struct SharedSubexpressions {
    parts: Vec<Physical>,
}

impl SharedSubexpressions {
    /// Takes out what `exprs`, over batches of `width` columns, have in shared: in their place stand columns behind
    /// those of the batch, which [`SharedSubexpressions::extend`] appends.
    pub fn take_out<'a>(
        exprs: impl IntoIterator<Item = &'a mut Physical>,
        width: usize,
    ) -> Result<SharedSubexpressions> {
        let mut exprs: Vec<&mut Physical> = exprs.into_iter().collect();
        if exprs.iter().map(|e| weigh(e).1).sum::<usize>() > WEIGHT_MAX {
            return Ok(SharedSubexpressions::default());
        }
        let mut seen = Seen::default();
        exprs.iter().for_each(|e| seen.visit(e));
        if seen.repeated.is_empty() {
            return Ok(SharedSubexpressions::default());
        }
        let mut taken = Taken { repeated: seen.repeated, columns: HashMap::new(), parts: Vec::new(), width };
        for expr in &mut exprs {
            **expr = taken.replace(expr)?;
        }
        Ok(SharedSubexpressions { parts: taken.parts })
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The batch with the shared subexpressions as further columns.
    pub fn extend(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
        let mut extended = batch.clone();
        for part in &self.parts {
            let array = part.evaluate(&extended)?.into_array(rows)?;
            // The type is that of the array: decimals may be narrower than the expression says.
            fields.push(Arc::new(Field::new("shared", array.data_type().clone(), true)));
            let mut columns = extended.columns().to_vec();
            columns.push(array);
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let schema = Arc::new(Schema::new(fields.clone()));
            extended = RecordBatch::try_new_with_options(schema, columns, &options)?;
        }
        Ok(extended)
    }
}

/// The subexpressions that have been found so far.
#[derive(Default)]
struct Seen {
    once: HashSet<Physical>,
    repeated: HashSet<Physical>,
}

impl Seen {
    fn visit(&mut self, expr: &Physical) {
        if is_leaf(expr) {
            return;
        }
        if is_shareable(expr) && !self.once.insert(expr.clone()) {
            // Its parts are in common with it.
            self.repeated.insert(expr.clone());
            return;
        }
        for part in always_computed(expr) {
            self.visit(part);
        }
    }
}

struct Taken {
    repeated: HashSet<Physical>,
    /// Column of each part taken out.
    columns: HashMap<Physical, usize>,
    parts: Vec<Physical>,
    width: usize,
}

impl Taken {
    fn replace(&mut self, expr: &Physical) -> Result<Physical> {
        if is_leaf(expr) {
            return Ok(expr.clone());
        }
        let column = |at: usize| Arc::new(Column::new("shared", at)) as Physical;
        if let Some(at) = self.columns.get(expr) {
            return Ok(column(*at));
        }
        let always = always_computed(expr);
        let mut replaced = false;
        let mut children = Vec::with_capacity(expr.children().len());
        for child in expr.children() {
            let new = match always.iter().any(|part| Arc::ptr_eq(part, child)) {
                true => self.replace(child)?,
                false => child.clone(),
            };
            replaced |= !Arc::ptr_eq(&new, child);
            children.push(new);
        }
        let new = if replaced { expr.clone().with_new_children(children)? } else { expr.clone() };
        if !self.repeated.contains(expr) {
            return Ok(new);
        }
        let at = self.width + self.parts.len();
        self.parts.push(new);
        self.columns.insert(expr.clone(), at);
        Ok(column(at))
    }
}

/// Number of nodes of an expression, and the sum of these numbers over all its nodes.
fn weigh(expr: &Physical) -> (usize, usize) {
    let (nodes, weight) = expr.children().into_iter().map(weigh).fold((1, 0), |(n, w), (m, v)| (n + m, w + v));
    (nodes, weight + nodes)
}

fn is_leaf(expr: &Physical) -> bool {
    expr.is::<Column>() || expr.is::<Literal>()
}

/// The operands that are computed for every row that the expression is computed for: taking them out can raise no error
/// and no warning that would not be raised otherwise.
fn always_computed(expr: &Physical) -> Vec<&Physical> {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And | Operator::Or => vec![binary.left()],
            _ => vec![binary.left(), binary.right()],
        };
    }
    let all = expr.is::<KernelExpr>()
        || expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>();
    if all { expr.children() } else { Vec::new() }
}

/// Returns true if nobody notices how often the expression is computed.
fn is_shareable(expr: &Physical) -> bool {
    let itself = match expr.downcast_ref::<KernelExpr>() {
        Some(kernel) => kernel.is_shareable(),
        None => {
            is_leaf(expr)
                || expr.is::<BinaryExpr>()
                || expr.is::<CaseExpr>()
                || expr.is::<NotExpr>()
                || expr.is::<IsNullExpr>()
                || expr.is::<IsNotNullExpr>()
                || expr.is::<InListExpr>()
        }
    };
    itself && expr.children().into_iter().all(is_shareable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::kernel::Kernel;
    use arrow_array::{ArrayRef, Int64Array, cast::AsArray, types::Int64Type};
    use arrow_schema::DataType;
    use datafusion_common::ScalarValue;
    use datafusion_expr::ColumnarValue;
    use datafusion_physical_expr::expressions::case;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Adds one, and counts how often.
    struct AddOne {
        calls: Arc<AtomicUsize>,
        shareable: bool,
    }

    impl Kernel for AddOne {
        fn label(&self) -> String {
            format!("add_one_{}", self.shareable)
        }

        fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
            self.calls.fetch_add(1, Relaxed);
            let array = args[0].to_array(rows)?;
            Ok(Arc::new(array.as_primitive::<Int64Type>().unary::<_, Int64Type>(|x| x + 1)))
        }

        fn is_shareable(&self) -> bool {
            self.shareable
        }
    }

    fn batch() -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        RecordBatch::try_from_iter([("a", column)]).unwrap()
    }

    fn column() -> Physical {
        Arc::new(Column::new("a", 0))
    }

    /// The values of the last expression, and how often `add` was called.
    fn run(exprs: &mut [Physical], calls: &AtomicUsize) -> (Vec<i64>, usize) {
        let shared = SharedSubexpressions::take_out(exprs.iter_mut(), 1).unwrap();
        calls.store(0, Relaxed);
        let extended = shared.extend(&batch()).unwrap();
        let mut last = Vec::new();
        for expr in exprs {
            let array = expr.evaluate(&extended).unwrap().into_array(2).unwrap();
            last = array.as_primitive::<Int64Type>().values().to_vec();
        }
        (last, calls.load(Relaxed))
    }

    #[test]
    fn what_is_in_common_is_computed_once() {
        let calls = Arc::new(AtomicUsize::new(0));
        let add = |arg: Physical, shareable: bool| {
            let kernel = AddOne { calls: calls.clone(), shareable };
            KernelExpr::build(kernel, vec![arg], DataType::Int64, true)
        };
        // a + 1 and a + 1 + 1 are both there twice.
        let two = || add(add(column(), true), true);
        let mut exprs = [add(column(), true), two(), add(two(), true), add(two(), true)];
        assert_eq!(run(&mut exprs, &calls), (vec![4, 5], 3));
        // Nothing is shared that says so, nor what contains it.
        let two = || add(add(column(), false), true);
        assert_eq!(run(&mut [two(), two()], &calls), (vec![3, 4], 4));
    }

    #[test]
    fn very_deep_expressions_are_left_alone() {
        let calls = Arc::new(AtomicUsize::new(0));
        let add = |arg: Physical| {
            let kernel = AddOne { calls: calls.clone(), shareable: true };
            KernelExpr::build(kernel, vec![arg], DataType::Int64, true)
        };
        let deep = |depth: usize| (0..depth).fold(column(), |arg, _| add(arg));
        assert_eq!(run(&mut [deep(50), deep(50)], &calls).1, 50);
        assert_eq!(run(&mut [deep(500), deep(500)], &calls).1, 1000);
    }

    #[test]
    fn what_a_case_may_skip_is_not_taken_out_of_it() {
        let calls = Arc::new(AtomicUsize::new(0));
        let add = || {
            let kernel = AddOne { calls: calls.clone(), shareable: true };
            KernelExpr::build(kernel, vec![column()], DataType::Int64, true)
        };
        let never = |then: Physical| {
            let no: Physical = Arc::new(Literal::new(ScalarValue::Boolean(Some(false))));
            let zero: Physical = Arc::new(Literal::new(ScalarValue::Int64(Some(0))));
            case(None, vec![(no, then)], Some(zero)).unwrap()
        };
        let different = Arc::new(BinaryExpr::new(add(), Operator::Plus, never(add()))) as Physical;
        assert_eq!(run(&mut [never(add()), different], &calls), (vec![2, 3], 1));
    }
}
