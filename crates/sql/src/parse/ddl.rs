//! CREATE, DROP, ALTER, RENAME.

use super::{
    account, alter, column,
    cursor::Cursor,
    foreign_key::{at_foreign_key, foreign_key},
    roles,
};
use crate::{
    CheckSpec, CreateDatabase, CreateIndex, CreateTable, CreateTableSelect, CreateView, DropIndex, IndexColumn,
    IndexKind, IndexSpec, ProgramKind, ScalarExpr, Statement, TableOptions, ViewSecurity,
};
use muster_algebra::{CheckOption, ViewAlgorithm};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::tokenizer::Token;

pub(super) fn create(c: &mut Cursor) -> Result<Statement> {
    c.expect("CREATE")?;
    if c.accept_any(&["DATABASE", "SCHEMA"]).is_some() {
        return Ok(Statement::CreateDatabase(database(c, true)?));
    }
    if c.at("USER") {
        return account::create(c);
    }
    if c.at("ROLE") {
        return roles::create(c);
    }
    if c.accept("TABLE") {
        return table(c, false);
    }
    if c.accept("TEMPORARY TABLE") {
        return table(c, true);
    }
    if let Some(kind) = index_start(c)? {
        return create_index(c, kind);
    }
    let or_replace = c.accept("OR REPLACE");
    let (security, algorithm) = view_attributes(c)?;
    if c.accept("VIEW") {
        return view(c, ViewHead { or_replace, is_alter: false, security, algorithm });
    }
    let what = c.word(0);
    Err(match what.as_str() {
        "FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT" | "TABLESPACE" | "SERVER" | "LOGFILE" | "SPATIAL"
        | "RESOURCE" | "AGGREGATE" | "UNDO" | "LIBRARY" => SqlError::unsupported(format!("CREATE {what}")),
        _ => c.error(),
    })
}

/// `ALGORITHM = ..`, `DEFINER = ..` and `SQL SECURITY ..`.
fn view_attributes(c: &mut Cursor) -> Result<(ViewSecurity, ViewAlgorithm)> {
    let (mut definer, mut invoker) = (ViewSecurity::Creator, false);
    let mut algorithm = ViewAlgorithm::Undefined;
    loop {
        if c.accept("ALGORITHM") {
            c.expect_token(&Token::Eq)?;
            algorithm = match c.accept_any(&["UNDEFINED", "MERGE", "TEMPTABLE"]) {
                Some("UNDEFINED") => ViewAlgorithm::Undefined,
                Some("MERGE") => ViewAlgorithm::Merge,
                Some(_) => ViewAlgorithm::TempTable,
                None => return Err(c.error()),
            };
        } else if c.accept("DEFINER") {
            c.expect_token(&Token::Eq)?;
            definer = ViewSecurity::Definer(account::user_name(c)?);
        } else if c.accept("SQL SECURITY INVOKER") {
            invoker = true;
        } else if !c.accept("SQL SECURITY DEFINER") {
            return Ok((if invoker { ViewSecurity::Invoker } else { definer }, algorithm));
        }
    }
}

/// Errors for what is to be encrypted, which is not supported, and for what is neither `Y` nor `N`: 1525.
fn refuse_encryption(value: &str) -> Result<()> {
    match value.to_ascii_uppercase().as_str() {
        "N" => Ok(()),
        "Y" => Err(SqlError::unsupported("DATABASE .. ENCRYPTION='Y'")),
        _ => {
            let message = format!("Incorrect argument (should be Y or N) value: '{value}'");
            Err(SqlError::new(ErrorCode::WrongValue, message))
        }
    }
}

