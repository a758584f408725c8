//! Whose collation decides (manual 12.8.4 "Collation Coercibility in Expressions").

use super::{Item, fold};
use muster_algebra::{Columns, Expr, ScalarFunction};
use muster_types::{Collation, ErrorCode, Result, SqlError, SqlType, Value, charset::Charset};

/// The origin of a collation; the first in this order decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Derivation {
    /// `COLLATE`.
    Explicit,
    /// A text that is made of columns of several collations.
    None,
    /// A column, a user variable.
    Implicit,
    /// `USER()`, `VERSION()`.
    System,
    /// A literal.
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
            Derivation::None => 1,
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
            Derivation::None => "NONE",
            Derivation::Implicit => "IMPLICIT",
            Derivation::System => "SYSCONST",
            Derivation::Literal => "COERCIBLE",
            Derivation::Numeric => "NUMERIC",
            Derivation::Ignorable => "IGNORABLE",
        }
    }
}

/// A collation with its origin, and whether the texts are known to be ASCII (MySQL: `DTCollation`).
#[derive(Clone, Copy)]
struct Origin {
    collation: Collation,
    derivation: Derivation,
    is_ascii: bool,
}

/// The collation of a comparison of these; `default` when none of them is text. Error 1267, 1270 or 1271 when they do
/// not go together.
pub(crate) fn aggregate(items: &[&Item], default: Collation, operation: &str) -> Result<(Collation, Derivation)> {
    let decided = aggregate_result(items, default, operation)?;
    if decided.1 == Derivation::None {
        // A comparison of the result with others may go on with its collation; one that makes it may not.
        return Err(illegal_mix(items, default, operation));
    }
    Ok(decided)
}

/// The collation of a text that is made of these. Of several collations of one character set it is the `_bin` one, with
/// the derivation [`Derivation::None`].
pub(crate) fn aggregate_result(
    items: &[&Item],
    default: Collation,
    operation: &str,
) -> Result<(Collation, Derivation)> {
    let mut texts = items.iter().filter_map(|item| origin(item));
    let Some(first) = texts.next() else { return Ok((default, Derivation::Numeric)) };
    let decided = texts.try_fold(first, pair).filter(|decided| items.iter().all(|item| converts(item, *decided)));
    match decided {
        Some(decided) => Ok((decided.collation, decided.derivation)),
        None => Err(illegal_mix(items, default, operation)),
    }
}

fn origin(item: &Item) -> Option<Origin> {
    item.collation().map(|collation| Origin {
        collation,
        derivation: item.derivation,
        is_ascii: collation.character_set() == Charset::Ascii || item.is_ascii,
    })
}

/// Returns true if an expression is known to give nothing but ASCII: literals, and functions of such.
pub(super) fn is_ascii(expr: &Expr) -> bool {
    match expr {
        Expr::Literal { value: Value::Text(text), .. } => text.is_ascii(),
        Expr::Literal { value: Value::Bytes(_), .. } => false,
        Expr::Literal { .. } => true,
        Expr::Cast { arg, .. } => is_ascii(arg),
        Expr::Call { function: ScalarFunction::Library(function), .. } if is_ascii_function(function.name) => true,
        Expr::Call { function: ScalarFunction::DateAdd(_) | ScalarFunction::DateSub(_), .. } => true,
        Expr::Call { args, .. } => !args.is_empty() && args.iter().all(is_ascii),
        _ => false,
    }
}

/// As [`is_ascii`], and of columns that are no texts.
pub(crate) fn is_ascii_over(expr: &Expr, columns: &Columns) -> bool {
    match expr {
        Expr::Column(id) => !matches!(
            columns.ty(*id),
            SqlType::Text { .. } | SqlType::Bytes { .. } | SqlType::Json | SqlType::Enum(_) | SqlType::Set(_)
        ),
        Expr::Cast { arg, .. } => is_ascii_over(arg, columns),
        expr => is_ascii(expr),
    }
}

/// Returns true for a call whose arguments are known to be ASCII, or no texts.
pub(crate) fn are_ascii(call: &Expr, columns: &Columns) -> bool {
    match call {
        Expr::Call { args, .. } => !args.is_empty() && args.iter().all(|arg| is_ascii_over(arg, columns)),
        _ => false,
    }
}

/// Returns true for functions that write digits and letters of ASCII whatever they are given (MySQL:
/// `Item_str_ascii_func`).
fn is_ascii_function(name: &str) -> bool {
    matches!(
        name,
        "ADDTIME"
            | "SUBTIME"
            | "FORMAT"
            | "HEX"
            | "MD5"
            | "SHA"
            | "SHA1"
            | "SHA2"
            | "TO_BASE64"
            | "UUID"
            | "BIN_TO_UUID"
    )
}

