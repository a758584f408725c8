//! Whose collation decides (manual 12.8.4 "Collation Coercibility in Expressions").

use super::Item;
use muster_types::{Collation, ErrorCode, Result, SqlError, SqlType};

/// The origin of a collation; the first in this order decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Derivation {
    /// `COLLATE`.
    Explicit,
    /// A column.
    Implicit,
    /// `USER()`, `VERSION()`.
    System,
    /// A literal, a user variable.
    Literal,
    /// A number or a date made text.
    Numeric,
    /// NULL.
    Ignorable,
}

impl Derivation {
    /// The number that COERCIBILITY() shows.
    pub fn coercibility(self) -> i64 {
        match self {
            Derivation::Explicit => 0,
            Derivation::Implicit => 2,
            Derivation::System => 3,
            Derivation::Literal => 4,
            Derivation::Numeric => 5,
            Derivation::Ignorable => 6,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Derivation::Explicit => "EXPLICIT",
            Derivation::Implicit => "IMPLICIT",
            Derivation::System => "SYSCONST",
            Derivation::Literal => "COERCIBLE",
            Derivation::Numeric => "NUMERIC",
            Derivation::Ignorable => "IGNORABLE",
        }
    }
}

/// The collation of an operation over these; `default` when none of them is text. Error 1267 when they do not go
/// together.
pub(crate) fn aggregate(items: &[&Item], default: Collation, operation: &str) -> Result<(Collation, Derivation)> {
    let mut texts = items.iter().filter_map(|i| i.ty.collation().map(|c| (c, i.derivation)));
    let Some(first) = texts.next() else { return Ok((default, Derivation::Numeric)) };
    texts.try_fold(first, |a, b| pair(a, b, operation))
}

fn pair(a: (Collation, Derivation), b: (Collation, Derivation), operation: &str) -> Result<(Collation, Derivation)> {
    if a.0 == b.0 {
        return Ok((a.0, a.1.min(b.1)));
    }
    if a.1 != b.1 {
        return Ok(if a.1 < b.1 { a } else { b });
    }
    // Byte strings win; so does a character set that holds the other; so does the `_bin` of one character set.
    let rank = |c: Collation| match c {
        Collation::Binary => 3,
        Collation::Utf8mb4Bin => 2,
        Collation::Utf8mb4_0900AiCi | Collation::Utf8mb4GeneralCi => 1,
        Collation::Latin1SwedishCi => 0,
    };
    if a.1 != Derivation::Explicit && rank(a.0) != rank(b.0) {
        return Ok(if rank(a.0) > rank(b.0) { a } else { b });
    }
    Err(SqlError::new(
        ErrorCode::CantAggregateCollations,
        format!(
            "Illegal mix of collations ({},{}) and ({},{}) for operation '{operation}'",
            a.0.name(),
            a.1.name(),
            b.0.name(),
            b.1.name()
        ),
    ))
}

/// `ty` with another collation; only text has one.
pub(crate) fn with_collation(ty: SqlType, collation: Collation) -> SqlType {
    match ty {
        SqlType::Text { kind, length, .. } => SqlType::Text { kind, length, collation },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Collation::*;
    use muster_algebra::Expr;
    use muster_types::Value;

    fn text(collation: Collation, derivation: Derivation) -> Item {
        Item {
            expr: Expr::null(SqlType::Null),
            ty: SqlType::varchar(1, collation),
            derivation,
            kept: None,
            hexadecimal: false,
            is_bits: false,
            decimals: None,
        }
    }

    fn decide(a: Item, b: Item) -> Result<Collation> {
        aggregate(&[&a, &b], Binary, "=").map(|(c, _)| c)
    }

    #[test]
    fn the_lower_derivation_decides() {
        use Derivation::*;
        assert_eq!(decide(text(Latin1SwedishCi, Implicit), text(Utf8mb4_0900AiCi, Literal)), Ok(Latin1SwedishCi));
        assert_eq!(decide(text(Latin1SwedishCi, Implicit), text(Utf8mb4Bin, Explicit)), Ok(Utf8mb4Bin));
        assert_eq!(decide(text(Latin1SwedishCi, Implicit), text(Utf8mb4_0900AiCi, Implicit)), Ok(Utf8mb4_0900AiCi));
        assert_eq!(decide(text(Utf8mb4Bin, Implicit), text(Utf8mb4_0900AiCi, Implicit)), Ok(Utf8mb4Bin));
        let number = Item::literal(Value::Int(1), SqlType::BIGINT);
        assert_eq!(decide(number, text(Latin1SwedishCi, Literal)), Ok(Latin1SwedishCi));
    }

    #[test]
    fn equals_that_differ_are_an_error() {
        use Derivation::*;
        let e = decide(text(Utf8mb4GeneralCi, Implicit), text(Utf8mb4_0900AiCi, Implicit)).unwrap_err();
        assert_eq!(e.code.number(), 1267);
        assert!(
            e.message.contains("(utf8mb4_general_ci,IMPLICIT) and (utf8mb4_0900_ai_ci,IMPLICIT) for operation '='")
        );
        assert!(decide(text(Utf8mb4Bin, Explicit), text(Utf8mb4_0900AiCi, Explicit)).is_err());
    }
}
