//! An expression that is computed for many rows: what does not depend on the values of a row is found out once.
//!
//! Calls keep a place for the value of each argument. A literal stays in its place; the caller puts the values of a
//! row's columns into theirs, into memory that an earlier row has left there. All else is computed by the
//! [`Evaluator`], node by node.

use super::{
    Evaluator,
    call::{Arguments, is_bit_operation},
    library::LibraryCall,
};
use muster_algebra::{ColId, Expr, ScalarFunction};
use muster_types::{Result, SqlType, Value, cast_from};

/// Puts the value that a column has in the current row into a place.
pub type Fill<'a> = &'a dyn Fn(ColId, &mut Value) -> Result<()>;

/// An expression with the places of its arguments.
pub struct Prepared<'e> {
    node: Node<'e>,
}

enum Node<'e> {
    Literal,
    Column(ColId),
    Cast { from: Option<SqlType>, to: SqlType, arg: Box<Place<'e>> },
    Call(Box<CallNode<'e>>),
    Other(&'e Expr),
}

/// The node of an argument, and its value in the current row.
struct Place<'e> {
    node: Node<'e>,
    value: Value,
}

struct CallNode<'e> {
    expr: &'e Expr,
    args: &'e [Expr],
    ty: SqlType,
    function: Prearranged,
    nodes: Vec<Node<'e>>,
    values: Vec<Value>,
}

/// A call, as far as it is known without its values.
enum Prearranged {
    Library(LibraryCall),
    Own(ScalarFunction, Arguments),
}

impl<'e> Prepared<'e> {
    /// Prepares an expression whose columns have these types.
    pub fn new(expr: &'e Expr, column_type: &dyn Fn(ColId) -> Option<SqlType>) -> Prepared<'e> {
        let node = match expr {
            // The root has no place that would keep a literal.
            Expr::Literal { .. } => Node::Other(expr),
            _ => Node::of(expr, column_type).0,
        };
        Prepared { node }
    }

    /// The value for the current row, of which `evaluator` and `fill` tell the values of columns; `None` where
    /// [`Evaluator::eval`] has none. Errors: MySQL's.
    pub fn value(&mut self, evaluator: &mut Evaluator<'_>, fill: Fill<'_>) -> Option<Result<Value>> {
        let mut value = Value::Null;
        match self.node.put(&mut value, evaluator, fill)? {
            Ok(()) => Some(Ok(value)),
            Err(e) => Some(Err(e)),
        }
    }
}

impl<'e> Node<'e> {
    /// The node of an expression, and the value that its place has from the beginning.
    fn of(expr: &'e Expr, column_type: &dyn Fn(ColId) -> Option<SqlType>) -> (Node<'e>, Value) {
        let type_of = |expr: &Expr| super::type_of(expr, column_type);
        let node = match expr {
            Expr::Literal { value, .. } => return (Node::Literal, value.clone()),
            Expr::Column(id) => Node::Column(*id),
            Expr::Cast { arg, ty } => {
                let (node, value) = Node::of(arg, column_type);
                Node::Cast { from: type_of(arg), to: *ty, arg: Box::new(Place { node, value }) }
            }
            Expr::Call { function, args, ty } => match Prearranged::of(*function, args, *ty, &type_of) {
                None => Node::Other(expr),
                Some(function) => {
                    let arg = |arg: &'e Expr| match function.takes_its_result() {
                        true if matches!(arg, Expr::Literal { .. }) => (Node::Other(arg), Value::Null),
                        _ => Node::of(arg, column_type),
                    };
                    let (nodes, values) = args.iter().map(arg).unzip();
                    Node::Call(Box::new(CallNode { expr, args, ty: *ty, function, nodes, values }))
                }
            },
            other => Node::Other(other),
        };
        (node, Value::Null)
    }

    /// Puts the value for the current row into its place.
    fn put(&mut self, place: &mut Value, evaluator: &mut Evaluator<'_>, fill: Fill<'_>) -> Option<Result<()>> {
        match self {
            Node::Literal => return Some(Ok(())),
            Node::Column(id) => return Some(fill(*id, place)),
            // A text of the last row may be long: it goes before the next one is made.
            _ => *place = Value::Null,
        }
        *place = match self {
            Node::Literal | Node::Column(_) => return Some(Ok(())),
            Node::Cast { from, to, arg } => {
                if let Err(e) = arg.node.put(&mut arg.value, evaluator, fill)? {
                    return Some(Err(e));
                }
                let (value, warning) = cast_from(&arg.value, *from, *to);
                warning.into_iter().for_each(|w| (evaluator.warn)(w));
                value
            }
            Node::Call(call) => match call.value(evaluator, fill)? {
                Ok(value) => value,
                Err(e) => return Some(Err(e)),
            },
            Node::Other(expr) => match evaluator.eval(expr)? {
                Ok(value) => value,
                Err(e) => return Some(Err(e)),
            },
        };
        Some(Ok(()))
    }
}

impl CallNode<'_> {
    fn value(&mut self, evaluator: &mut Evaluator<'_>, fill: Fill<'_>) -> Option<Result<Value>> {
        for (node, place) in self.nodes.iter_mut().zip(&mut self.values) {
            if let Err(e) = node.put(place, evaluator, fill)? {
                return Some(Err(e));
            }
        }
        match &self.function {
            Prearranged::Library(call) => {
                evaluator.library_of_values(self.expr, call, self.args, &mut self.values, self.ty)
            }
            Prearranged::Own(function, arguments) => {
                evaluator.call_of_values(self.expr, *function, arguments, &mut self.values, self.ty)
            }
        }
    }
}

impl Prearranged {
    /// `None` for a function that does not look at all its arguments, or that has a way of its own.
    fn of(
        function: ScalarFunction,
        args: &[Expr],
        ty: SqlType,
        type_of: &dyn Fn(&Expr) -> Option<SqlType>,
    ) -> Option<Prearranged> {
        use ScalarFunction::*;
        match function {
            Library(function) => LibraryCall::of(function, args, type_of).map(Prearranged::Library),
            Sleep | Benchmark | Session(_) | LastInsertId | AssignVariable | ReadVariable | Coalesce => None,
            _ if ty.is_bytes() && is_bit_operation(function) => None,
            _ => Some(Prearranged::Own(function, Arguments::of(function, args, type_of))),
        }
    }

    /// Returns true if the result may be moved out of the place of an argument, which is empty then.
    fn takes_its_result(&self) -> bool {
        matches!(self, Prearranged::Own(ScalarFunction::Greatest | ScalarFunction::Least, _))
    }
}