/// The collation of two texts (MySQL: `DTCollation::aggregate`); `None` if they do not go together.
fn pair(a: Origin, b: Origin) -> Option<Origin> {
    let is_ascii = a.is_ascii && b.is_ascii;
    let with = |decided: Origin| Some(Origin { is_ascii, ..decided });
    let [own, other] = [a, b].map(|origin| origin.collation.character_set());
    if own != other {
        // A byte string wins over texts of the same derivation.
        let weak = Derivation::System;
        return match () {
            _ if own == Charset::Binary => with(if a.derivation <= b.derivation { a } else { b }),
            _ if other == Charset::Binary => with(if b.derivation <= a.derivation { b } else { a }),
            _ if holds(a, b) => with(a),
            _ if holds(b, a) => with(b),
            _ if a.derivation < b.derivation && b.derivation >= weak => with(a),
            _ if b.derivation < a.derivation && a.derivation >= weak => with(b),
            _ => None,
        };
    }
    if a.derivation != b.derivation {
        return with(if a.derivation < b.derivation { a } else { b });
    }
    match () {
        _ if a.collation == b.collation => with(a),
        _ if a.derivation == Derivation::Explicit => None,
        _ if a.collation.is_binary() => with(a),
        _ if b.collation.is_binary() => with(b),
        _ => with(Origin { collation: Collation::binary_of_charset(own), derivation: Derivation::None, is_ascii }),
    }
}

/// Returns true if texts of the right side become texts of the left side, which decides (MySQL: `left_is_superset`).
fn holds(left: Origin, right: Origin) -> bool {
    let [own, other] = [left, right].map(|origin| origin.collation.character_set());
    let decides = left.derivation < right.derivation;
    let is_peer = left.derivation == right.derivation;
    // Of the encodings of Unicode utf32 decides over all, utf8mb4 over the others.
    let is_larger = own == Charset::Utf32 || (own == Charset::Utf8mb4 && other != Charset::Utf32);
    (own.is_unicode() && (decides || (is_peer && (!other.is_unicode() || is_larger))))
        || (right.is_ascii && (decides || (is_peer && !left.is_ascii)))
}

/// Returns true if the text can become one of the collation that was decided on. What is not constant is not converted
/// to a character set that may lack its letters.
fn converts(item: &Item, decided: Origin) -> bool {
    let to = decided.collation.character_set();
    let Some(own) = origin(item) else { return true };
    let from = own.collation.character_set();
    if from == to || from == Charset::Binary || to.is_unicode() && to.contains(from) || to == Charset::Binary {
        return true;
    }
    match item.as_literal().cloned().or_else(|| fold::constant(&item.expr)) {
        Some(Value::Text(text)) => to.has_all(&text),
        _ => own.is_ascii || item.ty == SqlType::Null,
    }
}

/// Error 1267 for two texts, 1270 for three, 1271 for others.
fn illegal_mix(items: &[&Item], default: Collation, operation: &str) -> SqlError {
    let shown = |item: &&Item| {
        let derivation = if item.collation().is_some() { item.derivation } else { Derivation::Numeric };
        format!("({},{})", item.collation().unwrap_or(default).name(), derivation.name())
    };
    let shown: Vec<String> = items.iter().map(shown).collect();
    let (code, mix) = match shown.as_slice() {
        [a, b] => (ErrorCode::CantAggregateCollations, format!(" {a} and {b}")),
        [a, b, c] => (ErrorCode::CantAggregateThreeCollations, format!(" {a}, {b}, {c}")),
        _ => return illegal_mix_of_many(operation),
    };
    SqlError::new(code, format!("Illegal mix of collations{mix} for operation '{operation}'"))
}

/// Error 1271
pub(crate) fn illegal_mix_of_many(operation: &str) -> SqlError {
    let message = format!("Illegal mix of collations for operation '{operation}'");
    SqlError::new(ErrorCode::CantAggregateManyCollations, message)
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
    fn text(collation: Collation, derivation: Derivation) -> Item {
        Item {
            expr: Expr::null(SqlType::Null),
            ty: SqlType::varchar(1, collation),
            derivation,
            kept: None,
            hexadecimal: false,
            is_bits: false,
            decimals: None,
            shown: None,
            characters: None,
            text_collation: None,
            is_ascii: true,
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
        assert!(decide(text(Latin1SwedishCi, Implicit), text(Koi8rGeneralCi, Implicit)).is_err());
        let (a, b, c) =
            (text(Utf8mb4GeneralCi, Implicit), text(Utf8mb4_0900AiCi, Implicit), text(Utf8mb4UnicodeCi, Implicit));
        assert_eq!(aggregate_result(&[&a, &b], Binary, "concat"), Ok((Utf8mb4Bin, Derivation::None)));
        assert_eq!(aggregate(&[&a, &b, &c], Binary, "=").unwrap_err().code.number(), 1270);
        assert_eq!(aggregate(&[&a, &b, &c, &c], Binary, "=").unwrap_err().code.number(), 1271);
    }
}
