//! Types and forms of expressions over the columns of `t`.

use super::*;
use print::expr;

/// The form of `select e from t`.
fn form(e: &str) -> String {
    let bound = bind(&format!("select {e} from t"));
    match &bound.rel {
        Rel::Project { exprs, .. } => expr(&exprs[0].1, &bound.columns),
        other => panic!("{e}: {other:?}"),
    }
}

fn ty(e: &str) -> String {
    let bound = bind(&format!("select {e} from t"));
    bound.columns.ty(bound.outputs[0].0).to_string()
}

#[test]
fn types_of_expressions() {
    for (e, want) in [
        ("a + 1", "bigint"),
        ("a + big", "bigint unsigned"),
        ("a / 2", "decimal(14,4)"),
        ("d * d", "decimal(20,4)"),
        ("d - 1", "decimal(11,2)"),
        ("d / 3", "decimal(14,6)"),
        ("a div 2", "bigint"),
        ("a % 2", "bigint"),
        ("x + 1", "double"),
        ("c + 1", "double"),
        ("1.5", "decimal(2,1)"),
        ("1e3", "double"),
        ("'abc'", "varchar(3)"),
        ("0x41", "varbinary(1)"),
        ("-9223372036854775808", "bigint"),
        ("18446744073709551615", "bigint unsigned"),
        ("dt + interval 1 day", "date"),
        ("dt + interval 1 hour", "datetime"),
        ("dtm + interval 1 microsecond", "datetime(6)"),
        ("interval 1 day + dt", "date"),
        ("date_sub(ts, interval 1 month)", "datetime(3)"),
        ("extract(year from dt)", "bigint"),
        ("case when a then 1 else 2.5 end", "decimal(2,1)"),
        ("if(a, dt, dtm)", "datetime"),
        ("ifnull(b, 0)", "bigint"),
        ("coalesce(d, 1.234)", "decimal(11,3)"),
        ("coalesce(c, a)", "varchar(20)"),
        ("nullif(a, 1)", "int"),
        ("greatest(a, b)", "int"),
        ("concat(c, 'xy')", "varchar(22)"),
        ("substring(c, 2, 3)", "varchar(3)"),
        ("upper(c)", "varchar(20)"),
        ("round(d, 1)", "decimal(10,1)"),
        ("round(d)", "decimal(9,0)"),
        ("floor(d)", "bigint"),
        ("abs(d)", "decimal(10,2)"),
        ("sqrt(a)", "double"),
        ("cast(a as decimal(5,1))", "decimal(5,1)"),
        ("cast(c as signed)", "bigint"),
        ("cast(a as char(3))", "varchar(3)"),
        ("convert(d, unsigned)", "bigint unsigned"),
        ("cast(c as datetime(2))", "datetime(2)"),
        ("binary c", "varbinary(80)"),
        ("a & 1", "bigint unsigned"),
        ("a = 1", "tinyint(1)"),
        ("now(3)", "datetime(3)"),
        ("curdate()", "date"),
        ("char_length(c)", "bigint"),
        ("@@max_allowed_packet", "bigint"),
        ("database()", "varchar(4)"),
        ("true", "bigint"),
        ("mod(d, 3)", "decimal(10,2)"),
        ("date_add('1993-08-01', interval 3 month)", "char(29)"),
    ] {
        assert_eq!(ty(e), want, "{e}");
    }
}

