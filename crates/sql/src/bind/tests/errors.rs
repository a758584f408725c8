//! Errors have MySQL's numbers and words.

use super::*;

#[test]
fn names_that_mean_nothing() {
    for (sql, code, message) in [
        ("select z from t", 1054, "Unknown column 'z' in 'field list'"),
        ("select a from t where z = 1", 1054, "Unknown column 'z' in 'where clause'"),
        ("select 1 from t join s on t.z = 1", 1054, "Unknown column 't.z' in 'on clause'"),
        ("select a from t group by z", 1054, "Unknown column 'z' in 'group statement'"),
        ("select a from t having b > 1", 1054, "Unknown column 'b' in 'having clause'"),
        ("select a from t order by z", 1054, "Unknown column 'z' in 'order clause'"),
        ("select a from t order by 2", 1054, "Unknown column '2' in 'order clause'"),
        ("select 1 from t a, t b join t c on a.id = c.id", 1054, "Unknown column 'a.id' in 'on clause'"),
        ("select T.a from t", 1054, "Unknown column 'T.a' in 'field list'"),
        ("select id from t, s", 1052, "Column 'id' in field list is ambiguous"),
        ("select 1 from t join s on 1 join s as s3 using (id)", 1052, ""),
        ("select * from nothing", 1146, "Table 'test.nothing' doesn't exist"),
        ("select * from nowhere.t", 1049, "Unknown database 'nowhere'"),
        ("select x.* from t", 1109, "Unknown table 'x'"),
        ("select 1 from t, t", 1066, "Not unique table/alias: 't'"),
        ("select 1 from t x join s x", 1066, "Not unique table/alias: 'x'"),
        ("select * from (select 1)", 1248, "Every derived table must have its own alias"),
        ("select * from (select 1 as a, 2 as a) x", 1060, "Duplicate column name 'a'"),
        ("select *", 1096, "No tables used"),
        ("select nofunc(1)", 1305, "FUNCTION test.nofunc does not exist"),
        ("select concat()", 1582, "Incorrect parameter count in the call to native function 'CONCAT'"),
        ("select abs(1, 2)", 1582, ""),
        ("select @@nothing", 1193, "Unknown system variable 'nothing'"),
        ("select 1 from t force index (nokey)", 1176, "Key 'nokey' doesn't exist in table 't'"),
        ("select * from broken", 1356, "View 'test.broken' references invalid table(s)"),
        ("select 1 from t where c = 'x' collate nothing", 1273, "Unknown collation: 'nothing'"),
    ] {
        let (number, text) = error(sql);
        assert_eq!(number, code, "{sql}: {text}");
        assert!(text.contains(message), "{sql}: {text}");
    }
}

#[test]
fn no_database() {
    let session = TestSession { database: None, ..TestSession::default() };
    let env = BindEnv { catalog: TestCatalog::shared(), session: &session, parameters: Parameters::Values(&[]) };
    let Statement::Query(query) = parse("select * from t").unwrap() else { panic!() };
    assert_eq!(bind_query(&query, &env).unwrap_err().code.number(), 1046);
}

#[test]
fn groups_and_columns() {
    for (sql, code, message) in [
        (
            "select b, c from t group by b",
            1055,
            "Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'test.t.c' which \
             is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
             sql_mode=only_full_group_by",
        ),
        ("select b from t group by b order by c", 1055, "Expression #1 of ORDER BY"),
        (
            "select a, count(*) from t",
            1140,
            "In aggregated query without GROUP BY, expression #1 of SELECT list contains nonaggregated column 'test.t.a'",
        ),
        ("select name from s group by b", 1055, "'test.s.name'"),
        ("select a from t where sum(b) > 1", 1111, "Invalid use of group function"),
        ("select sum(sum(a)) from t", 1111, ""),
        ("select sum(a) from t group by 1", 1056, "Can't group on 'sum(a)'"),
        ("select a from t where b in (select a, b from s)", 1241, "Operand should contain 1 column(s)"),
        ("select (select a, b from s) from t", 1241, ""),
        ("select (1, 2)", 1241, ""),
        ("select 1 where (1, 2) = (1, 2, 3)", 1241, ""),
        ("select 1 where (1, 2) in ((1, 2), (1))", 1241, "Operand should contain 2 column(s)"),
        ("select 1 union select 1, 2", 1222, "The used SELECT statements have a different number of columns"),
        ("select distinct a from t order by b", 3065, "Expression #1 of ORDER BY clause is not in SELECT list"),
        ("values row(1), row(1, 2)", 1136, ""),
        ("with x (a) as (select 1, 2) select * from x", 1353, ""),
        ("select 1 from t where l = g collate utf8mb4_bin and g = c", 1267, "for operation '='"),
        ("select 1 from t where dt = 'abc'", 1525, "Incorrect DATE value: 'abc'"),
        ("select date 'abc'", 1525, "Incorrect DATE value: 'abc'"),
        ("select a from t limit -1", 1064, "near '-1'"),
        ("select a from t limit 1.5", 1064, "near '1.5'"),
        ("select a from t limit @a", 1064, "near '@a'"),
        ("select 1 as @a", 1064, "near '@a'"),
        ("select x'4'", 1064, "near 'x'4''"),
        // FULL is an alias.
        ("select 1 from t full outer join s on 1", 1064, "near 'join s on 1'"),
        ("select a into @x from t union select 1", 3954, "Misplaced INTO clause"),
    ] {
        let (number, text) = error(sql);
        assert_eq!(number, code, "{sql}: {text}");
        assert!(text.contains(message), "{sql}: {text}");
    }
}

#[test]
fn what_is_not_supported_says_so() {
    for (sql, construct) in [
        ("select 1 from t where a in (select a from s limit 1)", "LIMIT & IN/ALL/ANY/SOME subquery"),
        ("select match (c) against ('x') from t", "MATCH .. AGAINST"),
    ] {
        let (number, text) = error(sql);
        assert_eq!(number, 1235, "{sql}: {text}");
        assert!(text.contains(&format!("'{construct}'")), "{sql}: {text}");
    }
}
