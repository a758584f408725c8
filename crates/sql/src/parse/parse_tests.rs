//! Statements that the grammar accepts, what it makes of them, and the errors for others.

use super::*;
use crate::*;
use muster_types::Value;

fn error(sql: &str) -> (u16, String) {
    match parse(sql) {
        Err(e) => (e.code.number(), e.message),
        Ok(s) => panic!("{sql} parsed as {s:?}"),
    }
}

/// The tree of an expression, with every operation in parentheses.
fn tree(sql: &str) -> String {
    fn show(e: &sqlparser::ast::Expr) -> String {
        use sqlparser::ast::{Expr::*, FunctionArguments};
        match e {
            BinaryOp { left, op, right } => format!("({} {op} {})", show(left), show(right)),
            UnaryOp { op, expr } => format!("({op} {})", show(expr)),
            Nested(e) => show(e),
            Like { negated, expr, pattern, .. } => {
                format!("({}{} like {})", if *negated { "not " } else { "" }, show(expr), show(pattern))
            }
            Between { expr, low, high, .. } => format!("({} between {} {})", show(expr), show(low), show(high)),
            IsNull(e) => format!("({} is null)", show(e)),
            Cast { expr, data_type, .. } => format!("(cast {} {data_type})", show(expr)),
            InList { expr, list, .. } => {
                format!("({} in {})", show(expr), list.iter().map(show).collect::<Vec<_>>().join(" "))
            }
            Function(f) => match &f.args {
                FunctionArguments::List(args) => {
                    let args: Vec<String> = args
                        .args
                        .iter()
                        .map(|a| match a {
                            sqlparser::ast::FunctionArg::Unnamed(sqlparser::ast::FunctionArgExpr::Expr(e)) => show(e),
                            other => other.to_string(),
                        })
                        .collect();
                    format!("{}({})", f.name.to_string().trim_start_matches('\u{1}'), args.join(" "))
                }
                _ => f.name.to_string(),
            },
            other => other.to_string(),
        }
    }
    show(&parse_expression(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).ast)
}

#[test]
fn precedence_is_mysqls() {
    for (sql, want) in [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("a || b && c", "||(a &&(b c))"),
        ("a = 1 || b = 2", "||((a = 1) (b = 2))"),
        ("a || b or c", "OR(||(a b) c)"),
        ("a or b and c or d", "OR(a AND(b c) d)"),
        ("a xor b and c or d", "OR((a XOR AND(b c)) d)"),
        ("not a = b", "(NOT (a = b))"),
        ("! a = b", "((! a) = b)"),
        ("- a ^ b * c", "(((- a) ^ b) * c)"),
        ("a * b ^ c", "(a * (b ^ c))"),
        ("1 | 2 & 3", "(1 | (2 & 3))"),
        ("1 << 2 + 3", "(1 << (2 + 3))"),
        ("1 & 2 << 3", "(1 & (2 << 3))"),
        ("a | b = c", "((a | b) = c)"),
        ("7 div 2 mod 3", "((7 DIV 2) % 3)"),
        ("a = b like c", "(a = (b like c))"),
        ("a like b = c", "((a like b) = c)"),
        ("a = b is null", "((a = b) is null)"),
        ("a between 1 and 2 and b", "AND((a between 1 2) b)"),
        ("a between 1 + 1 and 2 | 4", "(a between (1 + 1) (2 | 4))"),
        ("a + b in (1, 2)", "((a + b) in 1 2)"),
        ("a <=> b", "(a <=> b)"),
        ("binary a = b", "((cast a BINARY) = b)"),
        ("a not like b or c", "OR((not a like b) c)"),
        ("- 1 + 2", "((- 1) + 2)"),
        ("not not a", "(NOT (NOT a))"),
    ] {
        assert_eq!(tree(sql), want, "{sql}");
    }
}

