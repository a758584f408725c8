//! Definitions as the statements that make them, in MySQL's layout.

use crate::{
    catalog::{Schema, TableEntry, ViewEntry},
    charset,
    variables::Variables,
};
use muster_algebra::{
    CheckConstraint, ColumnDef, DefaultValue, Definer, ForeignKey, IndexDef, ReferentialAction, Visibility,
};
use muster_types::{Collation, SqlModes, SqlType, Value, time_zone::TimeZone};
use std::fmt::Write;

/// The quotes that SHOW CREATE puts around names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameQuotes {
    Backticks,
    /// ANSI_QUOTES.
    Double,
    /// Quotes around names that need them only, since `sql_quote_show_create` is off. With ANSI_QUOTES they are double
    /// quotes.
    WhereNeeded {
        ansi: bool,
    },
}

impl NameQuotes {
    pub fn of(variables: &Variables) -> NameQuotes {
        let ansi = variables.settings().modes.has(SqlModes::ANSI_QUOTES);
        match (variables.is_on("sql_quote_show_create"), ansi) {
            (false, ansi) => NameQuotes::WhereNeeded { ansi },
            (true, true) => NameQuotes::Double,
            (true, false) => NameQuotes::Backticks,
        }
    }

    fn around(self, name: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii();
        let is_word = !name.is_empty() && name.chars().all(is_plain) && !name.bytes().all(|b| b.is_ascii_digit());
        let quote = match self {
            NameQuotes::WhereNeeded { .. } if is_word && !muster_sql::is_reserved(name) => return name.to_owned(),
            NameQuotes::Double | NameQuotes::WhereNeeded { ansi: true } => '"',
            NameQuotes::Backticks | NameQuotes::WhereNeeded { ansi: false } => '`',
        };
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }
}

/// A text in quotes, escaped as MySQL prints it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("''"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

pub fn database(name: &str, schema: &Schema, if_not_exists: bool, names: NameQuotes) -> String {
    let c = schema.collation;
    // MySQL names the collation where it is not the character set's default, and always for utf8mb4_0900_ai_ci.
    let collate = match !charset::is_default(c) || c == Collation::Utf8mb4_0900AiCi {
        true => format!(" COLLATE {}", c.name()),
        false => String::new(),
    };
    let exists = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    format!(
        "CREATE DATABASE {exists}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        names.around(name),
        c.charset()
    )
}

pub fn view(view: &ViewEntry, names: NameQuotes) -> String {
    let columns = if view.def.columns.is_empty() {
        String::new()
    } else {
        let columns: Vec<String> = view.def.columns.iter().map(|c| names.around(c)).collect();
        format!(" ({})", columns.join(","))
    };
    let security = match &view.def.definer {
        Some(Definer { user, host }) => {
            format!("DEFINER={}@{} SQL SECURITY DEFINER", names.around(user), names.around(host))
        }
        None => "SQL SECURITY INVOKER".into(),
    };
    let check = view.def.check_option.map_or(String::new(), |option| format!(" WITH {} CHECK OPTION", option.name()));
    let name = names.around(&view.def.name);
    let algorithm = view.def.algorithm.name();
    format!("CREATE ALGORITHM={algorithm} {security} VIEW {name}{columns} AS {}{check}", view.def.query)
}

/// `auto_increment`: the next value. `zone`: in which defaults of TIMESTAMP columns are shown.
pub fn table(entry: &TableEntry, auto_increment: u64, zone: TimeZone, names: NameQuotes) -> String {
    let def = &entry.def;
    let mut lines: Vec<String> = Vec::new();
    for (i, c) in def.columns.iter().enumerate().filter(|(_, c)| !c.is_hidden()) {
        lines.push(column(c, def.collation, entry.extras.on_update_now.contains(&i), zone, names));
    }
    for index in def.indexes.iter().filter(|i| !i.parts.is_empty()) {
        lines.push(key(entry, index, names));
    }
    let mut keys: Vec<&ForeignKey> = def.foreign_keys.iter().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    lines.extend(keys.into_iter().map(|key| foreign_key(key, &def.database, names)));
    let mut checks: Vec<&CheckConstraint> = def.checks.iter().collect();
    checks.sort_by_key(|check| check.name.to_lowercase());
    lines.extend(checks.into_iter().map(|constraint| check(constraint, names)));
    let c = def.collation;
    let temporary = if def.id.is_temporary() { "TEMPORARY " } else { "" };
    let (name, lines) = (names.around(&def.name), lines.join(",\n  "));
    let mut out = format!("CREATE {temporary}TABLE {name} (\n  {lines}\n) ENGINE=InnoDB");
    if auto_increment > 1 && entry.auto_increment_column().is_some() {
        let _ = write!(out, " AUTO_INCREMENT={auto_increment}");
    }
    let _ = write!(out, " DEFAULT CHARSET={}", c.charset());
    if !charset::is_default(c) || c == Collation::Utf8mb4_0900AiCi {
        let _ = write!(out, " COLLATE={}", c.name());
    }
    for word in OPTIONS {
        if let Some(value) = entry.extras.options.get(word) {
            let _ = write!(out, " {word}={value}");
        }
    }
    if !def.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", quoted(&def.comment));
    }
    out
}

/// Options that are only shown, in MySQL's order.
const OPTIONS: [&str; 11] = [
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
];

