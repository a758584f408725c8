//! User variables in the XPath expressions of EXTRACTVALUE and UPDATEXML, as `$@name` (manual 14.11). Their values are
//! put into the expression as literals when the statement is bound.

use crate::{bind::binder::Binder, typing::Item};
use muster_types::{Collation, SqlType, Value};

impl Binder<'_> {
    /// An XPath expression with the values of its user variables; one that is nothing but a variable that is NULL is
    /// NULL. An expression that is no constant stays as it is, and so does what is no name of a user variable.
    pub(super) fn with_xpath_variables(&mut self, item: Item) -> Item {
        let Some(Value::Text(path)) =
            item.as_literal().filter(|value| matches!(value, Value::Text(t) if t.contains('$')))
        else {
            return item;
        };
        let (mut written, mut rest, mut is_null) = (String::with_capacity(path.len()), path.as_str(), false);
        let mut names = 0;
        while let Some(at) = rest.find(['$', '\'', '"']) {
            let (before, behind) = rest.split_at(at);
            written.push_str(before);
            let (token, left) = match behind.strip_prefix('$') {
                Some(behind_sign) => match variable(behind_sign) {
                    Some((name, left)) => {
                        names += 1;
                        let value = self.env.session.user_variable(&name.to_lowercase());
                        is_null |= value.is_null();
                        (literal(&value), left)
                    }
                    None => ("$".to_owned(), behind_sign),
                },
                // A quoted text stays.
                None => {
                    let quote = &behind[..1];
                    let end = behind[1..].find(quote).map_or(behind.len(), |end| end + 2);
                    (behind[..end].to_owned(), &behind[end..])
                }
            };
            written.push_str(&token);
            rest = left;
        }
        written.push_str(rest);
        if names == 0 {
            return item;
        }
        self.uses_variables = true;
        let ty = SqlType::varchar(written.chars().count() as u32, item.ty.collation().unwrap_or(Collation::DEFAULT));
        let value = if is_null && written.trim() == literal(&Value::Null) { Value::Null } else { Value::Text(written) };
        Item { derivation: item.derivation, ..Item::literal(value, ty) }
    }
}

/// The name of a user variable behind `$`, and what stands behind it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let name = text.trim_start().strip_prefix('@')?.trim_start();
    let is_first = |c: char| c.is_alphabetic() || c == '_';
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let end = name.find(|c: char| !is_part(c)).unwrap_or(name.len());
    name.starts_with(is_first).then(|| name.split_at(end))
}

/// A value as XPath has it: a number, or a text between quotes.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "''".to_owned(),
        Value::Double(x) => x.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes)),
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => value.to_text(0).unwrap_or_default(),
        other => quoted(&other.to_text(6).unwrap_or_default()),
    }
}

fn quoted(text: &str) -> String {
    if !text.contains('\'') {
        return format!("'{text}'");
    }
    if !text.contains('"') {
        return format!("\"{text}\"");
    }
    let parts: Vec<String> = text.split('\'').map(|part| format!("'{part}'")).collect();
    format!("concat({})", parts.join(", \"'\", "))
}