fn database(c: &mut Cursor, create: bool) -> Result<CreateDatabase> {
    let if_not_exists = create && c.accept("IF NOT EXISTS");
    let is_option = ["DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "READ", "ENCRYPTION"].iter().any(|w| c.at(w));
    let name = if !create && is_option { None } else { Some(c.identifier()?) };
    let (mut charset, mut collation) = (None, None);
    while !c.at_end() {
        c.accept("DEFAULT");
        if c.accept("CHARACTER SET") || c.accept("CHARSET") {
            c.accept_token(&Token::Eq);
            charset = Some(c.name_or_string()?);
        } else if c.accept("COLLATE") {
            c.accept_token(&Token::Eq);
            collation = Some(c.name_or_string()?);
        } else if c.accept("ENCRYPTION") {
            c.accept_token(&Token::Eq);
            refuse_encryption(&c.string()?)?;
        } else if c.at("READ") {
            return Err(SqlError::unsupported("DATABASE .. READ"));
        } else {
            return Err(c.error());
        }
    }
    Ok(CreateDatabase { name, if_not_exists, charset, collation })
}

fn table(c: &mut Cursor, temporary: bool) -> Result<Statement> {
    let if_not_exists = c.accept("IF NOT EXISTS");
    let name = c.table_name()?;
    let mut table = CreateTable {
        name,
        temporary,
        if_not_exists,
        columns: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions::default(),
        like: None,
    };
    if c.accept("LIKE") {
        table.like = Some(c.table_name()?);
        return Ok(Statement::CreateTable(Box::new(table)));
    }
    if *c.peek(0) == Token::LParen && c.at_nth(1, "LIKE") {
        c.advance();
        c.advance();
        table.like = Some(c.table_name()?);
        c.expect_token(&Token::RParen)?;
        return Ok(Statement::CreateTable(Box::new(table)));
    }
    let is_defined = *c.peek(0) == Token::LParen && !begins_query(c, 1);
    if is_defined {
        c.advance();
        loop {
            table_element(c, &mut table)?;
            if !c.accept_token(&Token::Comma) {
                break;
            }
        }
        c.expect_token(&Token::RParen)?;
    }
    table_options(c, &mut table.options)?;
    let duplicates = c.accept_any(&["IGNORE", "REPLACE"]);
    let (ignore, replace) = (duplicates == Some("IGNORE"), duplicates == Some("REPLACE"));
    if c.accept("AS") || duplicates.is_some() || !is_defined || begins_query(c, 0) {
        let query = c.query()?;
        return Ok(Statement::CreateTableSelect(Box::new(CreateTableSelect { table, query, ignore, replace })));
    }
    Ok(Statement::CreateTable(Box::new(table)))
}

/// Returns true if the `n`th token from here begins a query.
fn begins_query(c: &Cursor, n: usize) -> bool {
    *c.peek(n) == Token::LParen || ["SELECT", "WITH", "TABLE", "VALUES"].iter().any(|word| c.at_nth(n, word))
}

fn table_element(c: &mut Cursor, table: &mut CreateTable) -> Result<()> {
    let constraint = constraint_name(c)?;
    if c.at("CHECK") {
        table.checks.push(check_constraint(c, constraint.flatten(), None)?);
        return Ok(());
    }
    if at_foreign_key(c) {
        let key = foreign_key(c, constraint.flatten())?;
        table.indexes.push(key.index());
        table.foreign_keys.push(key);
        return Ok(());
    }
    match index_definition(c)? {
        Some(mut index) => {
            index.name = index.name.or(constraint.flatten());
            table.indexes.push(index);
        }
        None if constraint.is_some() => return Err(c.error()),
        None => {
            let mut column = column::column(c)?;
            table.checks.append(&mut column.checks);
            table.columns.push(column);
        }
    }
    Ok(())
}

/// `CONSTRAINT [name]`; `None` if the word does not follow.
pub(super) fn constraint_name(c: &mut Cursor) -> Result<Option<Option<String>>> {
    if !c.accept("CONSTRAINT") {
        return Ok(None);
    }
    let is_named = !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].iter().any(|w| c.at(w));
    Ok(Some(if is_named { Some(c.identifier()?) } else { None }))
}

/// `CHECK (expr) [[NOT] ENFORCED]`. `column`: the one in whose definition it stands.
pub(super) fn check_constraint(c: &mut Cursor, name: Option<String>, column: Option<&str>) -> Result<CheckSpec> {
    c.expect("CHECK")?;
    let expr = parenthesised_expression(c)?;
    let is_off = c.at("NOT") && c.at_nth(1, "ENFORCED");
    if is_off {
        c.advance();
    }
    c.accept("ENFORCED");
    Ok(CheckSpec { name, expr, enforced: !is_off, column: column.map(str::to_owned) })
}

