//! What the constructs of SQL become.

use super::*;

fn shows(sql: &str, want: &[&str]) {
    let text = print(&bind(sql));
    for part in want {
        assert!(text.contains(part), "{sql}\n{text}does not have\n{part}");
    }
}

fn names(sql: &str) -> Vec<String> {
    bind(sql).outputs.into_iter().map(|(_, n)| n).collect()
}

#[test]
fn result_columns_are_called_as_in_mysql() {
    for (sql, want) in [
        ("select a, t.b, test.t.c, `a` from t", vec!["a", "b", "c", "a"]),
        (
            "select a+1, COUNT( * ), 'it''s', NULL, 1.50 from t group by a",
            vec!["a+1", "COUNT( * )", "it's", "NULL", "1.50"],
        ),
        ("select a as x, b y, c 'z' from t", vec!["x", "y", "z"]),
        ("select (select max(b) from s), exists(select 1) from t", vec!["(select max(b) from s)", "exists(select 1)"]),
        ("select @@max_allowed_packet, now() from dual", vec!["@@max_allowed_packet", "now()"]),
        ("select * from s", vec!["id", "a", "b", "name"]),
        ("select 1 as a union select 2 as b", vec!["a"]),
        ("select x.`a1` from simple x", vec!["a1"]),
        ("select a || b from s", vec!["a || b"]),
    ] {
        assert_eq!(names(sql), want, "{sql}");
    }
}

#[test]
fn joins() {
    shows("select 1 from t, s where t.id = s.id", &["inner join\n"]);
    shows(
        "select 1 from t left join s on t.id = s.id and s.b > 1",
        &["left join t.id = s.id, s.b > 1\n    get t\n    get s"],
    );
    shows("select 1 from t right join s on t.id = s.id", &["left join t.id = s.id\n    get s\n    get t"]);
    shows("select 1 from t straight_join s on t.id = s.id", &["inner straight join t.id = s.id"]);
    shows("select straight_join 1 from t, s", &["inner straight join"]);
    shows("select 1 from t cross join s join t as t2 on t2.id = s.id", &["inner join t2.id = s.id\n    inner join\n"]);
    shows("select 1 from (t, s) left join t as t2 on t2.id = s.id", &["left join t2.id = s.id\n    inner join"]);
    shows(
        "select 1 from t join (s join t as t2 on t2.id = s.id) on t.id = t2.id",
        &["inner join t.id = t2.id\n    get t\n    inner"],
    );
    assert_eq!(names("select * from s join s as s2 using (id, a)"), ["id", "a", "b", "name", "b", "name"]);
    assert_eq!(names("select * from s natural join s as s2"), ["id", "a", "b", "name"]);
    assert_eq!(names("select * from s left join s as s2 using (b)"), ["b", "id", "a", "name", "id", "a", "name"]);
    shows("select id from s left join t using (id)", &["project s.id\n"]);
    shows("select id from s right join t using (id)", &["project t.id\n"]);
    shows("select s2.id, id from s join s as s2 using (id)", &["project s2.id, s.id"]);
    shows("select 1 from lineitem force index (i_l_orderkey) ignore index for order by (primary)", &["get lineitem"]);
}

#[test]
fn nullability_follows_outer_joins() {
    let bound = bind("select t.a, s2.a + 1, coalesce(s2.a, 0) from t left join t as s2 on s2.id = t.b");
    let nullable: Vec<bool> = bound.outputs.iter().map(|(id, _)| bound.columns.get(*id).nullable).collect();
    assert_eq!(nullable, [false, true, false]);
}