#[test]
fn errors_name_the_place() {
    assert_eq!(error("").0, 1065);
    assert_eq!(error(" -- nothing\n;").0, 1065);
    for (sql, near, line) in [
        ("selec 1", "selec 1", 1),
        ("select 1 from", "", 1),
        ("select * form t", "form t", 1),
        ("select 1\nfrom t where", "", 2),
        ("select 1;\nselect 2", "select 2", 2),
        ("create table t (a int,)", ")", 1),
        ("create tabel t (a int)", "tabel t (a int)", 1),
        ("drop table", "", 1),
        ("show nonsense", "nonsense", 1),
        ("table t where a = 1", "where a = 1", 1),
        ("select 1 from s table limit 1", "table limit 1", 1),
    ] {
        let (code, message) = error(sql);
        assert_eq!(code, 1064, "{sql}");
        assert!(message.ends_with(&format!("near '{near}' at line {line}")), "{sql}: {message}");
    }
    for (sql, construct) in [
        ("insert into t partition (p) values (1)", "PARTITION"),
        ("xa start 'a'", "XA"),
        ("create table t (a int) partition by hash (a)", "PARTITION BY"),
        ("create table t (a point)", "type POINT"),
        ("create trigger x before insert on t for each row set @a = 1", "CREATE TRIGGER"),
    ] {
        let (code, message) = error(sql);
        assert_eq!(code, 1235, "{sql}");
        assert!(message.contains(&format!("'{construct}'")), "{sql}: {message}");
    }
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in
        [("(", ")"), ("not ", ""), ("- ", ""), ("abs(", ")"), ("(select ", ")"), ("case when 1 then ", " end")]
    {
        let deep = format!("select {}1{}", open.repeat(10_000), close.repeat(10_000));
        assert!([1473, 1064].contains(&error(&deep).0), "{open}");
        let shallow = format!("select {}1{}", open.repeat(15), close.repeat(15));
        parse(&shallow).unwrap_or_else(|e| panic!("{shallow}: {e}"));
    }
    let ands = format!("select 1 where a = 1{}", " and a = 1".repeat(5_000));
    parse(&ands).unwrap();
    let list = format!("select a in (1{})", ", 2".repeat(20_000));
    parse(&list).unwrap();
    assert_eq!(error(&format!("select 1{}", " + 1".repeat(5_000))).0, 1473);
    assert_eq!(error(&format!("select 1{}", " union select 1".repeat(5_000))).0, 1473);
    parse(&format!("select 1{}", " + 1".repeat(500))).unwrap();
}

#[test]
fn items_keep_their_text() {
    let Statement::Query(q) = parse("select  SUM( a ) , b+1 x, t.* from (select 1+ 1,'x') t order by 1, 2;").unwrap()
    else {
        panic!()
    };
    let texts: Vec<_> = q.items.iter().map(|(_, items)| items.clone()).collect();
    assert_eq!(texts, vec![vec!["SUM( a )", "b+1 x", "t.*"], vec!["1+ 1", "'x'"]]);
    assert!(q.text.ends_with("order by 1, 2"));
}

#[test]
fn parameters_are_numbered() {
    let Statement::Query(q) = parse("select ? from t where a = ? and b in (?, '?')").unwrap() else { panic!() };
    assert_eq!(q.parameters(), 3);
}

