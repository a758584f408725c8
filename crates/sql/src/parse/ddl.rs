//! CREATE, DROP, ALTER, RENAME.

use super::{account, column, cursor::Cursor};
use crate::{
    AlterAction, AlterTable, CreateDatabase, CreateIndex, CreateTable, CreateTableSelect, CreateView, IndexColumn,
    IndexKind, IndexSpec, Statement, TableOptions, ViewSecurity,
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
        return account::create_or_alter(c, true);
    }
    if c.accept("TABLE") {
        return table(c);
    }
    if let Some(kind) = index_start(c)? {
        return create_index(c, kind);
    }
    let or_replace = c.accept("OR REPLACE");
    let (security, algorithm) = view_attributes(c)?;
    if c.accept("VIEW") {
        return view(c, or_replace, security, algorithm);
    }
    let what = c.word(0);
    Err(match what.as_str() {
        "TEMPORARY" => SqlError::unsupported("CREATE TEMPORARY TABLE"),
        "FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT" | "TABLESPACE" | "SERVER" | "ROLE" | "LOGFILE" | "SPATIAL"
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
        } else if c.at("ENCRYPTION") || c.at("READ") {
            return Err(SqlError::unsupported(format!("DATABASE .. {}", c.word(0))));
        } else {
            return Err(c.error());
        }
    }
    Ok(CreateDatabase { name, if_not_exists, charset, collation })
}

fn table(c: &mut Cursor) -> Result<Statement> {
    let if_not_exists = c.accept("IF NOT EXISTS");
    let name = c.table_name()?;
    let mut table = CreateTable {
        name,
        if_not_exists,
        columns: Vec::new(),
        indexes: Vec::new(),
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
    let mut constraint = None;
    if c.accept("CONSTRAINT") && !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].iter().any(|w| c.at(w)) {
        constraint = Some(c.identifier()?);
    }
    match index_definition(c)? {
        Some(mut index) => {
            index.name = index.name.or(constraint);
            table.indexes.push(index);
        }
        None if constraint.is_some() => return Err(c.error()),
        None => table.columns.push(column::column(c)?),
    }
    Ok(())
}

/// An index inside CREATE TABLE or behind ADD; `None` when a column follows.
fn index_definition(c: &mut Cursor) -> Result<Option<IndexSpec>> {
    if c.at("FOREIGN") || c.at("CHECK") {
        return Err(SqlError::unsupported(if c.at("CHECK") { "CHECK" } else { "FOREIGN KEY" }));
    }
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
    index_type(c)?;
    let columns = c.parenthesised(index_column)?;
    let comment = index_options(c)?;
    // The primary key is always PRIMARY.
    let name = if kind == IndexKind::Primary { None } else { name };
    Ok(Some(IndexSpec { kind, name, columns, comment }))
}

/// `USING BTREE`; HASH becomes a B+tree too, as in InnoDB.
fn index_type(c: &mut Cursor) -> Result<()> {
    if c.accept_any(&["USING", "TYPE"]).is_some() && c.accept_any(&["BTREE", "HASH"]).is_none() {
        return Err(c.error());
    }
    Ok(())
}