pub(super) fn parenthesised_expression(c: &mut Cursor) -> Result<ScalarExpr> {
    c.expect_token(&Token::LParen)?;
    let expr = c.expression()?;
    c.expect_token(&Token::RParen)?;
    Ok(expr)
}

/// An index inside CREATE TABLE or behind ADD; `None` when a column follows.
pub(super) fn index_definition(c: &mut Cursor) -> Result<Option<IndexSpec>> {
    if (c.at("FULLTEXT") || c.at("SPATIAL")) && !c.word(1).is_empty() {
        return Err(SqlError::unsupported(format!("{} index", c.word(0))));
    }
    let kind = if c.accept("PRIMARY KEY") {
        IndexKind::Primary
    } else if c.accept_any(&["UNIQUE KEY", "UNIQUE INDEX", "UNIQUE"]).is_some() {
        IndexKind::Unique
    } else if c.accept_any(&["KEY", "INDEX"]).is_some() {
        IndexKind::Plain
    } else {
        return Ok(None);
    };
    let mut name = None;
    if *c.peek(0) != Token::LParen && !c.at("USING") {
        name = Some(c.identifier()?);
    }
    let is_typed = index_type(c)?;
    let columns = c.parenthesised(index_column)?;
    let IndexOptions { comment, invisible, is_typed } = index_options(c, is_typed)?;
    // The primary key is always PRIMARY.
    let name = if kind == IndexKind::Primary { None } else { name };
    Ok(Some(IndexSpec { kind, name, columns, comment, invisible, is_typed, is_generated: false }))
}

/// `USING BTREE`; HASH becomes a B+tree too, as in InnoDB. Returns true if it is there.
fn index_type(c: &mut Cursor) -> Result<bool> {
    if c.accept_any(&["USING", "TYPE"]).is_none() {
        return Ok(false);
    }
    match c.accept_any(&["BTREE", "HASH"]) {
        Some(_) => Ok(true),
        None => Err(c.error()),
    }
}

fn index_column(c: &mut Cursor) -> Result<IndexColumn> {
    if *c.peek(0) == Token::LParen {
        let expr = Some(parenthesised_expression(c)?);
        let descending = c.accept_any(&["ASC", "DESC"]) == Some("DESC");
        return Ok(IndexColumn { name: String::new(), expr, prefix: None, descending });
    }
    let name = c.identifier()?;
    let mut prefix = None;
    if c.accept_token(&Token::LParen) {
        let n = c.unsigned()?;
        if n == 0 {
            return Err(SqlError::new(ErrorCode::KeyPartZero, format!("Key part '{name}' length cannot be 0")));
        }
        prefix = Some(u32::try_from(n).map_err(|_| c.error())?);
        c.expect_token(&Token::RParen)?;
    }
    let descending = c.accept_any(&["ASC", "DESC"]) == Some("DESC");
    Ok(IndexColumn { name, expr: None, prefix, descending })
}

/// What is kept of the options behind the parts.
#[derive(Default)]
struct IndexOptions {
    comment: String,
    invisible: bool,
    is_typed: bool,
}

/// `is_typed`: the type of the index stands before its parts.
fn index_options(c: &mut Cursor, is_typed: bool) -> Result<IndexOptions> {
    let mut options = IndexOptions { is_typed, ..IndexOptions::default() };
    loop {
        if c.accept("COMMENT") {
            options.comment = c.string()?;
        } else if c.at("USING") {
            options.is_typed |= index_type(c)?;
        } else if c.accept("KEY_BLOCK_SIZE") {
            c.accept_token(&Token::Eq);
            c.unsigned()?;
        } else if let Some(word) = c.accept_any(&["VISIBLE", "INVISIBLE"]) {
            options.invisible = word == "INVISIBLE";
        } else if c.at("WITH") && c.at_nth(1, "PARSER") {
            return Err(SqlError::unsupported("WITH PARSER"));
        } else {
            return Ok(options);
        }
    }
}

/// Reads table options up to something else.
fn table_options(c: &mut Cursor, options: &mut TableOptions) -> Result<()> {
    loop {
        c.accept_token(&Token::Comma);
        if !table_option(c, options)? {
            return Ok(());
        }
    }
}