#[test]
fn queries_of_all_shapes_parse() {
    for sql in [
        "select 1 from (t1, t2) left join t3 on t1.a = t3.a",
        "select 1 from t1 straight_join t2",
        "select straight_join * from t1 join t2 using (a)",
        "select 1 from ((t1 join t2 on t1.a = t2.a))",
        "select 1 from t use index for join (a, b) ignore key (c)",
        "select 1 from t force index (primary)",
        "select date '1998-12-01' - interval '90' day",
        "select date_add('1993-08-01', interval '3' month)",
        "select interval 1 + 1 day_hour + now()",
        "select extract(year from d), substring(s from 1 for 2), trim(leading 'x' from s), position('a' in b)",
        "select cast(a as signed), cast(a as unsigned integer), cast(a as char(10)), convert(a, decimal(10,2)), convert(a using utf8mb4)",
        "select cast(a as datetime(6)), cast(a as double), cast(a as float), cast(a as char character set latin1)",
        "select group_concat(distinct a order by b desc separator '|'), count(distinct a, b)",
        "select _utf8mb4'x' collate utf8mb4_bin, x'41', 0x41, b'01', N'x'",
        "select @@session.sql_mode, @@version, @a, @@global.x.y",
        "select 1 limit 5, 10",
        "select 1 limit 10 offset 5",
        "(select 1) union all (select 2) order by 1 limit 1",
        "with a as (select 1), b (x) as (select * from a) select * from b",
        "values row(1, 2), row(3, 4)",
        "explain table t",
        "explain analyze format=tree table d.t",
        "insert into t table s on duplicate key update a = 1",
        "explain replace into d.t (a, b) table s order by a limit 1",
        "create view v (a, b) as table t",
        "analyze table t",
        "export statistics for table t, d.u into 'a.json'",
        "import statistics from 'a.json'",
        "analyze table d.t update histogram on a, b with 16 buckets",
        "analyze local table t drop histogram on a",
        "select (1, 2) in (select a, b from t), row(1, 2) = (1, 2)",
        "select 1 from t where a > all (select 1) and b = any (select 2) and exists (select 3)",
        "select 1 from dual",
        "select a from t for update",
        "select a from t lock in share mode",
        "select /*+ BKA(t) */ a from t",
        "select left(a, 1), right(a, 1), replace(a, 'x', 'y'), if(a, b, c), char_length(a), mod(1, 2)",
        "select current_timestamp, current_date(), curdate(), now(6), utc_timestamp, current_user",
        "select a as 'x y', b \"z\" from t",
        "select year from t where date > '2000-01-01'",
        "select 'a' 'b'",
        "select date(a), time(a), timestamp(a), year(a), timestampdiff(day, a, b)",
        "select not exists (select 1)",
        "select * from t where a is not true or b is unknown",
        "select case a when 1 then 2 else 3 end, case when a then b end",
        "select a from t group by a, b having count(*) > 1 order by a desc, b asc",
        "select /*! straight_join */ 1",
        "select t.a, `t`.`b`, db.t.c from db.t",
        "explain format=tree select 1",
    ] {
        parse(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// The FROM clause as it was read.
#[track_caller]
fn from_clause(tables: &str) -> String {
    let Statement::Query(q) = parse(&format!("select 1 from {tables}")).unwrap_or_else(|e| panic!("{tables}: {e}"))
    else {
        panic!()
    };
    q.ast.to_string().split_once(" FROM ").unwrap().1.to_string()
}

#[test]
fn every_on_has_its_join() {
    for (written, read) in [
        ("a JOIN b LEFT JOIN c ON x", "a JOIN b LEFT JOIN c ON x"),
        ("a JOIN b JOIN c ON x", "a JOIN b JOIN c ON x"),
        ("a LEFT JOIN b JOIN c ON x ON y", "a LEFT JOIN (b JOIN c ON x) ON y"),
        ("a JOIN b LEFT JOIN c JOIN d ON x ON y", "a JOIN b LEFT JOIN (c JOIN d ON x) ON y"),
        ("a LEFT JOIN b LEFT JOIN c JOIN d ON x ON y ON z", "a LEFT JOIN (b LEFT JOIN (c JOIN d ON x) ON y) ON z"),
        ("a LEFT JOIN b NATURAL LEFT OUTER JOIN c USING (x)", "a LEFT JOIN (b NATURAL LEFT OUTER JOIN c) USING(x)"),
        ("a LEFT JOIN (b JOIN c) JOIN d ON x ON y", "a LEFT JOIN ((b JOIN c) JOIN d ON x) ON y"),
        ("a JOIN b ON x JOIN c ON y", "a JOIN b ON x JOIN c ON y"),
        ("a LEFT JOIN b USE INDEX FOR JOIN (i) ON x", "a LEFT JOIN b USE INDEX FOR JOIN (i) ON x"),
    ] {
        assert_eq!(from_clause(written), read, "{written}");
    }
}

#[test]
fn tables_are_defined() {
    let sql = "create table if not exists d.t (
        id int unsigned not null auto_increment,
        k tinyint(1) default '0',
        c char(120) character set latin1 not null default '',
        v varchar(20) collate utf8mb4_bin comment 'it''s',
        p decimal(15,2) default -1.50,
        ts timestamp(3) not null default current_timestamp(3) on update now(3),
        b varbinary(16) default x'00ff',
        primary key (id), unique key u (v(5), p desc), key k_1 using btree (k), index (ts)
    ) engine=InnoDB default charset=utf8mb4 collate utf8mb4_0900_ai_ci, comment='x'";
    let Statement::CreateTable(t) = parse(sql).unwrap() else { panic!() };
    assert_eq!(t.name, TableName { database: Some("d".into()), name: "t".into() });
    assert!(t.if_not_exists);
    let types: Vec<String> = t.columns.iter().map(|c| c.ty.to_string()).collect();
    let want =
        ["int unsigned", "tinyint", "char(120)", "varchar(20)", "decimal(15,2)", "timestamp(3)", "varbinary(16)"];
    assert_eq!(types, want);
    assert_eq!(t.columns[2].charset.as_deref(), Some("latin1"));
    assert_eq!(t.columns[3].comment, "it's");
    assert_eq!(t.columns[4].default, Some(DefaultClause::Value(Value::Decimal("-1.50".parse_decimal()))));
    assert_eq!(t.columns[5].default, Some(DefaultClause::CurrentTimestamp { fsp: 3 }));
    assert_eq!(t.columns[6].default, Some(DefaultClause::Value(Value::Bytes(vec![0, 255]))));
    assert_eq!(t.indexes.len(), 4);
    assert_eq!(
        t.indexes[1].columns[0],
        IndexColumn { name: "v".into(), expr: None, prefix: Some(5), descending: false }
    );
    assert!(t.indexes[1].columns[1].descending);
    assert_eq!(t.indexes[3].name, None);
    assert_eq!(t.options.engine.as_deref(), Some("InnoDB"));
    for sql in [
        "create table sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = innodb */",
        "create unique index a on t (b, c(10) desc) using btree comment 'x'",
        "alter table t add key a (b), drop key c, drop index d",
        "drop table if exists a, b.c",
        "create or replace algorithm=merge definer=`root`@`%` sql security definer view v (a, b) as select 1, 2",
        "analyze table a, b",
        "check table a, b.c",
        "check tables a for upgrade quick extended",
        "create table a like b",
        "rename table a to b",
    ] {
        parse(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    assert_eq!(error("create table t (a decimal(66,2))").0, 1426);
    assert_eq!(error("create table t (a decimal(5,6))").0, 1427);
    assert_eq!(error("create table t (a varbinary(70000))").0, 1074);
}

trait ParseDecimal {
    fn parse_decimal(&self) -> muster_types::Decimal;
}

impl ParseDecimal for str {
    fn parse_decimal(&self) -> muster_types::Decimal {
        muster_types::Decimal::parse(self).unwrap()
    }
}

#[test]
fn text_types_keep_their_character_set() {
    let column = |text: &str| match parse(&format!("create table t (a {text})")).unwrap() {
        Statement::CreateTable(t) => (t.columns[0].charset.clone(), t.columns[0].collation.clone()),
        _ => panic!(),
    };
    let some = |name: &str| Some(name.to_string());
    assert_eq!(column("varchar(5)"), (None, None));
    assert_eq!(column("varchar(5) charset klingon"), (some("klingon"), None));
    assert_eq!(column("char(5) character set latin1 collate utf8mb4_bin"), (some("latin1"), some("utf8mb4_bin")));
}

#[test]
fn load_data_in_all_its_parts() {
    let sql = r"load data local infile '/x/l.tbl' ignore into table d.t character set latin1
        fields terminated by '|' optionally enclosed by '\'' escaped by '' lines starting by '>' terminated by '|\n'
        ignore 1 lines (a, @skip, b)";
    let Statement::LoadData(l) = parse(sql).unwrap() else { panic!() };
    assert!(l.local && l.format.optionally_enclosed);
    assert_eq!(
        (l.format.fields_terminated_by.as_str(), l.format.fields_enclosed_by, l.format.fields_escaped_by),
        ("|", Some('\''), None)
    );
    assert_eq!(
        (l.format.lines_starting_by.as_str(), l.format.lines_terminated_by.as_str(), l.ignore_lines),
        (">", "|\n", 1)
    );
    assert_eq!(l.columns[1], LoadColumn::Variable("skip".into()));
    let Statement::LoadData(l) = parse("load data infile 'x' into table t").unwrap() else { panic!() };
    assert_eq!(
        (l.format.fields_terminated_by.as_str(), l.format.fields_escaped_by, l.on_duplicate),
        ("\t", Some('\\'), OnDuplicate::Error)
    );
    assert_eq!(error("load data infile 'x' into table t fields terminated by '|' enclosed by 'ab'").0, 1083);
}

#[test]
fn set_in_all_its_forms() {
    let items = |sql: &str| match parse(sql).unwrap_or_else(|e| panic!("{sql}: {e}")) {
        Statement::Set(items) => items,
        other => panic!("{other:?}"),
    };
    let variable = |sql: &str| match items(sql).remove(0) {
        SetItem::Variable { scope, name, value, .. } => {
            let value = match value {
                SetValue::Default => "default".to_string(),
                SetValue::Word(w) => format!("word {w}"),
                SetValue::Expr(e) => format!("expr {}", e.text),
            };
            (scope, name, value)
        }
        other => panic!("{other:?}"),
    };
    use VariableScope::*;
    for (sql, scope, name, value) in [
        ("set autocommit=1", None, "autocommit", "expr 1"),
        ("set @@session.sql_mode := 'x'", Some(Session), "sql_mode", "expr 'x'"),
        ("set global Max_Connections = default", Some(Global), "max_connections", "default"),
        ("set character_set_results = utf8mb4", None, "character_set_results", "word utf8mb4"),
        ("set @@x.y = 1 + 1", None, "x.y", "expr 1 + 1"),
        ("set session transaction_read_only = ON", Some(Session), "transaction_read_only", "word ON"),
        ("set character_set_results = NULL", None, "character_set_results", "expr NULL"),
        ("set a = @@b", None, "a", "expr @@b"),
        ("/*!40101 SET NAMES_X=@OLD */", None, "names_x", "expr @OLD"),
    ] {
        assert_eq!(variable(sql), (scope, name.to_string(), value.to_string()), "{sql}");
    }
    assert_eq!(items("set @a := 1, @'b c' = 2, sql_mode = ''").len(), 3);
    assert!(matches!(&items("set @`x` = 1")[0], SetItem::User { name, .. } if name == "x"));
    assert_eq!(
        items("set names utf8mb4 collate utf8mb4_bin"),
        [SetItem::Names { charset: Some("utf8mb4".into()), collation: Some("utf8mb4_bin".into()) }]
    );
    assert_eq!(items("set character set 'latin1'"), [SetItem::CharacterSet(Some("latin1".into()))]);
    assert_eq!(
        items("set session transaction isolation level read committed, read only"),
        [SetItem::Transaction {
            scope: Some(Session),
            isolation: Some(Isolation::ReadCommitted),
            read_only: Some(true)
        }]
    );
}

#[test]
fn show_keeps_its_filters() {
    let show = |sql: &str| match parse(sql).unwrap_or_else(|e| panic!("{sql}: {e}")) {
        Statement::Show(s) => s,
        other => panic!("{other:?}"),
    };
    let like = |p: &str| Some(ShowFilter::Like(p.to_string()));
    let table = |d: Option<&str>, n: &str| TableName { database: d.map(str::to_string), name: n.into() };
    assert_eq!(show("show databases like 'a%'"), Show::Databases { filter: like("a%") });
    assert_eq!(
        show("show full tables from db like 'x'"),
        Show::Tables { full: true, database: Some("db".into()), filter: like("x") }
    );
    assert_eq!(show("show index from t in d"), Show::Index { table: table(Some("d"), "t"), filter: None });
    assert_eq!(
        show("show global variables like 'a\\_b'"),
        Show::Variables { scope: Some(VariableScope::Global), filter: like("a\\_b") }
    );
    assert!(matches!(
        show("show status where variable_name = 'x'"),
        Show::Status { filter: Some(ShowFilter::Where(_)), .. }
    ));
    assert_eq!(show("show warnings limit 5, 10"), Show::Warnings { count: false, offset: 5, limit: Some(10) });
    assert_eq!(show("show count(*) warnings"), Show::Warnings { count: true, offset: 0, limit: None });
    for sql in [
        "show full processlist",
        "show create table a.b",
        "show create database x",
        "show engines",
        "show collation",
        "show character set like 'utf%'",
        "show grants for 'a'@'b'",
        "show grants",
        "show table status",
        "show plugins",
        "show privileges",
        "show keys from t",
        "show columns from t like 'a'",
        "show triggers",
        "show create view v",
        "show errors",
        "show fields from t",
        "show storage engines",
    ] {
        show(sql);
    }
}

#[test]
fn accounts_and_privileges() {
    let user = |sql: &str| match parse(sql).unwrap_or_else(|e| panic!("{sql}: {e}")) {
        Statement::Account(AccountStatement::CreateUser { users, .. }) => users[0].clone(),
        other => panic!("{other:?}"),
    };
    for (sql, name, host) in [
        ("create user 'a'@'%' identified by 'p'", "a", "%"),
        ("create user a@localhost identified by 'p'", "a", "localhost"),
        ("create user a identified by 'p'", "a", "%"),
        ("create user `a`@`10.%` identified with caching_sha2_password by 'p'", "a", "10.%"),
        ("create user a@'h' identified by 'p'", "a", "h"),
        ("create user if not exists 'a'@localhost identified by 'p' require none", "a", "localhost"),
    ] {
        let spec = user(sql);
        assert_eq!((spec.name.user.as_str(), spec.name.host.as_str()), (name, host), "{sql}");
        assert!(matches!(spec.authentication, Some(Authentication::Password { password, .. }) if password == "p"));
    }
    let Statement::Account(AccountStatement::Grant(g)) =
        parse("grant select, create view on db.* to 'a'@'%', b with grant option").unwrap()
    else {
        panic!()
    };
    assert_eq!(g.privileges.iter().map(|p| &p.name).collect::<Vec<_>>(), ["SELECT", "CREATE VIEW"]);
    assert_eq!((g.scope, g.users.len(), g.grant_option), (GrantScope::Database(Some("db".into())), 2, true));
    for sql in [
        "alter user current_user() identified by 'x'",
        "drop user if exists a, b@c",
        "set password = 'x'",
        "set password for 'a'@'b' = 'x'",
        "revoke all privileges on *.* from a",
        "grant all on *.* to a",
        "kill query 5",
        "kill 7",
        "flush status",
        "flush privileges",
        "flush tables",
        "flush status, privileges",
        "begin",
        "start transaction read only",
        "start transaction with consistent snapshot",
        "commit",
        "rollback",
        "rollback to savepoint a",
        "savepoint a",
        "release savepoint a",
        "lock tables a read, b as c write",
        "unlock tables",
        "prepare s from 'select ?'",
        "prepare s from @a",
        "execute s using @a, @b",
        "deallocate prepare s",
        "drop prepare s",
        "do 1, sleep(0)",
        "use db",
        "describe t",
        "desc t c",
        "explain t",
        "explain analyze select 1",
        "explain format=json select 1",
        "explain extended select 1",
        "truncate t",
        "create database if not exists d character set utf8mb4 collate utf8mb4_bin",
        "drop schema if exists d",
        "alter database d charset latin1",
        "show create user a",
    ] {
        parse(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

#[test]
fn select_into_variables() {
    for sql in [
        "SELECT a, b INTO @x, @`Y` FROM t WHERE a = 1",
        "SELECT a, b FROM t WHERE a = 1 INTO @X, @'y'",
        "WITH c AS (SELECT 1) SELECT a, b FROM c LIMIT 1 INTO @x, @y;",
        "(SELECT a, b FROM t) UNION (SELECT 1, 2) INTO @x, @y",
    ] {
        match parse(sql) {
            Ok(Statement::SelectInto { variables, .. }) => assert_eq!(variables, ["x", "y"], "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    match parse(
        "SELECT a INTO OUTFILE '/x' FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES STARTING BY '>' FROM t",
    ) {
        Ok(Statement::SelectIntoFile { file, .. }) => {
            let format = file.format.expect("OUTFILE has a format");
            assert_eq!((file.path.as_str(), format.fields_terminated_by.as_str()), ("/x", ","));
            assert!(format.optionally_enclosed && format.fields_enclosed_by == Some('"'));
            assert_eq!((format.lines_starting_by.as_str(), format.lines_terminated_by.as_str()), (">", "\n"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(error("SELECT a INTO OUTFILE '/x' FIELDS FROM t").0, 1064);
    assert_eq!(error("SELECT a INTO OUTFILE '/x' FIELDS ENCLOSED BY 'ab' FROM t").0, 1083);
    assert_eq!(error("SELECT a INTO x FROM t").0, 1327);
    assert_eq!(error("SELECT a FROM t INTO @@x").0, 1064);
    assert_eq!(error("SELECT a FROM t INTO").0, 1064);
}