/// A foreign key; `database`: that of its table.
pub fn foreign_key(key: &ForeignKey, database: &str, names: NameQuotes) -> String {
    let list = |columns: &[String]| columns.iter().map(|name| names.around(name)).collect::<Vec<_>>().join(", ");
    let parent = match key.database == database {
        true => names.around(&key.table),
        false => format!("{}.{}", names.around(&key.database), names.around(&key.table)),
    };
    let rule = |on: &str, action: ReferentialAction| match action {
        ReferentialAction::NoAction => String::new(),
        _ => format!(" ON {on} {}", action.name()),
    };
    format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({}){}{}",
        names.around(&key.name),
        list(&key.columns),
        list(&key.referenced),
        rule("DELETE", key.on_delete),
        rule("UPDATE", key.on_update)
    )
}

fn check(check: &CheckConstraint, names: NameQuotes) -> String {
    let off = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("CONSTRAINT {} CHECK ({}){off}", names.around(&check.name), check.expr)
}

fn column(c: &ColumnDef, table_collation: Collation, on_update_now: bool, zone: TimeZone, names: NameQuotes) -> String {
    let mut out = format!("{} {}", names.around(&c.name), c.declared_type());
    let collation = if c.ty.is_bytes() { None } else { c.ty.collation() };
    if let Some(collation) = collation {
        if collation != table_collation || c.explicit_collation {
            let _ = write!(out, " CHARACTER SET {}", collation.charset());
        }
        let is_newer = |collation| collation == Collation::Utf8mb4_0900AiCi;
        let is_other = is_newer(collation) && !is_newer(table_collation);
        if !charset::is_default(collation) || c.explicit_collation || is_other {
            let _ = write!(out, " COLLATE {}", collation.name());
        }
    }
    if let Some(generated) = &c.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(out, " GENERATED ALWAYS AS ({}) {kind}", generated.expr);
    }
    let is_timestamp = matches!(c.ty, SqlType::Timestamp { .. });
    if !c.nullable {
        out.push_str(" NOT NULL");
    } else if is_timestamp {
        out.push_str(" NULL");
    }
    let fsp = c.ty.fsp();
    let clock = if fsp == 0 { "CURRENT_TIMESTAMP".to_owned() } else { format!("CURRENT_TIMESTAMP({fsp})") };
    match &super::shown_default(c, zone) {
        Some(DefaultValue::CurrentTimestamp) => {
            let _ = write!(out, " DEFAULT {clock}");
        }
        Some(DefaultValue::Expr(text)) => {
            let _ = write!(out, " DEFAULT ({text})");
        }
        Some(DefaultValue::Value(value)) => {
            let _ = write!(out, " DEFAULT {}", default_literal(value, c));
        }
        Some(DefaultValue::Dropped) => {}
        None if c.nullable && (!c.ty.is_long() || c.ty == SqlType::Json) && c.generated.is_none() => {
            out.push_str(" DEFAULT NULL");
        }
        None => {}
    }
    if on_update_now {
        let _ = write!(out, " ON UPDATE {clock}");
    }
    if c.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if c.visibility == Visibility::Invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    if !c.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", quoted(&c.comment));
    }
    out
}

/// MySQL quotes every literal default, numbers too; byte strings that are no text are hexadecimal.
fn default_literal(value: &Value, column: &ColumnDef) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::UInt(bits) if matches!(column.ty, SqlType::Bit { .. }) => format!("b'{bits:b}'"),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => quoted(text),
            Err(_) => value.to_string(),
        },
        other => quoted(&column.shown(other).unwrap_or_default()),
    }
}

fn key(entry: &TableEntry, index: &IndexDef, names: NameQuotes) -> String {
    let (def, comment) = (&entry.def, entry.extras.index_comments.get(&index.id));
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|p| {
            let prefix = p.prefix.map(|n| format!("({n})")).unwrap_or_default();
            let order = if p.descending { " DESC" } else { "" };
            let column = &def.columns[p.column];
            match &column.generated {
                Some(generated) if column.is_hidden() => format!("({}){order}", generated.expr),
                _ => format!("{}{prefix}{order}", names.around(&column.name)),
            }
        })
        .collect();
    let kind = match (index.name.as_str(), index.unique) {
        (super::keys::PRIMARY, _) => "PRIMARY KEY".to_owned(),
        (name, true) => format!("UNIQUE KEY {}", names.around(name)),
        (name, false) => format!("KEY {}", names.around(name)),
    };
    let comment = comment.map(|c| format!(" COMMENT {}", quoted(c))).unwrap_or_default();
    let invisible = if index.invisible { " /*!80000 INVISIBLE */" } else { "" };
    let typed = if entry.extras.typed_indexes.contains(&index.id) { " USING BTREE" } else { "" };
    format!("{kind} ({}){typed}{comment}{invisible}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_quotes_of_the_session() {
        let all = [
            NameQuotes::Backticks,
            NameQuotes::Double,
            NameQuotes::WhereNeeded { ansi: false },
            NameQuotes::WhereNeeded { ansi: true },
        ];
        for (name, want) in [
            ("a", ["`a`", "\"a\"", "a", "a"]),
            ("a`b", ["`a``b`", "\"a`b\"", "`a``b`", "\"a`b\""]),
            ("order", ["`order`", "\"order\"", "`order`", "\"order\""]),
            ("12", ["`12`", "\"12\"", "`12`", "\"12\""]),
        ] {
            assert_eq!(all.map(|quotes| quotes.around(name)), want);
        }
    }
}