fn index_column(c: &mut Cursor) -> Result<IndexColumn> {
    if *c.peek(0) == Token::LParen {
        return Err(SqlError::unsupported("functional key parts"));
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
    Ok(IndexColumn { name, prefix, descending })
}

/// Options behind the parts; the comment is kept.
fn index_options(c: &mut Cursor) -> Result<String> {
    let mut comment = String::new();
    loop {
        if c.accept("COMMENT") {
            comment = c.string()?;
        } else if c.at("USING") {
            index_type(c)?;
        } else if c.accept("KEY_BLOCK_SIZE") {
            c.accept_token(&Token::Eq);
            c.unsigned()?;
        } else if c.at("INVISIBLE") {
            return Err(SqlError::unsupported("invisible indexes"));
        } else if c.at("WITH") && c.at_nth(1, "PARSER") {
            return Err(SqlError::unsupported("WITH PARSER"));
        } else if !c.accept("VISIBLE") {
            return Ok(comment);
        }
    }
}

/// Reads table options up to something else. Those about storage formats of other engines change nothing.
fn table_options(c: &mut Cursor, options: &mut TableOptions) -> Result<()> {
    loop {
        c.accept_token(&Token::Comma);
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
            options.comment = c.string()?;
        } else if let Some(option) = c.accept_any(&["DATA DIRECTORY", "INDEX DIRECTORY"]) {
            c.accept_token(&Token::Eq);
            c.string()?;
            options.directories.push(option);
        } else if c.accept("AUTO_INCREMENT") {
            c.accept_token(&Token::Eq);
            options.auto_increment = Some(c.unsigned()?);
        } else if let Some(word) = c.accept_any(&[
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
        ]) {
            c.accept_token(&Token::Eq);
            if word == "ROW_FORMAT" || c.at("DEFAULT") {
                c.identifier()?;
            } else {
                c.unsigned()?;
            }
        } else if c.at("PARTITION") {
            return Err(SqlError::unsupported("PARTITION BY"));
        } else if let Some(word) =
            ["ENCRYPTION", "COMPRESSION", "UNION", "TABLESPACE", "CONNECTION"].iter().find(|w| c.at(w))
        {
            return Err(SqlError::unsupported(format!("table option {word}")));
        } else {
            return Ok(());
        }
    }
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
    index_type(c)?;
    c.expect("ON")?;
    let table = c.table_name()?;
    let columns = c.parenthesised(index_column)?;
    let comment = index_options(c)?;
    algorithm(c)?;
    Ok(Statement::CreateIndex(CreateIndex { table, index: IndexSpec { kind, name, columns, comment } }))
}

/// `ALGORITHM = .. LOCK = ..`: how it is done is not the user's to say here.
fn algorithm(c: &mut Cursor) -> Result<()> {
    while c.accept_any(&["ALGORITHM", "LOCK"]).is_some() {
        c.accept_token(&Token::Eq);
        c.identifier()?;
    }
    Ok(())
}

fn view(c: &mut Cursor, or_replace: bool, security: ViewSecurity, algorithm: ViewAlgorithm) -> Result<Statement> {
    c.accept("IF NOT EXISTS");
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
        "TABLE" | "TABLES" | "VIEW" => {
            c.advance();
            let if_exists = c.accept("IF EXISTS");
            let names = c.list(|c| c.table_name())?;
            c.accept_any(&["RESTRICT", "CASCADE"]);
            Ok(match what.as_str() {
                "VIEW" => Statement::DropView { names, if_exists },
                _ => Statement::DropTable { names, if_exists },
            })
        }
        "INDEX" => {
            c.advance();
            let name = c.identifier()?;
            c.expect("ON")?;
            let table = c.table_name()?;
            algorithm(c)?;
            Ok(Statement::DropIndex { name, table })
        }
        "USER" => account::drop_user(c),
        "PREPARE" => {
            c.advance();
            Ok(Statement::Deallocate { name: c.identifier()? })
        }
        "TEMPORARY" | "FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT" | "TABLESPACE" | "SERVER" | "ROLE" | "LOGFILE"
        | "SPATIAL" | "RESOURCE" | "UNDO" => Err(SqlError::unsupported(format!("DROP {what}"))),
        _ => Err(c.error()),
    }
}

