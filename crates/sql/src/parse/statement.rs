//! The first step of parsing: the kind of the statement, by its first words.

use super::{
    cursor::Cursor,
    ddl, dml, grant, handler, load,
    select_into::{IntoClause, IntoTarget},
    session, show, transaction,
};
use crate::{Analyze, Explain, ExplainFormat, HistogramChange, Statement, TableName};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::{keywords::Keyword, tokenizer::Token};

pub(crate) fn statement(c: &mut Cursor) -> Result<Statement> {
    if *c.peek(0) == Token::LParen {
        return query(c);
    }
    let first = c.word(0);
    match first.as_str() {
        "SELECT" | "VALUES" => query(c),
        "WITH" => with(c),
        "EXPLAIN" | "DESCRIBE" | "DESC" => explain(c),
        "CREATE" => ddl::create(c),
        "DROP" => ddl::drop(c),
        "ALTER" => ddl::alter(c),
        "RENAME" => ddl::rename(c),
        "TRUNCATE" => {
            c.advance();
            c.accept("TABLE");
            Ok(Statement::TruncateTable(c.table_name()?))
        }
        "ANALYZE" => analyze(c),
        "EXPORT" => export_statistics(c),
        "IMPORT" if c.at_nth(1, "STATISTICS") => import_statistics(c),
        "CHECK" => check(c),
        "OPTIMIZE" => Ok(Statement::OptimizeTable(maintained(c)?)),
        "REPAIR" => {
            let names = maintained(c)?;
            while c.accept_any(&["QUICK", "EXTENDED", "USE_FRM"]).is_some() {}
            Ok(Statement::RepairTable(names))
        }
        "CHECKSUM" => {
            let names = maintained(c)?;
            Ok(Statement::ChecksumTable { names, quick: c.accept_any(&["QUICK", "EXTENDED"]) == Some("QUICK") })
        }
        "LOAD" => load::load_data(c),
        "SET" => session::set(c),
        "SHOW" => show::show(c),
        "USE" => {
            c.advance();
            Ok(Statement::Use(c.identifier()?))
        }
        "DO" => {
            c.advance();
            Ok(Statement::Do(c.list(|c| c.expression())?))
        }
        "HANDLER" => handler::handler(c),
        "KILL" => {
            c.advance();
            let query_only = c.accept_any(&["QUERY", "CONNECTION"]) == Some("QUERY");
            Ok(Statement::Kill { query_only, id: c.expression()? })
        }
        "FLUSH" => session::flush(c),
        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => transaction::transaction(c),
        "LOCK" | "UNLOCK" => transaction::lock(c),
        "PREPARE" | "EXECUTE" | "DEALLOCATE" => session::prepared(c),
        "GRANT" => grant::grant(c),
        "REVOKE" => grant::revoke(c),
        "INSERT" | "REPLACE" => dml::insert(c),
        "UPDATE" => dml::update(c, None),
        "DELETE" => dml::delete(c, None),
        "SHUTDOWN" => {
            c.advance();
            Ok(Statement::Shutdown)
        }
        "CALL" | "XA" | "IMPORT" | "INSTALL" | "UNINSTALL" | "RESET" | "CHANGE" | "STOP" | "PURGE" | "BINLOG"
        | "CACHE" | "CLONE" | "SIGNAL" | "RESIGNAL" | "GET" | "HELP" | "RESTART" => Err(SqlError::unsupported(first)),
        _ => Err(c.error()),
    }
}

/// `EXPORT STATISTICS FOR TABLE t, .. INTO 'path'`.
fn export_statistics(c: &mut Cursor) -> Result<Statement> {
    c.expect("EXPORT STATISTICS FOR TABLE")?;
    let tables = c.list(|c| c.table_name())?;
    c.expect("INTO")?;
    Ok(Statement::ExportStatistics { tables, path: c.string()? })
}

/// `IMPORT STATISTICS FROM 'path'`.
fn import_statistics(c: &mut Cursor) -> Result<Statement> {
    c.expect("IMPORT STATISTICS FROM")?;
    Ok(Statement::ImportStatistics { path: c.string()? })
}

/// `WITH ..` in front of a query, an UPDATE or a DELETE.
fn with(c: &mut Cursor) -> Result<Statement> {
    let significant = c.source.significant();
    let mut depth = 0usize;
    for i in significant {
        match &c.source.tokens[i].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(_) if depth == 0 => match c.source.keyword(i) {
                Keyword::SELECT => break,
                Keyword::UPDATE | Keyword::DELETE => return dml::with(c),
                _ => {}
            },
            _ => {}
        }
    }
    query(c)
}

fn query(c: &mut Cursor) -> Result<Statement> {
    let query = Box::new(c.query()?);
    Ok(match c.source.into.clone() {
        Some(IntoClause { target: IntoTarget::Variables(variables), precedes_lock }) => {
            Statement::SelectInto { query, variables, precedes_lock }
        }
        Some(IntoClause { target: IntoTarget::File(file), precedes_lock }) => {
            Statement::SelectIntoFile { query, file: Box::new(file), precedes_lock }
        }
        None => Statement::Query(query),
    })
}