#[test]
fn comparisons_convert_the_constant() {
    for (e, want) in [
        ("a = 5", "t.a = 5"),
        ("a = 5.0", "t.a = 5"),
        ("a = 5.5", "cast(t.a as decimal(11,1)) = 5.5"),
        ("a = '7'", "t.a = 7"),
        ("a = '7x'", "cast(t.a as double) = 7"),
        ("a = 3000000000", "cast(t.a as bigint) = 3000000000"),
        ("d < 24", "t.d < 24.00"),
        ("d < 0.055", "cast(t.d as decimal(11,3)) < 0.055"),
        ("x > 1", "cast(1 as double)"),
        ("c = 5", "cast(t.c as double) = 5"),
        ("dt < '1995-03-15'", "t.dt < DATE'1995-03-15'"),
        ("dt < date '1998-12-01' - interval '90' day", "t.dt < DATE'1998-09-02'"),
        ("dt < date_add('1993-08-01', interval '3' month)", "t.dt < DATE'1993-11-01'"),
        ("dt < '1995-03-15 12:00:00'", "cast(t.dt as datetime(6)) < TIMESTAMP'1995-03-15 12:00:00.000000'"),
        ("dtm >= dt", "t.dtm >= cast(t.dt as datetime)"),
        ("ts = '2020-01-01 00:00:00.5'", "t.ts = TIMESTAMP'2020-01-01 00:00:00.500000'"),
        ("tm = '10:00'", "t.tm = TIME'10:00:00.000000'"),
        ("c = l", "t.c = cast(t.l as varchar(20))"),
        ("l = 'x'", "t.l = 'x'"),
        ("a = abs(-5)", "t.a = 5"),
        ("dt <= last_day('1995-02-01')", "t.dt <= DATE'1995-02-28'"),
        ("c = upper('x')", "t.c = 'X'"),
        ("d < 10 / 4", "t.d < 2.50"),
        ("b is null", "t.b is null"),
        ("b is not unknown", "t.b is not null"),
        ("b is not true", "cast(t.b as tinyint(1)) is not true"),
        ("u = 300", "cast(t.u as bigint) = 300"),
        ("big = a", "cast(t.big as decimal(20,0)) = cast(t.a as decimal(20,0))"),
        ("(a = b) = 1", "t.a = t.b = 1"),
        ("a in (1, 2.0, '3')", "t.a in (1, 2, 3)"),
        ("a in (1, 2.5)", "(t.a = 1 or cast(t.a as decimal(11,1)) = 2.5)"),
        ("a not in (1, 2)", "t.a not in (1, 2)"),
        ("a between 1 and 2", "(t.a >= 1 and t.a <= 2)"),
        ("a not between 1 and 2", "(t.a < 1 or t.a > 2)"),
        ("(a, b) = (1, 2)", "(t.a = 1 and t.b = 2)"),
        ("(a, b) < (1, 2)", "(t.a < 1 or (t.a = 1 and t.b < 2))"),
        ("(a, b) in ((1, 2), (3, 4))", "((t.a = 1 and t.b = 2) or (t.a = 3 and t.b = 4))"),
        ("c like 'a%'", "t.c like 'a%'"),
        ("c not like 'a%'", "t.c not like 'a%'"),
        ("a = null", "t.a = NULL"),
        ("a <=> null", "t.a <=> NULL"),
        ("not (a = 1)", "not(t.a = 1)"),
        ("! a", "not(cast(t.a as tinyint(1)))"),
        ("a || b", "(cast(t.a as tinyint(1)) or cast(t.b as tinyint(1)))"),
        ("a and (b and 1)", "(cast(t.a as tinyint(1)) and cast(t.b as tinyint(1)) and 1)"),
        ("v = 'x'", "t.v = 0x78"),
    ] {
        let got = form(e);
        if e == "x > 1" {
            assert!(["t.x > 1", "t.x > cast(1 as double)"].contains(&got.as_str()), "{got}");
        } else {
            assert_eq!(got, want, "{e}");
        }
    }
}

#[test]
fn functions_become_nodes() {
    for (e, want) in [
        ("substring(c from 1 for 2)", "substring(t.c, 1, 2)"),
        ("trim(both 'x' from c)", "trim(t.c, 'x')"),
        ("position('x' in c)", "locate('x', t.c)"),
        ("instr(c, 'x')", "locate('x', t.c)"),
        ("year(dt)", "extract(year)(t.dt)"),
        ("if(a > 1, 2, 3)", "case when t.a > 1 then 2 else 3 end"),
        ("case a when 1 then 'x' end", "case when t.a = 1 then 'x' end"),
        ("-a", "-cast(t.a as bigint)"),
        ("-(5)", "-5"),
        ("1 + 10", "11"),
        ("0.06 - 0.01", "0.05"),
        ("@five + 1", "6"),
        ("now()", "TIMESTAMP'2026-11-21 12:34:56.000000'"),
        ("current_date", "DATE'2026-11-21'"),
        ("user()", "'root@localhost'"),
        ("dt + interval 1 month", "dateadd(month)(t.dt, 1)"),
        ("dt - interval a day", "datesub(day)(t.dt, cast(t.a as bigint))"),
        ("date '2000-01-01' + interval '1:30' minute_second", "TIMESTAMP'2000-01-01 00:01:30.000000'"),
        ("date '2000-01-31' + interval '1-1' year_month", "DATE'2001-02-28'"),
        // With a fraction of a second it is an integer in another way than a literal.
        (
            "timestamp '2000-01-01 00:00:00' + interval 1.5 second",
            "dateadd(second)(timestamp'2000-01-01 00:00:00.000000', 1.5)",
        ),
        ("_latin1'x'", "'x'"),
        ("b'101'", "0x05"),
        ("0b101 + 0", "5"),
        ("x'41' + 0", "65"),
        ("date(dtm)", "cast(t.dtm as date)"),
        ("mod(a, 3)", "(cast(t.a as bigint) mod 3)"),
        ("a << 2", "shiftleft(cast(t.a as bigint unsigned), 2)"),
        ("nullif(a, 0)", "case when t.a = 0 then NULL else t.a end"),
    ] {
        assert_eq!(form(e), want, "{e}");
    }
}