pub(super) fn alter(c: &mut Cursor) -> Result<Statement> {
    c.expect("ALTER")?;
    if c.accept_any(&["DATABASE", "SCHEMA"]).is_some() {
        return Ok(Statement::AlterDatabase(database(c, false)?));
    }
    if c.at("USER") {
        return account::create_or_alter(c, false);
    }
    if !c.accept("TABLE") {
        let what = c.word(0);
        let known =
            ["VIEW", "FUNCTION", "PROCEDURE", "EVENT", "SERVER", "TABLESPACE", "INSTANCE", "RESOURCE", "ALGORITHM"];
        return Err(if known.contains(&what.as_str()) {
            SqlError::unsupported(format!("ALTER {what}"))
        } else {
            c.error()
        });
    }
    let table = c.table_name()?;
    let mut actions = Vec::new();
    while !c.at_end() {
        if let Some(action) = alter_action(c)? {
            actions.push(action);
        }
        if !c.accept_token(&Token::Comma) {
            break;
        }
    }
    Ok(Statement::AlterTable(AlterTable { table, actions }))
}

/// `None` for what says only how (`ALGORITHM = ..`).
fn alter_action(c: &mut Cursor) -> Result<Option<AlterAction>> {
    if c.at("ALGORITHM") || c.at("LOCK") {
        algorithm(c)?;
        return Ok(None);
    }
    if c.accept("ADD") {
        let mut constraint = None;
        if c.accept("CONSTRAINT") && !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].iter().any(|w| c.at(w)) {
            constraint = Some(c.identifier()?);
        }
        return match index_definition(c)? {
            Some(mut index) => {
                index.name = index.name.or(constraint);
                Ok(Some(AlterAction::AddIndex(index)))
            }
            None => Err(SqlError::unsupported(if c.at("PARTITION") {
                "ADD PARTITION"
            } else {
                "ALTER TABLE .. ADD COLUMN"
            })),
        };
    }
    if c.accept("DROP") {
        if c.accept_any(&["INDEX", "KEY"]).is_some() {
            return Ok(Some(AlterAction::DropIndex(c.identifier()?)));
        }
        if c.accept("PRIMARY KEY") {
            return Ok(Some(AlterAction::DropPrimaryKey));
        }
        return Err(SqlError::unsupported(match c.word(0).as_str() {
            word @ ("FOREIGN" | "CHECK" | "CONSTRAINT" | "PARTITION") => format!("ALTER TABLE .. DROP {word}"),
            _ => "ALTER TABLE .. DROP COLUMN".into(),
        }));
    }
    if c.accept("RENAME") {
        if c.accept_any(&["INDEX", "KEY"]).is_some() {
            let from = c.identifier()?;
            c.expect("TO")?;
            return Ok(Some(AlterAction::RenameIndex { from, to: c.identifier()? }));
        }
        if c.at("COLUMN") {
            return Err(SqlError::unsupported("ALTER TABLE .. RENAME COLUMN"));
        }
        c.accept_any(&["TO", "AS"]);
        return Ok(Some(AlterAction::Rename(c.table_name()?)));
    }
    if c.accept_any(&["DISABLE", "ENABLE"]).is_some() {
        c.expect("KEYS")?;
        return Ok(Some(AlterAction::Keys));
    }
    let word = c.word(0);
    let unsupported = [
        "MODIFY",
        "CHANGE",
        "ALTER",
        "CONVERT",
        "ORDER",
        "DISCARD",
        "IMPORT",
        "FORCE",
        "EXCHANGE",
        "PARTITION",
        "REORGANIZE",
        "COALESCE",
        "TRUNCATE",
        "REBUILD",
        "OPTIMIZE",
        "REMOVE",
        "UPGRADE",
        "WITH",
        "WITHOUT",
    ];
    if unsupported.contains(&word.as_str()) {
        return Err(SqlError::unsupported(format!("ALTER TABLE .. {word}")));
    }
    let (before, mut options) = (c.position(), TableOptions::default());
    table_options(c, &mut options)?;
    if c.position() == before {
        return Err(c.error());
    }
    Ok(Some(AlterAction::Options(options)))
}

pub(super) fn rename(c: &mut Cursor) -> Result<Statement> {
    c.expect("RENAME")?;
    if c.at("USER") {
        return Err(SqlError::unsupported("RENAME USER"));
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