#[test]
fn grouping() {
    shows("select a + 1, sum(b) from t group by a + 1", &["aggregate [?] sum(t.b)", "project"]);
    shows("select a + 1 as k, sum(b) s from t group by k having s > 5 order by s desc", &["filter `sum(b)` > 5"]);
    shows("select b, count(*) from t group by 1", &["aggregate [t.b] count()"]);
    shows("select count(distinct a, b), count(distinct c) from t", &["count(distinct t.a, t.b), count(distinct t.c)"]);
    shows("select sum(a) + sum(a), avg(b) from t", &["aggregate [] sum(t.a), avg(t.b)\n"]);
    shows("select b from t group by b having max(a) > 1", &["filter `max(a)` > 1"]);
    shows("select a from t having a > 1", &["filter t.a > 1"]);
    shows("select b, sum(a) from t group by b order by max(x)", &["sort `max(x)`"]);
    shows("select distinct b from t order by b", &["sort t.b\n  aggregate [t.b]\n"]);
    shows("select count(*) from t order by a", &["aggregate [] count()\n  get t"]);
    // Determined by the primary key, by a unique key, by an equality.
    shows("select id, c from t group by id", &["anyvalue(t.c)"]);
    shows("select a, c from t group by a", &["anyvalue(t.c)"]);
    shows("select s.id, t.c from t, s where t.id = s.id group by s.id", &["anyvalue(t.c)"]);
    shows("select sum(b), a from t where a = 5", &["anyvalue(t.a)"]);
    shows("select s.id, t.c from s left join t on t.id = s.id group by s.id", &["anyvalue(t.c)"]);
    shows("select id, (select max(s.b) from s where s.a = t.a) from t group by id", &["anyvalue(t.a)"]);
    shows(
        "select any_value(c), group_concat(distinct c order by a desc separator '|') from t",
        &["anyvalue(t.c), groupconcat(distinct t.c)"],
    );
    shows(
        "select extract(year from dt), count(*) from t group by extract(year from dt)",
        &["aggregate [?] count()\n  project t.id"],
    );
}

#[test]
fn grouping_without_the_full_check() {
    let session = TestSession { full_group_by: false, ..TestSession::default() };
    let env = BindEnv { catalog: TestCatalog::shared(), session: &session, parameters: Parameters::Values(&[]) };
    let Statement::Query(query) = parse("select b, c, count(*) from t group by b").unwrap() else { panic!() };
    let bound = bind_query(&query, &env).unwrap();
    assert!(print(&bound).contains("anyvalue(t.c)"), "{}", print(&bound));
}

#[test]
fn ordering_and_limits() {
    shows("select a from t order by b limit 3", &["project t.a\n  limit 0, Some(3)\n    sort t.b\n      get t"]);
    shows("select a + 1 as k from t order by k desc", &["sort `k` desc\n  project (cast(t.a as bigint) add 1)"]);
    shows("select a from t order by a + b limit 5, 10", &["limit 5, Some(10)", "sort ?"]);
    shows("select a, b from t order by 2, 1", &["sort t.b, t.a"]);
    shows("select a as b, b as a from t order by a", &["sort t.b"]);
    shows("select a from t order by 'x', 1 + 1", &["project t.a\n  get t"]);
    shows("select a from t limit 10 offset 2", &["limit 2, Some(10)"]);
    // Rows of a derived table have no order, unless LIMIT depends on it.
    assert!(!print(&bind("select 1 from (select a from t order by b) x")).contains("sort"));
    shows("select 1 from (select a from t order by b limit 1) x", &["sort t.b"]);
}

#[test]
fn set_operations() {
    shows("select a from t union all select b from s", &["union 2"]);
    shows("select a from t union select b from s union select 1", &["aggregate [`a`]\n  union 3"]);
    shows(
        "select a from t union select b from s union all select id from s",
        &["union 2\n  aggregate [`a`]\n    union 2"],
    );
    shows("select a from t union select d from t", &["cast(t.a as decimal(12,2))"]);
    shows("(select a from t) union (select b from s) order by a limit 1", &["limit 0, Some(1)\n  sort `a`"]);
    shows("select a from t intersect select b from s", &["semi join t.a <=> s.b\n  aggregate [t.a]"]);
    shows("select a from t except select b from s", &["anti join t.a <=> s.b"]);
    shows("values row(1, 'x'), row(2.5, 'yy')", &["values 2"]);
    assert_eq!(names("values row(1, 2)"), ["column_0", "column_1"]);
}

#[test]
fn table_is_a_select_of_all_columns() {
    for (table, select) in [
        ("table s", "select * from s"),
        ("table s order by b desc limit 2, 3", "select * from s order by b desc limit 2, 3"),
        ("(table s) union table s order by 1", "(select * from s) union select * from s order by 1"),
        ("table s union all table s", "select * from s union all select * from s"),
        ("select a from t where exists (table s)", "select a from t where exists (select * from s)"),
        ("select * from (table s limit 1) d", "select * from (select * from s limit 1) d"),
        ("with x as (table s) table x", "with x as (select * from s) select * from x"),
    ] {
        assert_eq!(print(&bind(table)), print(&bind(select)), "{table}");
    }
}

