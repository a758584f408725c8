//! `CAST(e AS CHAR) = 'a'` of an ENUM or SET column becomes a comparison with the number that has this text. A text
//! that is no member's stays: its comparison is never TRUE.

use crate::literal::literal;
use muster_algebra::{Columns, CompareOp, Expr, SqlType, Value};
use muster_types::MemberList;

/// The column under a cast to its text.
fn text_of_column<'a>(expr: &'a Expr, columns: &Columns) -> Option<(&'a Expr, SqlType)> {
    let Expr::Cast { arg, ty: SqlType::Text { length, collation, .. } } = expr else { return None };
    let declared = arg.ty(columns);
    let SqlType::Text { length: longest, collation: own, .. } = declared.operand_type() else { return None };
    let whole = *length >= longest && *collation == own;
    let of_members = matches!(declared, SqlType::Enum(_) | SqlType::Set(_));
    (matches!(**arg, Expr::Column(_)) && of_members && whole).then_some((&**arg, declared))
}

/// The numbers whose text equals the constant: none if it is no member's.
fn numbers(constant: &Expr, declared: SqlType) -> Option<Vec<Expr>> {
    let (Value::Text(text), _) = literal(constant)? else { return None };
    let numbers: Vec<u64> = match declared {
        SqlType::Enum(members) => enum_numbers(text, members),
        SqlType::Set(members) => set_number(text, members)?,
        _ => return None,
    };
    Some(numbers.into_iter().map(|n| Expr::literal(Value::UInt(n), declared)).collect())
}

fn enum_numbers(text: &str, members: MemberList) -> Vec<u64> {
    let empty = members.collation().equals("", text).then_some(0);
    empty.into_iter().chain(members.position(text).map(|position| position as u64)).collect()
}

/// The bits whose text equals a text. `None` if that is not known: an empty member has no text of its own.
fn set_number(text: &str, members: MemberList) -> Option<Vec<u64>> {
    let (bits, all) = members.set_bits(text);
    let equal = all && members.collation().equals(&members.set_text(bits), text);
    let plain = members.names().iter().all(|name| !name.is_empty());
    (equal && plain).then_some(vec![bits])
}

pub(super) fn unwrap_comparison(op: CompareOp, left: &Expr, right: &Expr, columns: &Columns) -> Option<Expr> {
    let (column, declared, constant) = match (text_of_column(left, columns), text_of_column(right, columns)) {
        (Some((column, declared)), None) => (column, declared, right),
        (None, Some((column, declared))) => (column, declared, left),
        _ => return None,
    };
    let mut numbers = numbers(constant, declared)?;
    match (op, numbers.len()) {
        (CompareOp::Eq | CompareOp::NotEq | CompareOp::NullSafeEq, 1) => {
            Some(Expr::compare(op, column.clone(), numbers.remove(0)))
        }
        (CompareOp::Eq | CompareOp::NotEq, 2..) => {
            let negated = op == CompareOp::NotEq;
            Some(Expr::InList { arg: Box::new(column.clone()), list: numbers, negated })
        }
        _ => None,
    }
}

/// The column and the numbers of a list of texts; texts that are no member's fall out.
pub(super) fn unwrap_list(arg: &Expr, list: &[Expr], columns: &Columns) -> Option<(Expr, Vec<Expr>)> {
    let (column, declared) = text_of_column(arg, columns)?;
    let mut all = Vec::new();
    for constant in list {
        all.extend(numbers(constant, declared)?);
    }
    (!all.is_empty()).then(|| (column.clone(), all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Collation;

    #[test]
    fn texts_become_the_numbers_of_members() {
        let names = |list: &[&str]| list.iter().map(|n| n.to_string()).collect();
        let mut columns = Columns::default();
        let e_type = SqlType::Enum(MemberList::new(names(&["b", "a", ""]), Collation::DEFAULT));
        let s_type = SqlType::Set(MemberList::new(names(&["x", "y"]), Collation::DEFAULT));
        let (e, s) = (columns.add_computed("e", e_type, true), columns.add_computed("s", s_type, true));
        let text = |id, ty: SqlType| Expr::Cast { arg: Box::new(Expr::Column(id)), ty: ty.operand_type() };
        let constant = |text: &str| Expr::literal(Value::Text(text.into()), SqlType::varchar(9, Collation::DEFAULT));
        let number = |n, ty| Expr::literal(Value::UInt(n), ty);
        let unwrap = |op, id, ty, value| unwrap_comparison(op, &text(id, ty), &constant(value), &columns);
        let equal = |id, n, ty| Some(Expr::compare(CompareOp::Eq, Expr::Column(id), number(n, ty)));
        assert_eq!(unwrap(CompareOp::Eq, e, e_type, "A"), equal(e, 2, e_type));
        assert_eq!(unwrap(CompareOp::Eq, s, s_type, "x,Y"), equal(s, 3, s_type));
        // The empty member and the value of a wrong text.
        let either = vec![number(0, e_type), number(3, e_type)];
        let list = Expr::InList { arg: Box::new(Expr::Column(e)), list: either, negated: false };
        assert_eq!(unwrap(CompareOp::Eq, e, e_type, ""), Some(list));
        // No member's text, another order of the members, and an order of texts, which numbers do not have.
        for (op, id, ty, value) in
            [(CompareOp::Eq, e, e_type, "c"), (CompareOp::Eq, s, s_type, "y,x"), (CompareOp::Lt, e, e_type, "a")]
        {
            assert_eq!(unwrap(op, id, ty, value), None, "{value}");
        }
        let in_list = unwrap_list(&text(e, e_type), &[constant("a"), constant("c")], &columns);
        assert_eq!(in_list, Some((Expr::Column(e), vec![number(2, e_type)])));
        assert_eq!(unwrap_list(&text(e, e_type), &[constant("c")], &columns), None);
    }
}