/// Options that change nothing and are kept to be shown, as far as they have another value than DEFAULT.
const KEPT_OPTIONS: [&str; 11] = [
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "MAX_ROWS",
    "MIN_ROWS",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "PACK_KEYS",
];

/// Reads one table option; false when there is none.
pub(super) fn table_option(c: &mut Cursor, options: &mut TableOptions) -> Result<bool> {
    c.accept("DEFAULT");
    if c.accept("ENGINE") {
        c.accept_token(&Token::Eq);
        options.engine = Some(c.name_or_string()?);
    } else if c.accept("CHARACTER SET") || c.accept("CHARSET") {
        c.accept_token(&Token::Eq);
        options.charset = Some(c.name_or_string()?);
    } else if c.accept("COLLATE") {
        c.accept_token(&Token::Eq);
        options.collation = Some(c.name_or_string()?);
    } else if c.accept("COMMENT") {
        c.accept_token(&Token::Eq);
        options.comment = Some(c.string()?);
    } else if let Some(option) = c.accept_any(&["DATA DIRECTORY", "INDEX DIRECTORY"]) {
        c.accept_token(&Token::Eq);
        c.string()?;
        options.directories.push(option);
    } else if c.accept("AUTO_INCREMENT") {
        c.accept_token(&Token::Eq);
        options.auto_increment = Some(c.unsigned()?);
    } else if let Some(word) = c.accept_any(&KEPT_OPTIONS) {
        c.accept_token(&Token::Eq);
        let value = match word == "ROW_FORMAT" || c.at("DEFAULT") {
            true => c.identifier()?.to_ascii_uppercase(),
            false => c.unsigned()?.to_string(),
        };
        options.kept.push((word, value));
    } else if c.at("PARTITION") {
        return Err(SqlError::unsupported("PARTITION BY"));
    } else if let Some(word) =
        ["ENCRYPTION", "COMPRESSION", "UNION", "TABLESPACE", "CONNECTION"].iter().find(|w| c.at(w))
    {
        return Err(SqlError::unsupported(format!("table option {word}")));
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// `[UNIQUE] INDEX` behind CREATE; `None` when something else follows.
fn index_start(c: &mut Cursor) -> Result<Option<IndexKind>> {
    if (c.at("FULLTEXT") || c.at("SPATIAL")) && c.at_nth(1, "INDEX") {
        return Err(SqlError::unsupported(format!("{} index", c.word(0))));
    }
    Ok(if c.accept("UNIQUE INDEX") {
        Some(IndexKind::Unique)
    } else if c.accept("INDEX") {
        Some(IndexKind::Plain)
    } else {
        None
    })
}

fn create_index(c: &mut Cursor, kind: IndexKind) -> Result<Statement> {
    let name = Some(c.identifier()?);
    let is_typed = index_type(c)?;
    c.expect("ON")?;
    let table = c.table_name()?;
    let columns = c.parenthesised(index_column)?;
    let IndexOptions { comment, invisible, is_typed } = index_options(c, is_typed)?;
    let method = alter::methods(c)?;
    Ok(Statement::CreateIndex(CreateIndex {
        table,
        index: IndexSpec { kind, name, columns, comment, invisible, is_typed, is_generated: false },
        method,
    }))
}

/// What stands in front of VIEW.
#[derive(Default)]
struct ViewHead {
    or_replace: bool,
    is_alter: bool,
    security: ViewSecurity,
    algorithm: ViewAlgorithm,
}

fn view(c: &mut Cursor, head: ViewHead) -> Result<Statement> {
    let ViewHead { or_replace, is_alter, security, algorithm } = head;
    if !is_alter {
        c.accept("IF NOT EXISTS");
    }
    let name = c.table_name()?;
    let columns = if *c.peek(0) == Token::LParen { c.parenthesised(|c| c.identifier())? } else { Vec::new() };
    c.expect("AS")?;
    let query = Box::new(c.query()?);
    if query.parameters() > 0 {
        return Err(SqlError::new(ErrorCode::ViewSelectVariable, "View's SELECT contains a variable or parameter"));
    }
    let written = c.accept_any(&["WITH CASCADED CHECK OPTION", "WITH LOCAL CHECK OPTION", "WITH CHECK OPTION"]);
    let check_option = written.map(|words| match words {
        "WITH LOCAL CHECK OPTION" => CheckOption::Local,
        _ => CheckOption::Cascaded,
    });
    let query_text = query.text.clone();
    Ok(Statement::CreateView(CreateView {
        name,
        or_replace,
        is_alter,
        columns,
        security,
        algorithm,
        check_option,
        query_text,
        query,
    }))
}

pub(super) fn drop(c: &mut Cursor) -> Result<Statement> {
    c.expect("DROP")?;
    let what = c.word(0);
    match what.as_str() {
        "DATABASE" | "SCHEMA" => {
            c.advance();
            let if_exists = c.accept("IF EXISTS");
            Ok(Statement::DropDatabase { name: c.identifier()?, if_exists })
        }
        "TABLE" | "TABLES" | "VIEW" | "TEMPORARY" => {
            c.advance();
            let temporary = what == "TEMPORARY";
            if temporary && c.accept_any(&["TABLE", "TABLES"]).is_none() {
                return Err(c.error());
            }
            let if_exists = c.accept("IF EXISTS");
            let names = c.list(|c| c.table_name())?;
            c.accept_any(&["RESTRICT", "CASCADE"]);
            Ok(match what.as_str() {
                "VIEW" => Statement::DropView { names, if_exists },
                _ => Statement::DropTable { names, if_exists, temporary },
            })
        }
        "INDEX" => {
            c.advance();
            let name = c.identifier()?;
            c.expect("ON")?;
            let table = c.table_name()?;
            Ok(Statement::DropIndex(DropIndex { table, name, method: alter::methods(c)? }))
        }
        "USER" => account::drop_user(c),
        "ROLE" => roles::drop_role(c),
        "PREPARE" => {
            c.advance();
            Ok(Statement::Deallocate { name: c.identifier()? })
        }
        "PROCEDURE" | "FUNCTION" | "TRIGGER" | "EVENT" => drop_program(c),
        "TABLESPACE" | "SERVER" | "LOGFILE" | "SPATIAL" | "RESOURCE" | "UNDO" => {
            Err(SqlError::unsupported(format!("DROP {what}")))
        }
        _ => Err(c.error()),
    }
}

fn drop_program(c: &mut Cursor) -> Result<Statement> {
    let kinds = [
        ("PROCEDURE", ProgramKind::Procedure),
        ("FUNCTION", ProgramKind::Function),
        ("TRIGGER", ProgramKind::Trigger),
        ("EVENT", ProgramKind::Event),
    ];
    let kind = kinds.into_iter().find(|(word, _)| c.accept(word));
    let (_, kind) = kind.ok_or_else(|| c.error())?;
    let if_exists = c.accept("IF EXISTS");
    Ok(Statement::DropProgram { kind, name: c.table_name()?, if_exists })
}

pub(super) fn alter(c: &mut Cursor) -> Result<Statement> {
    c.expect("ALTER")?;
    if c.accept_any(&["DATABASE", "SCHEMA"]).is_some() {
        return Ok(Statement::AlterDatabase(database(c, false)?));
    }
    if c.at("USER") {
        return account::alter(c);
    }
    if c.accept("TABLE") {
        return alter::table(c);
    }
    let (security, algorithm) = view_attributes(c)?;
    if c.accept("VIEW") {
        return view(c, ViewHead { or_replace: true, is_alter: true, security, algorithm });
    }
    let what = c.word(0);
    let known = ["FUNCTION", "PROCEDURE", "EVENT", "SERVER", "TABLESPACE", "INSTANCE", "RESOURCE"];
    Err(match known.contains(&what.as_str()) {
        true => SqlError::unsupported(format!("ALTER {what}")),
        false => c.error(),
    })
}

pub(super) fn rename(c: &mut Cursor) -> Result<Statement> {
    c.expect("RENAME")?;
    if c.at("USER") {
        return account::rename(c);
    }
    if c.accept_any(&["TABLE", "TABLES"]).is_none() {
        return Err(c.error());
    }
    let pairs = c.list(|c| {
        let from = c.table_name()?;
        c.expect("TO")?;
        Ok((from, c.table_name()?))
    })?;
    Ok(Statement::RenameTable(pairs))
}
