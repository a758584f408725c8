//! The columns an expression can see: their places in the batch, and what is known of their texts.

use arrow_schema::SchemaRef;
use muster_algebra::{ColId, Expr, ScalarFunction};
use muster_types::{Value, collation::TextTraits};
use std::collections::HashMap;

/// The known traits of the texts of columns. Nothing is known about a column that is missing.
pub type TraitMap = HashMap<ColId, TextTraits>;

/// Columns of a batch.
#[derive(Debug, Clone)]
pub struct Scope {
    pub schema: SchemaRef,
    /// Query column of each field.
    pub columns: Vec<ColId>,
    pub traits: TraitMap,
}

impl Scope {
    pub fn position(&self, id: ColId) -> Option<usize> {
        self.columns.iter().position(|c| *c == id)
    }

    /// The known traits of the values of a text expression; `None` if nothing is known.
    pub fn text_traits(&self, expr: &Expr) -> Option<TextTraits> {
        match expr {
            Expr::Column(id) => self.traits.get(id).copied(),
            Expr::Literal { value: Value::Null, .. } => Some(TextTraits::default()),
            Expr::Literal { value: Value::Text(text), .. } => {
                let mut traits = TextTraits::default();
                traits.add(text.as_bytes());
                Some(traits)
            }
            Expr::Cast { arg, ty } if ty.is_text() => self.text_traits(arg),
            Expr::Case { branches, otherwise, .. } => {
                let results = branches.iter().map(|(_, r)| r).chain(otherwise.as_deref());
                self.merged(results)
            }
            Expr::Call { function, args, .. } => match function {
                ScalarFunction::Coalesce | ScalarFunction::Greatest | ScalarFunction::Least => self.merged(args),
                ScalarFunction::NullIf => self.text_traits(args.first()?),
                // A piece may end where the whole does not.
                ScalarFunction::Substring | ScalarFunction::Left | ScalarFunction::Right => {
                    Some(TextTraits { trailing_space: true, ..self.text_traits(args.first()?)? })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn merged<'a>(&self, exprs: impl IntoIterator<Item = &'a Expr>) -> Option<TextTraits> {
        exprs.into_iter().try_fold(TextTraits::default(), |all, e| Some(TextTraits::merge(all, self.text_traits(e)?)))
    }
}