/// `EXPLAIN [ANALYZE] [FORMAT = name] [INTO @variable] statement | FOR CONNECTION number`, `DESCRIBE table [column]`
/// (MySQL manual 15.8.2).
fn explain(c: &mut Cursor) -> Result<Statement> {
    c.advance();
    let (mut analyze, mut format, mut into) = (c.accept("ANALYZE"), None, None);
    loop {
        if c.at("FORMAT") && *c.peek(1) == Token::Eq {
            c.advance();
            c.advance();
            format = Some(explain_format(&c.name_or_string()?)?);
        } else if into.is_none() && c.at("INTO") {
            c.advance();
            into = Some(session::user_variable(c)?.ok_or_else(|| c.error())?);
        } else if !analyze && c.accept("ANALYZE") {
            analyze = true;
        } else if c.accept_any(&["EXTENDED", "PARTITIONS"]).is_none() {
            break;
        }
    }
    if c.at("FOR") && c.at_nth(1, "CONNECTION") {
        c.advance();
        c.advance();
        let id = c.unsigned()?;
        return Ok(Statement::ExplainConnection { analyze, format, into, id });
    }
    let begins_statement = *c.peek(0) == Token::LParen
        || ["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "REPLACE"].iter().any(|w| c.at(w));
    if begins_statement {
        let statement = Box::new(statement(c)?);
        return Ok(Statement::Explain(Explain { analyze, format, into, statement }));
    }
    if analyze || format.is_some() || into.is_some() {
        return Err(c.error());
    }
    let table = c.table_name()?;
    let pattern = if c.at_end() { None } else { Some(c.name_or_string()?) };
    Ok(Statement::Describe { table, pattern })
}

/// Error 1791 for a name that is none of a format.
fn explain_format(name: &str) -> Result<ExplainFormat> {
    match name.to_ascii_uppercase().as_str() {
        "TRADITIONAL" => Ok(ExplainFormat::Traditional),
        "JSON" => Ok(ExplainFormat::Json),
        "TREE" => Ok(ExplainFormat::Tree),
        _ => {
            let message = format!("Unknown EXPLAIN format name: '{name}'");
            Err(SqlError::new(muster_types::ErrorCode::UnknownExplainFormat, message))
        }
    }
}

/// `CHECK TABLE`: every option asks for the same, the whole check.
fn check(c: &mut Cursor) -> Result<Statement> {
    c.expect("CHECK")?;
    if c.accept_any(&["TABLE", "TABLES"]).is_none() {
        return Err(c.error());
    }
    let tables = c.list(|c| c.table_name())?;
    loop {
        if c.accept("FOR") {
            c.expect("UPGRADE")?;
        } else if c.accept_any(&["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"]).is_none() {
            return Ok(Statement::CheckTable(tables));
        }
    }
}

/// The tables of OPTIMIZE, REPAIR and CHECKSUM TABLE.
fn maintained(c: &mut Cursor) -> Result<Vec<TableName>> {
    c.advance();
    c.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    if c.accept_any(&["TABLE", "TABLES"]).is_none() {
        return Err(c.error());
    }
    c.list(|c| c.table_name())
}

/// `WITH n BUCKETS`, 1 to 1024.
fn histogram_buckets(c: &mut Cursor) -> Result<u64> {
    const DEFAULT: u64 = 100;
    const MOST: u64 = 1024;
    if c.at("USING") {
        return Err(SqlError::unsupported("ANALYZE TABLE .. UPDATE HISTOGRAM .. USING DATA"));
    }
    if !c.accept("WITH") {
        return Ok(DEFAULT);
    }
    let buckets = c.unsigned()?;
    c.expect("BUCKETS")?;
    if !(1..=MOST).contains(&buckets) {
        let message = "Number of buckets value is out of range in 'ANALYZE TABLE'";
        return Err(SqlError::new(ErrorCode::DataOutOfRange, message));
    }
    Ok(buckets)
}

fn analyze(c: &mut Cursor) -> Result<Statement> {
    c.expect("ANALYZE")?;
    c.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    if c.accept_any(&["TABLE", "TABLES"]).is_none() {
        return Err(c.error());
    }
    let tables = c.list(|c| c.table_name())?;
    let histograms = match c.accept_any(&["UPDATE", "DROP"]) {
        None => None,
        Some(change) => {
            c.expect("HISTOGRAM ON")?;
            let columns = c.list(|c| c.unreserved())?;
            Some(match change {
                "UPDATE" => HistogramChange::Update { columns, buckets: histogram_buckets(c)? },
                _ => HistogramChange::Drop { columns },
            })
        }
    };
    Ok(Statement::AnalyzeTable(Analyze { tables, histograms }))
}
