//! Which expressions may be moved, computed once for many rows, computed while planning, or left out.
//!
//! Everything that has this freedom is listed here. An expression or a function that is not listed stays where the
//! statement has it and is computed for each row, so that a new one is right before anybody has thought about it:
//! RAND(), UUID() and `@a := x` differ from call to call, SLEEP() is called for what it does.

use crate::{Expr, ScalarFunction};

impl ScalarFunction {
    /// Returns true for a conversion that no one has written.
    pub fn is_unseen_conversion(self) -> bool {
        matches!(self, ScalarFunction::ComputedInteger | ScalarFunction::FittedDouble)
    }

    /// Returns true if the function gives the same value for the same arguments whenever it is called, and does nothing
    /// else.
    pub fn is_deterministic(self) -> bool {
        use ScalarFunction::*;
        if let Library(function) = self {
            return !function.is_volatile;
        }
        if matches!(self, ReadNumber(_) | MomentNumber | ComputedInteger | FittedDouble | ReadDate | DecodeText(_)) {
            return true;
        }
        matches!(
            self,
            DateAdd(_)
                | DateSub(_)
                | Extract(_)
                | DayOfWeek
                | Weekday
                | DayOfYear
                | Week
                | YearWeek
                | DateDiff
                | LastDay
                | ConvertTz
                | Substring
                | Concat
                | ConcatWs
                | Upper
                | Lower
                | CharLength
                | Length
                | Trim
                | LTrim
                | RTrim
                | Left
                | Right
                | LPad
                | RPad
                | Replace
                | Repeat
                | Reverse
                | Locate
                | Ascii
                | Crc32
                | Coalesce
                | NullIf
                | Greatest
                | Least
                | Abs
                | Sign
                | Ceil
                | Floor
                | Round
                | Truncate
                | Sqrt
                | Pow
                | Exp
                | Ln
                | Log10
                | Log2
                | Log
                | Sin
                | Cos
                | Tan
                | BitAnd
                | BitOr
                | BitXor
                | BitNot
                | ShiftLeft
                | ShiftRight
                | BitCount
        )
    }
}

impl Expr {
    /// Returns true if the expression gives the same value for the same columns whenever it is computed, and computing
    /// it does nothing else.
    pub fn is_movable(&self) -> bool {
        let itself = match self {
            Expr::Call { function, .. } => function.is_deterministic(),
            Expr::Column(_)
            | Expr::Literal { .. }
            | Expr::Parameter { .. }
            | Expr::Cast { .. }
            | Expr::Compare { .. }
            | Expr::Logic { .. }
            | Expr::Not(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::Arithmetic { .. }
            | Expr::Negate { .. }
            | Expr::InList { .. }
            | Expr::Like { .. }
            | Expr::Case { .. } => true,
            // A subquery is computed where rules for subqueries put it.
            _ => false,
        };
        let mut all = itself;
        if itself {
            self.for_each_child(&mut |child| all = all && child.is_movable());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColId, Quantifier, Rel, SqlType, Subquery, SubqueryKind, Value};

    fn call(function: ScalarFunction, args: Vec<Expr>) -> Expr {
        Expr::Call { function, args, ty: SqlType::BIGINT }
    }

    #[test]
    fn what_functions_say_counts_at_any_depth() {
        let pure = call(ScalarFunction::Abs, vec![Expr::Column(ColId(1))]);
        assert!(pure.is_movable());
        // A parameter has one value throughout an execution.
        assert!(Expr::eq(Expr::Column(ColId(1)), Expr::parameter(0, SqlType::BIGINT)).is_movable());
        let waits = call(ScalarFunction::Sleep, vec![Expr::int(0)]);
        assert!(!waits.is_movable());
        assert!(!call(ScalarFunction::Abs, vec![waits.clone()]).is_movable());
        assert!(!Expr::and(vec![pure, Expr::eq(waits, Expr::int(0))]).is_movable());
    }

    #[test]
    fn what_is_not_listed_stays_where_it_is() {
        let rel = Box::new(Rel::Values { columns: vec![], rows: vec![] });
        let kind = SubqueryKind::Compare {
            left: Box::new(Expr::literal(Value::Null, SqlType::BIGINT)),
            op: crate::CompareOp::Eq,
            quantifier: Quantifier::Any,
        };
        assert!(!Expr::Subquery(Box::new(Subquery { kind, rel, outputs: vec![], outer: vec![] })).is_movable());
    }
}
