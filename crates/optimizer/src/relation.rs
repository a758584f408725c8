//! Relations made of relations.

use muster_algebra::{Expr, Rel};

/// A relation with more conditions.
pub fn filtered(rel: Rel, more: Vec<Expr>) -> Rel {
    match rel {
        _ if more.is_empty() => rel,
        Rel::Filter { input, mut predicates } => {
            predicates.extend(more);
            Rel::Filter { input, predicates }
        }
        other => Rel::Filter { input: Box::new(other), predicates: more },
    }
}