#[test]
fn ctes_views_and_derived_tables() {
    shows("with x as (select a from t), y (k) as (select a + 1 from x) select k from y, x where k = x.a", &["get t"]);
    assert_eq!(names("select * from (select a, b from t) as d (p, q)"), ["p", "q"]);
    assert_eq!(names("select * from named"), ["k", "total"]);
    shows("select named.k from named join nested on nested.k = named.k", &["aggregate [t.a] sum(t.d)"]);
    // A WITH table hides a stored one.
    assert_eq!(names("with t as (select 1 as z) select * from t"), ["z"]);
    shows("select word from information_schema.words", &["get words"]);
}

#[test]
fn subqueries() {
    shows("select 1 from t where a in (select a from s)", &["filter (t.a) in {project s.a < get s}"]);
    shows(
        "select 1 from t where (a, b) not in (select a, b from s)",
        &["filter (t.a, t.b) not in {project s.a, s.b < get s}"],
    );
    shows(
        "select 1 from t where not exists (select * from s where s.a = t.a)",
        &["not exists of t.a {filter s.a = t.a < get s}"],
    );
    shows("select 1 from t where a > all (select a from s)", &["t.a gt all {"]);
    shows("select 1 from t where a = any (select a from s)", &["(t.a) in {"]);
    shows("select 1 from t where a <> all (select a from s)", &["(t.a) not in {"]);
    shows(
        "select 1 from t where d in (select a from s)",
        &["cast(s.a as decimal(12,2))", "(cast(t.d as decimal(12,2))) in"],
    );
    shows("select a in (select b from s) or a = 3 from t", &["((t.a) in {project s.b < get s} or t.a = 3)"]);
    // Through two levels.
    shows(
        "select 1 from t where exists (select 1 from s where exists (select 1 from s as s2 where s2.a = t.a and s2.b = s.b))",
        &["exists of t.a {", "exists of t.a, s.b {"],
    );
    shows("select (select t.a) from t", &["scalar of t.a {project t.a < values 1}"]);
    shows("select a from t order by (select b from s where s.id = t.id)", &["sort ?", "scalar of t.id {"]);
    shows("select (select count(*) from s where s.a = t.a) c from t having c > 1", &["filter scalar of t.a"]);
    shows("select x.a from t x where x.a = (select max(y.a) from t y where y.b = x.b)", &["scalar of x.b {"]);
}

#[test]
fn hints_name_tables_of_any_block() {
    let switches = |sql: &str| -> Vec<(&str, bool, Option<Vec<usize>>)> {
        let hints = bind(sql).hints.switches;
        hints.into_iter().map(|h| (h.switch.name(), h.on, h.indexes)).collect()
    };
    assert_eq!(
        switches("select /*+ NO_ICP(t kb) BKA(t) */ a from t"),
        [
            ("batched_key_access", true, None),
            ("join_cache_bka", true, None),
            ("index_condition_pushdown", false, Some(vec![2]))
        ]
    );
    let other = "select /*+ NO_MRR(s@inside) NO_SEMIJOIN(@inside FIRSTMATCH) */ a from t where a in
                 (select /*+ QB_NAME(inside) BKA(@`select#1` t) */ b from s)";
    assert_eq!(
        switches(other),
        [
            ("firstmatch", false, None),
            ("mrr", false, None),
            ("batched_key_access", true, None),
            ("join_cache_bka", true, None)
        ]
    );
    let bound = bind("select /*+ INDEX(t kb) JOIN_ORDER(s, t) */ 1 from t, s");
    assert_eq!(bound.hints.orders[0].tables.len(), 2);
    assert!(bound.hints.orders[0].tables[0].is_disjoint(&bound.hints.orders[0].tables[1]));
}

#[test]
fn hints_that_speak_of_nothing_are_warned_of() {
    let warnings = |sql: &str| -> Vec<(u16, String)> {
        bind(sql).warnings.into_iter().map(|w| (w.code.number(), w.message)).collect()
    };
    let one = |sql: &str| match warnings(sql).as_slice() {
        [one] => one.clone(),
        other => panic!("{sql}: {other:?}"),
    };
    for (hints, number, message) in [
        ("BKA(x)", 3128, "Unresolved name `x`@`select#1` for BKA hint"),
        ("NO_ICP(t x)", 3128, "Unresolved name `t`@`select#1` `x` for NO_ICP hint"),
        ("MRR(@q t)", 3127, "Query block name `q` is not found for MRR hint"),
        ("JOIN_ORDER(t, x@q)", 3127, "Query block name `q` is not found for JOIN_ORDER hint"),
        ("QB_NAME(q) BKA(t) NO_BKA(t@q)", 3126, "Hint NO_BKA(`t`@`q`) is ignored as conflicting/duplicated"),
        ("NO_ICP()", 1064, "Optimizer hint syntax error near 'NO_ICP()' at line 1"),
        ("WRONG()", 1064, "Optimizer hint syntax error near 'WRONG()' at line 1"),
    ] {
        assert_eq!(one(&format!("select /*+ {hints} */ a from t")), (number, message.to_string()));
    }
    assert!(
        warnings(
            "select /*+ BKA() NO_BKA(t) JOIN_PREFIX(t) SEMIJOIN(@`select#2`) */ a from t where a in (select a from s)"
        )
        .is_empty()
    );
}

