//! INSERT, UPDATE, DELETE, locking clauses and transactions: what the grammar makes of them.

use super::*;
use crate::*;

fn insert(sql: &str) -> Insert {
    match parse(sql) {
        Ok(Statement::Insert(insert)) => *insert,
        other => panic!("{sql}: {other:?}"),
    }
}

fn values(rows: &InsertRows) -> String {
    let shown: Vec<String> = rows
        .values
        .iter()
        .map(|v| match v {
            InsertValue::Literal(value) => value.to_text(0).unwrap_or_else(|| "NULL".into()),
            InsertValue::Hexadecimal(bytes) => format!("{bytes:02x?}"),
            InsertValue::Parameter(n) => format!("?{n}"),
            InsertValue::Default => "DEFAULT".into(),
            InsertValue::Expr(e) => format!("<{}>", e.text),
        })
        .collect();
    format!("{} of {}: {}", rows.rows, rows.width, shown.join(" "))
}

fn assignments(list: &[Assignment]) -> Vec<String> {
    list.iter().map(|a| format!("{} = {}", a.column.join("."), values(&of_one(a.value.clone())))).collect()
}

fn of_one(value: InsertValue) -> InsertRows {
    InsertRows { values: vec![value], rows: 1, width: 1, uneven: None }
}

#[test]
fn forms_of_insert() {
    for (sql, columns, want) in [
        ("insert into t values (1, 'a'), (2, 'b')", None, "2 of 2: 1 a 2 b"),
        ("insert low_priority ignore d.t (a, t.b) value (1, now())", Some("a t.b"), "1 of 2: <1> <now()>"),
        ("insert into t () values ()", Some(""), "1 of 0: "),
        ("insert t values (1), (a + 1), (3)", None, "3 of 1: 1 <a + 1> <3>"),
        ("insert t (a) values row(1), row(default)", Some("a"), "2 of 1: <1> DEFAULT"),
        ("insert into t set a = 1, b = default, c = default(a)", Some("a b c"), "1 of 3: <1> DEFAULT <default(a)>"),
        ("replace delayed into t (a) values (?), (?)", Some("a"), "2 of 1: ?0 ?1"),
    ] {
        let insert = insert(sql);
        assert_eq!(insert.replace, sql.starts_with("replace"), "{sql}");
        assert_eq!(insert.ignore, sql.contains("ignore"), "{sql}");
        let names = insert.columns.map(|c| c.iter().map(|parts| parts.join(".")).collect::<Vec<_>>().join(" "));
        assert_eq!(names.as_deref(), columns, "{sql}");
        let InsertSource::Rows(rows) = &insert.source else { panic!("{sql}") };
        assert_eq!(values(rows), want, "{sql}");
    }
    for (sql, text) in [
        ("insert into t select * from u", "select * from u"),
        ("insert into t (a) (select 1)", "(select 1)"),
        ("insert into t (select 1)", "(select 1)"),
        ("insert into t with w as (select 1) select * from w", "with w as (select 1) select * from w"),
        ("replace t (a) select a from u join v on duplicate key update a = 1", ""),
        ("insert t (a) select a from u join v on duplicate key update a = 1", "select a from u join v"),
    ] {
        match (parse(sql), text) {
            (Err(e), "") => assert_eq!(e.code.number(), 1064, "{sql}"),
            (Ok(Statement::Insert(insert)), text) => {
                let InsertSource::Query(query) = &insert.source else { panic!("{sql}") };
                assert_eq!(query.text, text, "{sql}");
            }
            (other, _) => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn duplicates_and_row_aliases() {
    let found = insert("insert into t values (1, 2) as n(x, y) on duplicate key update a = values(a) + ?, b = n.y");
    assert_eq!(found.row_alias, Some(RowAlias { name: "n".into(), columns: vec!["x".into(), "y".into()] }));
    assert_eq!(assignments(&found.on_duplicate), ["a = 1 of 1: <values(a) + ?>", "b = 1 of 1: <n.y>"]);
    assert_eq!(found.parameters(), 1);
    let found = insert("insert into t values (?, 2), (?, now()) on duplicate key update a = ?");
    assert_eq!(found.parameters(), 3);
    let InsertValue::Expr(e) = &found.on_duplicate[0].value else { panic!() };
    assert_eq!(e.ast.to_string(), "?2");
}

/// The rows that are read without tokens are those that the grammar of expressions reads.
#[test]
fn literal_rows_are_the_rows_of_expressions() {
    let texts = [
        "0",
        "-1",
        "+1",
        "12345678901234567890",
        "123456789012345678",
        "1234567890123456789",
        "1.50",
        ".5",
        "5.",
        "1e3",
        "-1.5E-3",
        "''",
        "'it''s'",
        "\"a\"\"b\"",
        r"'\0\b\n\r\t\Z\\\'\%\_\q'",
        "'\u{e9}\n'",
        "NULL",
        "true",
        "FALSE",
    ];
    for text in texts {
        let fast = insert(&format!("insert into t values ({text})"));
        let InsertSource::Rows(rows) = &fast.source else { panic!() };
        let InsertValue::Literal(value) = &rows.values[0] else {
            assert_eq!(text, "+1");
            continue;
        };
        let mut want = match &*parse_expression(text).unwrap().ast {
            sqlparser::ast::Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Minus, expr } => format!("-{expr}"),
            other => match other.to_string().as_str() {
                "true" => "1".into(),
                "false" => "0".into(),
                other => other.to_string(),
            },
        };
        if let sqlparser::ast::Expr::Value(v) = &*parse_expression(text).unwrap().ast
            && let sqlparser::ast::Value::SingleQuotedString(s) | sqlparser::ast::Value::DoubleQuotedString(s) =
                &v.value
        {
            want = s.clone();
        }
        let got = value.to_text(0).unwrap_or_else(|| "NULL".into());
        let same_number = || want.parse::<f64>().ok().zip(got.parse::<f64>().ok()).is_some_and(|(a, b)| a == b);
        assert!(got == want || same_number(), "{text}: {got} and {want}");
    }
}

#[test]
fn places_behind_literal_rows_are_known() {
    let sql = "insert into t values (1, 'x\ny'),\n (2, 'b')\n on duplicate key updat a = 1";
    let Err(e) = parse(sql) else { panic!() };
    assert!(e.message.ends_with("near 'on duplicate key updat a = 1' at line 4"), "{}", e.message);
    let sql = "insert into t values (1),\n (2) on duplicate key update a = (select x y z)";
    let Err(e) = parse(sql) else { panic!() };
    assert!(e.message.ends_with("near 'z)' at line 2"), "{}", e.message);
    let Err(e) = parse("insert into t values (1), (2") else { panic!() };
    assert_eq!(e.code.number(), 1064);
}

#[test]
fn long_inserts_take_no_stack() {
    let literals = format!("insert into t values (0, 'a'){}", ", (1, 'some text')".repeat(50_000));
    assert!(matches!(&insert(&literals).source, InsertSource::Rows(rows) if rows.rows == 50_001));
    let expressions = format!("insert into t values (1 + 1, 'a'){}", ", (1, now())".repeat(5_000));
    assert!(matches!(&insert(&expressions).source, InsertSource::Rows(rows) if rows.rows == 5_001));
    let InsertSource::Rows(rows) = insert("insert into t values (1, 2), (3), (4)").source else { panic!() };
    assert_eq!((rows.width, rows.uneven), (2, Some(2)));
}

#[test]
fn forms_of_update_and_delete() {
    for (sql, one_table) in [
        ("update t set a = 1", true),
        (
            "update low_priority ignore d.t as x set x.a := a + 1, b = default where a > 1 order by a desc, b limit 5",
            true,
        ),
        ("update t, u set t.a = u.a where t.b = u.b", false),
        ("update t left join u on t.a = u.a set t.a = 1, d.u.b = 2", false),
        ("update (select 1) s, t set t.a = 1", false),
        ("with w as (select 1 a) update t set a = (select a from w)", true),
        ("update /*+ no_merge(t) */ t use index (i) set a = ? limit ?", true),
    ] {
        match parse(sql) {
            Ok(Statement::Update(update)) => {
                assert_eq!(update.has_one_table(), one_table, "{sql}");
                assert_eq!(update.ignore, sql.contains("ignore"), "{sql}");
                assert_eq!(update.limit.is_some(), sql.contains("limit"), "{sql}");
                assert_eq!(update.with.is_some(), sql.starts_with("with"), "{sql}");
                assert_eq!(update.written.hints.is_some(), sql.contains("/*+"), "{sql}");
                assert_eq!(update.parameters(), sql.matches('?').count(), "{sql}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
    for (sql, targets) in [
        ("delete from t", None),
        ("delete quick ignore from d.t as x where a = 1 order by b limit 3", None),
        ("delete t from t join u on t.a = u.a", Some("t")),
        ("delete t.*, d.u.* from t, d.u where t.a = u.a", Some("t d.u")),
        ("delete from t, d.u using t join d.u where t.a = u.a", Some("t d.u")),
        ("delete from x using t as x, u", Some("x")),
        ("with w as (select 1 a) delete from t where a in (select a from w)", None),
    ] {
        match parse(sql) {
            Ok(Statement::Delete(delete)) => {
                let name = |t: &TableName| match &t.database {
                    Some(database) => format!("{database}.{}", t.name),
                    None => t.name.clone(),
                };
                let found = delete.targets.as_ref().map(|t| t.iter().map(name).collect::<Vec<_>>().join(" "));
                assert_eq!(found.as_deref(), targets, "{sql}");
                assert_eq!(delete.ignore, sql.contains("ignore"), "{sql}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
    for sql in [
        "update t",
        "update t set",
        "update t set a",
        "update t set a = 1 limit 1, 2",
        "delete from t, u",
        "delete from t join u on 1",
        "delete t from t order by a",
        "delete t",
        "insert into t",
        "insert into t values",
        "insert into t values (1) on duplicate key update",
        "replace into t values (1) on duplicate key update a = 1",
    ] {
        assert_eq!(parse(sql).map_err(|e| e.code.number()), Err(1064), "{sql}");
    }
}

#[test]
fn locking_clauses() {
    for (sql, want) in [
        ("select 1 from t for update", "FOR UPDATE"),
        ("select 1 from t lock in share mode", "FOR SHARE"),
        ("select 1 from t, u for update of t, u nowait", "FOR UPDATE OF t NOWAIT, FOR UPDATE OF u NOWAIT"),
        (
            "select 1 from t, u for share of t skip locked for update of u",
            "FOR SHARE OF t SKIP LOCKED, FOR UPDATE OF u",
        ),
        (
            "select 1 from t for update of t, u, v skip locked",
            "FOR UPDATE OF t SKIP LOCKED, FOR UPDATE OF u SKIP LOCKED, FOR UPDATE OF v SKIP LOCKED",
        ),
    ] {
        let Ok(Statement::Query(query)) = parse(sql) else { panic!("{sql}") };
        let locks: Vec<String> = query.ast.locks.iter().map(|l| l.to_string()).collect();
        assert_eq!(locks.join(", "), want, "{sql}");
    }
}

#[test]
fn transactions() {
    use Statement as S;
    let end = |chain, release| Completion { chain, release };
    let begin = |consistent_snapshot, read_only| S::Begin(Begin { consistent_snapshot, read_only });
    for (sql, want) in [
        ("begin work", begin(false, None)),
        ("start transaction", begin(false, None)),
        ("start transaction with consistent snapshot, read only", begin(true, Some(true))),
        ("start transaction read write", begin(false, Some(false))),
        ("commit work", S::Commit(end(None, None))),
        ("commit and chain no release", S::Commit(end(Some(true), Some(false)))),
        ("rollback and no chain release", S::Rollback(end(Some(false), Some(true)))),
        ("rollback work to savepoint a", S::RollbackToSavepoint("a".into())),
        ("shutdown", S::Shutdown),
    ] {
        assert_eq!(parse(sql), Ok(want), "{sql}");
    }
    for sql in ["start transaction read only, read write", "commit and chain release", "begin read only"] {
        assert_eq!(parse(sql).map_err(|e| e.code.number()), Err(1064), "{sql}");
    }
    let lock = |name: &str, alias: Option<&str>, write| TableLock {
        table: TableName { database: None, name: name.into() },
        alias: alias.map(str::to_string),
        write,
    };
    let Ok(S::LockTables(locks)) = parse("lock tables t as a read local, u low_priority write, v x read") else {
        panic!()
    };
    assert_eq!(locks, [lock("t", Some("a"), false), lock("u", None, true), lock("v", Some("x"), false)]);
    let Ok(S::Flush(options)) = parse("flush tables t, u with read lock") else { panic!() };
    assert!(matches!(&options[..], [FlushOption::TablesWithReadLock(names)] if names.len() == 2));
}
