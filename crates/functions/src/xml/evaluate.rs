//! The value of an XPath expression for a document.

use super::{
    document::{Document, NodeKind},
    path::{Axis, Operator, Path, Start, Step},
};
use muster_types::{CastWarning, Collation, ErrorCode, Result, SqlError, SqlType, Value, cast};
use std::cell::RefCell;

#[derive(Debug, Clone, PartialEq)]
pub enum PathValue {
    /// Numbers of nodes, ascending.
    Nodes(Vec<usize>),
    Number(f64),
    Text(String),
    Truth(bool),
    /// The quotient of a division by zero.
    Null,
}

/// The node that an expression is computed for, its position among its fellows and their number.
#[derive(Clone, Copy)]
struct Place {
    node: usize,
    position: usize,
    last: usize,
}

struct Evaluation<'a> {
    document: &'a Document,
    collation: Collation,
    warnings: RefCell<&'a mut dyn FnMut(CastWarning)>,
}

/// The value of an expression for the root of a document; texts are compared under the collation.
pub fn evaluate(
    path: &Path,
    document: &Document,
    collation: Collation,
    warnings: &mut dyn FnMut(CastWarning),
) -> Result<PathValue> {
    let evaluation = Evaluation { document, collation, warnings: RefCell::new(warnings) };
    evaluation.value(path, Place { node: 0, position: 1, last: 1 })
}

impl PathValue {
    /// The value as text; `None` for NULL. Nodes are the texts right below them, with a space between two.
    pub fn into_text(self, document: &Document) -> Option<String> {
        Some(match self {
            PathValue::Nodes(nodes) => document.texts(&nodes).collect::<Vec<_>>().join(" "),
            PathValue::Number(x) => Value::Double(x).to_text(0).unwrap_or_default(),
            PathValue::Text(text) => text,
            PathValue::Truth(truth) => String::from(if truth { "1" } else { "0" }),
            PathValue::Null => return None,
        })
    }
}