#[test]
fn index_hints_are_at_their_tables() {
    let bound = bind("select 1 from t force index for join (kb)");
    let mut rel = &bound.rel;
    while let Some(input) = rel.inputs().first() {
        rel = input;
    }
    let Rel::Get { hints, .. } = rel else { panic!("{rel:?}") };
    assert_eq!(hints[0].indexes, [2]);
    let hinted = bind("select /*+ NO_INDEX(t kb) */ 1 from t where exists (select 1 from t) limit 1");
    assert!(format!("{:?}", hinted.rel).contains("kind: Ignore, scope: All, indexes: [2]"), "{:?}", hinted.rel);
}

#[test]
fn parameters_are_literals() {
    let bound = bind_with(
        "select a from t where a = ? and c = ? limit ?",
        &[Value::Int(3), Value::Text("x".into()), Value::Int(9)],
    );
    let text = print(&bound.unwrap());
    assert!(text.contains("filter t.a = 3, t.c = 'x'") && text.contains("limit 0, Some(9)"), "{text}");
    assert_eq!(bind_with("select ?", &[]).unwrap_err().code.number(), 1210);
    for limit in [Value::Null, Value::Int(-1), Value::Double(1.5)] {
        assert_eq!(bind_with("select a from t limit ?", &[limit]).unwrap_err().code.number(), 1210);
    }
}

#[test]
fn unknown_parameters_stand_anywhere() {
    let session = TestSession::default();
    let env = BindEnv { catalog: TestCatalog::shared(), session: &session, parameters: Parameters::Unknown };
    for sql in [
        "select a from t limit ?",
        "select a from t limit ?, ?",
        "select a from (select a from t order by a limit ? offset ?) x union select ? limit ?",
        "select c like ? escape ? from t where a between ? and ? and b in (?, ?)",
        "select date_add('2020-01-01', interval ? day_hour), round(a, ?), left(c, ?) from t order by ?",
    ] {
        let Statement::Query(query) = parse(sql).unwrap() else { panic!("{sql}") };
        let bound = bind_query(&query, &env).unwrap_or_else(|e| panic!("{sql}\n{e}"));
        check(&bound, sql);
    }
}

/// Where only types are known, a query is bound once for all values. What a value decides cannot be bound so.
#[test]
fn parameters_of_known_types_are_nodes() {
    let session = TestSession::default();
    let types = [SqlType::BIGINT, SqlType::varchar(20, muster_types::Collation::DEFAULT)];
    let env = BindEnv { catalog: TestCatalog::shared(), session: &session, parameters: Parameters::Types(&types) };
    let bind = |sql: &str| {
        let Statement::Query(query) = parse(sql).unwrap() else { panic!("{sql}") };
        bind_query(&query, &env)
    };
    let bound = bind("select a + ? from t where c = ?").unwrap();
    check(&bound, "parameters");
    let text = print(&bound);
    assert!(text.contains("add ?0") && text.contains("t.c = ?1"), "{text}");
    assert_eq!(bind("select ?, ?, ?").unwrap_err().code.number(), 1210);
    assert_eq!(bind("select a from t limit ?").unwrap_err().code.number(), 1235);
}

#[test]
fn deep_and_wide_statements_bind_on_a_small_stack() {
    let ands = format!("select 1 from t where a = 1{}", " and b = 1".repeat(5_000));
    let text = print(&bind(&ands));
    assert_eq!(text.matches("t.b = 1").count(), 5_000);
    bind(&format!("select a in (1{}) from t", ", 2".repeat(5_000)));
    bind(&format!("select 1{} from t", " + a".repeat(500)));
    bind(&format!("select {}a{} from t", "(".repeat(60), ")".repeat(60)));
    bind(&format!("select {}a{} from t", "abs(".repeat(30), ")".repeat(30)));
    bind(&format!("select 1{}", " union all select 1".repeat(500)));
    let mut nested = "select 1 as a".to_string();
    for _ in 0..20 {
        nested = format!("select a from ({nested}) x");
    }
    bind(&nested);
}

