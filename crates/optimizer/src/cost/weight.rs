//! How dear predicates and expressions are on one row.

use muster_algebra::{Expr, ScalarFunction, SqlType};

/// How dear checking a predicate, or computing an expression, is on one row, relative to comparing two numbers. Texts
/// are compared under their collation, patterns are searched for, JSON documents are read. However many values a list
/// has, one search finds one of them.
pub fn predicate_weight(predicate: &Expr) -> f64 {
    let own = match predicate {
        Expr::Like { .. } => 12.0,
        Expr::Literal { ty: SqlType::Text { collation, .. }, .. } => {
            if collation.is_binary() {
                1.0
            } else {
                2.0
            }
        }
        Expr::Column(_) | Expr::Literal { .. } | Expr::Parameter { .. } | Expr::Logic { .. } => 0.0,
        Expr::Call { function, .. } => call_weight(*function),
        Expr::InList { arg, list, .. } => {
            return 2.0 + predicate_weight(arg) + list.first().map_or(0.0, predicate_weight);
        }
        _ => 1.0,
    };
    own + predicate.children().into_iter().map(predicate_weight).sum::<f64>()
}

fn call_weight(function: ScalarFunction) -> f64 {
    let reads_document = match function {
        ScalarFunction::ParseJson => true,
        ScalarFunction::Library(function) => function.name.starts_with("JSON_") || function.name.starts_with("REGEXP"),
        _ => false,
    };
    if reads_document { 30.0 } else { 5.0 }
}

/// The weight of several predicates or expressions, each of which takes as long as one comparison at least.
pub fn predicates_weight<'a>(predicates: impl IntoIterator<Item = &'a Expr>) -> f64 {
    predicates.into_iter().map(|predicate| predicate_weight(predicate).max(1.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_algebra::{Collation, CompareOp, Value};
    use muster_types::TextKind;

    #[test]
    fn patterns_texts_and_documents_are_dearer_than_numbers() {
        let column = || Box::new(Expr::Column(muster_algebra::ColId(0)));
        let literal = |value, ty| Box::new(Expr::Literal { value, ty });
        let text = |collation| {
            literal(Value::Text("x".into()), SqlType::Text { kind: TextKind::VarChar, length: 10, collation })
        };
        let equal = |right| Expr::Compare { op: CompareOp::Eq, left: column(), right };
        let number = || literal(Value::Int(1), SqlType::BIGINT);
        let like = |pattern| Expr::Like { arg: column(), pattern, escape: Some('\\'), negated: false };
        let call = |name: &str| {
            let is_called = |f: &ScalarFunction| matches!(f, ScalarFunction::Library(f) if f.name == name);
            let function = ScalarFunction::all().into_iter().find(is_called).expect("a function");
            Expr::Call { function, args: vec![*column()], ty: SqlType::BIGINT }
        };
        let ascending = [
            equal(number()),
            equal(text(Collation::Utf8mb4Bin)),
            equal(text(Collation::Utf8mb4GeneralCi)),
            call("SOUNDEX"),
            like(text(Collation::Utf8mb4GeneralCi)),
            call("JSON_DEPTH"),
        ];
        let weights = ascending.each_ref().map(predicate_weight);
        assert!(weights.is_sorted_by(|a, b| a < b), "{weights:?}");
        assert_eq!(weights[0], 1.0);
        let list = |n: usize| Expr::InList { arg: column(), list: vec![*number(); n], negated: false };
        assert_eq!(predicate_weight(&list(2)), predicate_weight(&list(1000)));
        assert_eq!(predicates_weight(&[*column(), *number()]), 2.0);
    }
}