impl Evaluation<'_> {
    fn value(&self, path: &Path, place: Place) -> Result<PathValue> {
        Ok(match path {
            Path::Number(x) => PathValue::Number(*x),
            Path::Text(text) => PathValue::Text(text.clone()),
            Path::Negative(operand) => number(self.number(operand, place)?.map(|x| -x)),
            Path::Binary(operator, left, right) => self.binary(*operator, left, right, place)?,
            Path::Call(name, args) => self.call(name, args, place)?,
            Path::Steps { from, steps } => PathValue::Nodes(self.steps(from, steps, place)?),
        })
    }

    fn warn(&self, warning: Option<CastWarning>) {
        warning.into_iter().for_each(|warning| (self.warnings.borrow_mut())(warning));
    }

    /// The number that a text begins with.
    fn number_of(&self, text: &str) -> f64 {
        let (number, warning) = cast::to_double(&Value::Text(text.to_string()));
        self.warn(warning);
        number
    }

    fn as_number(&self, value: PathValue) -> Option<f64> {
        match value {
            PathValue::Number(x) => Some(x),
            PathValue::Truth(truth) => Some(f64::from(truth)),
            other => other.into_text(self.document).map(|text| self.number_of(&text)),
        }
    }

    fn is_true(&self, value: PathValue) -> bool {
        match value {
            // MySQL takes several nodes for none.
            PathValue::Nodes(nodes) => nodes.len() == 1,
            PathValue::Truth(truth) => truth,
            other => self.as_number(other).is_some_and(|x| x != 0.0),
        }
    }

    fn number(&self, path: &Path, place: Place) -> Result<Option<f64>> {
        Ok(self.as_number(self.value(path, place)?))
    }

    fn text(&self, path: &Path, place: Place) -> Result<String> {
        Ok(self.value(path, place)?.into_text(self.document).unwrap_or_default())
    }

    fn truth(&self, path: &Path, place: Place) -> Result<bool> {
        Ok(self.is_true(self.value(path, place)?))
    }

    /// Error 1105 for what is no set of nodes.
    fn nodes(&self, path: &Path, place: Place) -> Result<Vec<usize>> {
        match self.value(path, place)? {
            PathValue::Nodes(nodes) => Ok(nodes),
            _ => Err(SqlError::new(ErrorCode::Unknown, "XPATH syntax error: ''")),
        }
    }

    fn steps(&self, from: &Start, steps: &[Step], place: Place) -> Result<Vec<usize>> {
        let mut nodes = match from {
            Start::Root => vec![0],
            Start::Here => vec![place.node],
            Start::Nodes(path) => self.nodes(path, place)?,
        };
        for step in steps {
            let mut found = Vec::new();
            for node in nodes {
                let reached = self.reached(node, step);
                found.extend(self.filter(reached, &step.predicates, is_backward(step.axis))?);
            }
            found.sort_unstable();
            found.dedup();
            nodes = found;
        }
        Ok(nodes)
    }

    /// The nodes that a step reaches from a node, in the order of the document.
    fn reached(&self, node: usize, step: &Step) -> Vec<usize> {
        let nodes = &self.document.nodes;
        let kind = if step.axis == Axis::Attribute { NodeKind::Attribute } else { NodeKind::Element };
        let is_wanted = |n: usize| match &step.name {
            Some(name) => nodes[n].kind == kind && nodes[n].text == *name,
            None => nodes[n].kind == kind || matches!(step.axis, Axis::Itself | Axis::Parent),
        };
        let below = || (node + 1..nodes.len()).take_while(|n| nodes[*n].depth > nodes[node].depth);
        let around = || std::iter::successors(Some(node), |n| (*n > 0).then(|| nodes[*n].parent));
        let mut found: Vec<usize> = match step.axis {
            Axis::Attribute | Axis::Child => below().filter(|n| nodes[*n].parent == node).collect(),
            Axis::Descendant => below().collect(),
            Axis::DescendantOrSelf => std::iter::once(node).chain(below()).collect(),
            Axis::Ancestor => around().skip(1).collect(),
            Axis::AncestorOrSelf => around().collect(),
            Axis::Parent => around().skip(1).take(1).collect(),
            Axis::Itself => vec![node],
        };
        // The root stands for the document in `//`.
        found.retain(|n| is_wanted(*n) || *n == 0 && step.name.is_none() && step.axis == Axis::DescendantOrSelf);
        found.sort_unstable();
        found
    }

    /// The nodes that all predicates take. `is_backward`: positions are counted from the end.
    fn filter(&self, mut nodes: Vec<usize>, predicates: &[Path], is_backward: bool) -> Result<Vec<usize>> {
        for predicate in predicates {
            let last = nodes.len();
            let mut kept = Vec::new();
            for (i, node) in nodes.into_iter().enumerate() {
                let position = if is_backward { last - i } else { i + 1 };
                let is_kept = match self.value(predicate, Place { node, position, last })? {
                    PathValue::Number(x) => x.round_ties_even() == position as f64,
                    PathValue::Text(text) => {
                        let (number, warnings) = cast::cast(&Value::Text(text), SqlType::BIGINT);
                        self.warn(warnings.of_value());
                        i64::try_from(position).is_ok_and(|position| number == Value::Int(position))
                    }
                    other => self.is_true(other),
                };
                kept.extend(is_kept.then_some(node));
            }
            nodes = kept;
        }
        Ok(nodes)
    }

    fn binary(&self, operator: Operator, left: &Path, right: &Path, place: Place) -> Result<PathValue> {
        use Operator::*;
        Ok(match operator {
            Or => PathValue::Truth(self.truth(left, place)? || self.truth(right, place)?),
            And => PathValue::Truth(self.truth(left, place)? && self.truth(right, place)?),
            Union => {
                let mut nodes = self.nodes(left, place)?;
                nodes.extend(self.nodes(right, place)?);
                nodes.sort_unstable();
                nodes.dedup();
                PathValue::Nodes(nodes)
            }
            Plus | Minus | Times | Div | Mod => {
                let (Some(a), Some(b)) = (self.number(left, place)?, self.number(right, place)?) else {
                    return Ok(PathValue::Null);
                };
                if matches!(operator, Div | Mod) && b == 0.0 {
                    let (code, message) = (ErrorCode::DivisionByZero, "Division by 0".to_string());
                    self.warn(Some(CastWarning { code, message }));
                    return Ok(PathValue::Null);
                }
                PathValue::Number(match operator {
                    Plus => a + b,
                    Minus => a - b,
                    Times => a * b,
                    // DIV, as of SQL.
                    Div => (a / b).trunc(),
                    _ => a % b,
                })
            }
            _ => PathValue::Truth(self.compare(operator, self.value(left, place)?, self.value(right, place)?)?),
        })
    }

    fn compare(&self, operator: Operator, left: PathValue, right: PathValue) -> Result<bool> {
        match (left, right) {
            (PathValue::Nodes(_), PathValue::Nodes(_)) => {
                let message = "XPATH error: comparison of two nodesets is not supported: ''";
                Err(SqlError::new(ErrorCode::Unknown, message))
            }
            // One of the texts is enough.
            (PathValue::Nodes(nodes), other) => Ok(self
                .document
                .texts(&nodes)
                .any(|text| self.compare_values(operator, PathValue::Text(text.to_string()), other.clone()))),
            (other, PathValue::Nodes(nodes)) => Ok(self
                .document
                .texts(&nodes)
                .any(|text| self.compare_values(operator, other.clone(), PathValue::Text(text.to_string())))),
            (left, right) => Ok(self.compare_values(operator, left, right)),
        }
    }

    fn compare_values(&self, operator: Operator, left: PathValue, right: PathValue) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = match (left, right) {
            (PathValue::Text(a), PathValue::Text(b)) => Some(self.collation.compare(&a, &b)),
            (a, b) => match (self.as_number(a), self.as_number(b)) {
                (Some(a), Some(b)) => a.partial_cmp(&b),
                _ => return false,
            },
        };
        match operator {
            Operator::Equal => order == Some(Equal),
            Operator::NotEqual => order != Some(Equal),
            Operator::Less => order == Some(Less),
            Operator::LessOrEqual => matches!(order, Some(Less | Equal)),
            Operator::Greater => order == Some(Greater),
            _ => matches!(order, Some(Greater | Equal)),
        }
    }

    fn call(&self, name: &str, args: &[Path], place: Place) -> Result<PathValue> {
        let rounded = |round: fn(f64) -> f64, arg: &Path| Ok(number(self.number(arg, place)?.map(round)));
        Ok(match (name, args) {
            ("true", _) => PathValue::Truth(true),
            ("false", _) => PathValue::Truth(false),
            ("not", [arg]) => PathValue::Truth(!self.truth(arg, place)?),
            ("boolean", [arg]) => PathValue::Truth(self.truth(arg, place)?),
            ("last", _) => PathValue::Number(place.last as f64),
            ("position", _) => PathValue::Number(place.position as f64),
            ("count", [arg]) => PathValue::Number(self.nodes(arg, place)?.len() as f64),
            ("sum", [arg]) => {
                let nodes = self.nodes(arg, place)?;
                let numbers = self.document.texts(&nodes).map(|text| cast::double_prefix(text).0);
                PathValue::Number(numbers.sum())
            }
            ("number", [arg]) => number(self.number(arg, place)?),
            ("ceiling", [arg]) => return rounded(f64::ceil, arg),
            ("floor", [arg]) => return rounded(f64::floor, arg),
            ("round", [arg]) => return rounded(f64::round_ties_even, arg),
            ("string-length", [arg]) => PathValue::Number(self.text(arg, place)?.chars().count() as f64),
            ("contains", [text, part]) => PathValue::Truth(self.text(text, place)?.contains(&self.text(part, place)?)),
            ("substring", [text, start, rest @ ..]) => {
                let whole = |path: &Path| Ok(self.number(path, place)?.unwrap_or(0.0).round_ties_even());
                let (text, start) = (self.text(text, place)?, whole(start)?);
                let length: Option<f64> = rest.first().map(whole).transpose()?;
                PathValue::Text(substring(&text, start, length))
            }
            (_, parts) => {
                let texts = parts.iter().map(|part| self.text(part, place)).collect::<Result<Vec<_>>>()?;
                PathValue::Text(texts.concat())
            }
        })
    }
}

fn number(x: Option<f64>) -> PathValue {
    x.map_or(PathValue::Null, PathValue::Number)
}

/// As SUBSTRING of SQL.
fn substring(text: &str, start: f64, length: Option<f64>) -> String {
    let start = start as i64;
    let count = text.chars().count() as i64;
    let skipped = match start {
        1.. => start - 1,
        0 => return String::new(),
        _ if -start > count => return String::new(),
        _ => count + start,
    };
    let taken = length.map_or(usize::MAX, |length| length.max(0.0) as usize);
    text.chars().skip(skipped as usize).take(taken).collect()
}

fn is_backward(axis: Axis) -> bool {
    matches!(axis, Axis::Ancestor | Axis::AncestorOrSelf | Axis::Parent)
}