/// Texts that are nearly statements: nothing may panic, and what binds has to be sound.
#[test]
fn mutated_statements_never_panic() {
    let seeds = [
        "select t.a, sum(t.b) + 1 as s from t left join s using (id) where c like 'x%' and dt < '1995-01-01' group by t.a having s > 1 order by 1 limit 3",
        "with x (k) as (select 'é' union all select c from t) select * from x where k in (select name from s where s.a = 1)",
        "select /*+ BKA(t) */ case when a then 1.5 else -2 end, extract(year from dt), d * (1 - d) from t force index (kb)",
        "select (t.a, t.b) in ((1, 2), (3, ?)), substring(c from 1 for 2), date '1998-12-01' - interval '90' day from t, s",
        "create table z (a int unsigned not null, b decimal(10,2) default '1.5', primary key (a), key k (b desc)) engine=x",
        "load data local infile 'x' into table t fields terminated by '|' enclosed by '\"' lines terminated by '\\n' (a, @b)",
        "set @a = 1, session sql_mode = 'x' /*!40101 , names utf8mb4 */",
        "grant select, insert on db.* to 'a'@'%', b@localhost with grant option",
        "show full tables from db like 'a\\_%'",
    ];
    let pieces = [
        "'",
        "(",
        ")",
        ",",
        " select ",
        " from ",
        "é",
        "/*",
        "*/",
        "-",
        "`",
        "\\",
        " interval ",
        " 9",
        "@",
        ".",
        " in ",
        " as ",
        "?",
    ];
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % n as u64) as usize
    };
    let session = TestSession::default();
    let env =
        BindEnv { catalog: TestCatalog::shared(), session: &session, parameters: Parameters::Values(&[Value::Int(1)]) };
    for seed in seeds {
        if let Statement::Query(query) = parse(seed).unwrap_or_else(|e| panic!("{seed}: {e}")) {
            bind_query(&query, &env).unwrap_or_else(|e| panic!("{seed}: {e}"));
        }
    }
    let mut bound = 0;
    for _ in 0..4_000 {
        let mut chars: Vec<char> = seeds[next(seeds.len())].chars().collect();
        for _ in 0..1 + next(2) {
            let at = next(chars.len());
            match next(3) {
                0 => {
                    let end = (at + 1 + next(6)).min(chars.len());
                    chars.drain(at..end);
                }
                1 => chars.splice(at..at, pieces[next(pieces.len())].chars()).for_each(drop),
                _ => {
                    let end = (at + 1 + next(12)).min(chars.len());
                    let copy: Vec<char> = chars[at..end].to_vec();
                    let to = next(chars.len());
                    chars.splice(to..to, copy).for_each(drop);
                }
            }
        }
        let sql: String = chars.into_iter().collect();
        crate::split(&sql);
        if let Ok(Statement::Query(query)) = parse(&sql)
            && let Ok(b) = bind_query(&query, &env)
        {
            check(&b, &sql);
            bound += 1;
        }
    }
    assert!(bound > 20, "only {bound} bound");
}

#[test]
fn rows_of_show_are_filtered() {
    let session = TestSession::default();
    let env = BindEnv { catalog: TestCatalog::shared(), session: &session, parameters: Parameters::Values(&[]) };
    let columns = [("Variable_name", SqlType::varchar(64, Collation::SYSTEM)), ("Value", SqlType::BIGINT)];
    let filter = |sql: &str| match parse(sql).unwrap() {
        Statement::Show(crate::Show::Variables { filter, .. }) => filter,
        other => panic!("{other:?}"),
    };
    let rows = || vec![vec![Value::Text("a".into()), Value::Int(1)]];
    let show = |sql: &str| bind_rows(&columns, rows(), filter(sql).as_ref(), &env).map(|b| print(&b));
    assert_eq!(show("show variables").unwrap(), "values 1\n");
    assert_eq!(show("show variables like 'A%'").unwrap(), "filter `Variable_name` like 'A%'\n  values 1\n");
    assert_eq!(show("show variables where value > 1").unwrap(), "filter `Value` > 1\n  values 1\n");
    assert_eq!(show("show variables where nothing > 1").unwrap_err().code.number(), 1054);
    let constant = |sql: &str| bind_constant(&crate::parse_expression(sql).unwrap(), &env);
    assert_eq!(constant("1 + 2").unwrap().literal().unwrap().0, &Value::Int(3));
    assert!(constant("(select max(a) from t)").unwrap().literal().is_none());
    assert_eq!(constant("a").unwrap_err().code.number(), 1054);
}
