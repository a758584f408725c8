//! A plan as MySQL's table: a line for each table that is read (MySQL manual 10.8.2).

use crate::query_block::{BlockRole, Extra, PlanSource, QueryBlock, QueryExpression, TableLine, UnionPlan, describe};
use muster_types::Value;

/// The rows of `EXPLAIN FORMAT=TRADITIONAL`: id, select_type, table, partitions, type, possible_keys, key, key_len,
/// ref, rows, filtered, Extra.
pub fn rows(source: &PlanSource<'_>) -> Vec<Vec<Value>> {
    rows_of(&describe(source))
}

/// The rows of a plan that has been described.
pub fn rows_of(root: &QueryExpression<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    expression(root, &mut rows);
    rows
}

fn expression(expression: &QueryExpression<'_>, rows: &mut Vec<Vec<Value>>) {
    match expression {
        QueryExpression::Block(only) => block(only, false, rows),
        QueryExpression::Union(union) => {
            union.operands.iter().for_each(|operand| block(operand, true, rows));
            if union.result.is_some() {
                rows.push(union_result(union));
            }
        }
    }
}

fn block(block: &QueryBlock<'_>, in_union: bool, rows: &mut Vec<Vec<Value>>) {
    let select_type = select_type(block, in_union);
    let head = || vec![Value::UInt(block.number.into()), Value::Text(select_type.clone())];
    if let Some(message) = block.message {
        let mut row = head();
        row.resize(11, Value::Null);
        row.push(Value::Text(message.text().into()));
        rows.push(row);
    }
    for line in &block.tables {
        let mut row = head();
        if let Some(change) = line.change {
            row[1] = Value::Text(change.to_uppercase());
        }
        row.extend(table(line));
        rows.push(row);
    }
    for inner in inner_expressions(block) {
        expression(inner, rows);
    }
}

/// The query expressions inside of a block, in the order in which MySQL tells them.
pub fn inner_expressions<'b, 'a>(block: &'b QueryBlock<'a>) -> Vec<&'b QueryExpression<'a>> {
    let derived = block.tables.iter().filter_map(|line| line.below.as_deref());
    let subqueries = block.subqueries.iter().map(|subquery| &subquery.expression);
    let mut all: Vec<&QueryExpression<'_>> = derived.chain(subqueries).collect();
    all.sort_by_key(|expression| std::cmp::Reverse(expression.first().number));
    all
}

/// MySQL's `select_type`.
pub fn select_type(block: &QueryBlock<'_>, in_union: bool) -> String {
    if let Some(change) = block.change {
        return change.to_uppercase();
    }
    let name = match block.role {
        BlockRole::Outermost if in_union || block.has_parts() => "PRIMARY",
        BlockRole::Outermost => "SIMPLE",
        BlockRole::Derived => "DERIVED",
        BlockRole::Subquery => "SUBQUERY",
        BlockRole::Materialized => "MATERIALIZED",
        BlockRole::Union => "UNION",
    };
    if block.dependent { format!("DEPENDENT {name}") } else { name.into() }
}

/// The name of the rows of a set operation: `<union1,2>`.
pub fn union_name(union: &UnionPlan<'_>) -> String {
    let numbers: Vec<String> = union.operands.iter().map(|operand| operand.number.to_string()).collect();
    format!("<union{}>", numbers.join(","))
}

fn union_result(union: &UnionPlan<'_>) -> Vec<Value> {
    let mut row = vec![Value::UInt(union.number.into()), Value::Text("UNION RESULT".into())];
    row.push(Value::Text(union_name(union)));
    row.push(Value::Null);
    row.push(Value::Text("ALL".into()));
    row.resize(11, Value::Null);
    let clause = union.result.unwrap_or_default();
    let extras = [clause.temporary_table.then_some(Extra::Temporary), clause.filesort.then_some(Extra::Filesort)];
    row.push(text(extra_text(extras.into_iter().flatten())));
    row
}

fn text(text: String) -> Value {
    if text.is_empty() { Value::Null } else { Value::Text(text) }
}

fn extra_text(extras: impl IntoIterator<Item = Extra>) -> String {
    extras.into_iter().map(|extra| extra.text()).collect::<Vec<_>>().join("; ")
}

/// The columns from `table` on. MySQL expects no number of rows of what a semi join materializes.
fn table(line: &TableLine<'_>) -> Vec<Value> {
    let key_names: Vec<&str> = line.keys.iter().map(|key| key.name.as_str()).collect();
    let key_bytes: Vec<String> = line.keys.iter().map(|key| key.bytes.to_string()).collect();
    vec![
        Value::Text(line.name.shown().into()),
        Value::Null,
        Value::Text(line.access_type.into()),
        text(line.possible_keys.join(",")),
        text(key_names.join(",")),
        text(key_bytes.join(",")),
        text(line.compared.join(",")),
        if line.is_materialized() { Value::Null } else { Value::UInt(line.examined.round().max(1.0) as u64) },
        Value::Double((line.filtered() * 100.0).round() / 100.0),
        text(extra_text(line.all_extras())),
    ]
}