/// A call of every function that is known by name, with arguments it takes.
const FUNCTIONS: &[&str] = &[
    "concat(c, a, dt)",
    "concat_ws('-', c, l)",
    "upper(c)",
    "lcase(c)",
    "reverse(c)",
    "char_length(c)",
    "ascii(c)",
    "sqrt(d)",
    "pow(a, 2)",
    "exp(1)",
    "ln(x)",
    "log(2, x)",
    "log(x)",
    "log10(x)",
    "log2(x)",
    "sin(x)",
    "cos(x)",
    "tan(x)",
    "dayofweek(dt)",
    "weekday(dt)",
    "dayofyear(dt)",
    "year(dt)",
    "month('2000-01-01')",
    "dayofmonth(dtm)",
    "hour(tm)",
    "minute('10:20:30')",
    "second(dtm)",
    "microsecond(ts)",
    "quarter(dt)",
    "week(dt)",
    "if(a, b, c)",
    "ifnull(a, c)",
    "nullif(c, l)",
    "coalesce(null, a)",
    "greatest(a, d, x)",
    "least(dt, dtm)",
    "mod(a, b)",
    "strcmp(c, 'x')",
    "datediff(dt, '2000-01-01')",
    "left(c, 2)",
    "right(c, 2)",
    "repeat(c, 3)",
    "instr(c, 'x')",
    "date_format(dt, '%Y-%m')",
    "adddate(dt, 5)",
    "subdate(dt, interval 1 week)",
    "substr(c, -2)",
    "mid(c, 1, 2)",
    "lpad(c, 10, ' ')",
    "rpad(a, 10, 'x')",
    "replace(c, 'a', 'bb')",
    "timestampadd(month, 1, dt)",
    "locate('x', c)",
    "locate('x', c, 2)",
    "round(d, 1)",
    "round(x)",
    "truncate(d, 1)",
    "abs(-a)",
    "sign(d)",
    "ceil(d)",
    "ceiling(x)",
    "floor(a)",
    "isnull(b)",
    "length(c)",
    "octet_length(v)",
    "bit_length(c)",
    "hex(a)",
    "hex(c)",
    "trim(c)",
    "ltrim(c)",
    "trim(leading '0' from c)",
    "date(dtm)",
    "time(dtm)",
    "timestamp(dt)",
    "last_day(dt)",
    "space(3)",
    "weight_string(c)",
    "sleep(0)",
    "charset(c)",
    "collation(l)",
    "now(6)",
    "utc_timestamp()",
    "curtime(3)",
    "unix_timestamp()",
    "schema()",
    "session_user()",
    "current_user()",
    "connection_id()",
    "last_insert_id()",
    "found_rows()",
    "row_count()",
    "pi()",
    "version()",
    "localtime",
    "utc_date",
];

const AGGREGATES: &[&str] = &[
    "count(*)",
    "count(distinct a, c)",
    "sum(distinct d)",
    "avg(c)",
    "min(dt)",
    "max(c)",
    "any_value(a)",
    "group_concat(a, c)",
    "std(a)",
    "stddev_samp(d)",
    "var_pop(x)",
    "variance(a)",
    "bit_and(a)",
    "bit_or(c)",
    "bit_xor(d)",
    "sum(a > 1)",
    "sum(tm)",
];

#[test]
fn functions_of_all_names_bind() {
    for e in FUNCTIONS.iter().chain(AGGREGATES) {
        bind(&format!("select {e} from t"));
    }
}

#[test]
fn collations_of_results() {
    let collation = |e: &str| {
        let bound = bind(&format!("select {e} from t"));
        bound.columns.ty(bound.outputs[0].0).collation().map(Collation::name)
    };
    for (e, want) in [
        ("concat(l, 'x')", "latin1_swedish_ci"),
        ("concat(c, l)", "utf8mb4_0900_ai_ci"),
        ("c collate utf8mb4_bin", "utf8mb4_bin"),
        ("convert(c using latin1)", "latin1_swedish_ci"),
        ("cast(a as char character set latin1)", "latin1_swedish_ci"),
        ("upper(g)", "utf8mb4_general_ci"),
    ] {
        assert_eq!(collation(e), Some(want), "{e}");
    }
    assert_eq!(catalog::column_type("l").collation(), Some(Collation::Latin1SwedishCi));
}
