//! The functions with a typical call of each. The columns are those of `schema.sql`.

/// The aggregate that a statement makes of the values of a call, so that no server can leave them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// BIT_XOR of integers.
    Bits,
    /// BIT_XOR of the lengths of texts and byte strings.
    Length,
    /// MAX of decimals, doubles, dates and times.
    Greatest,
    /// The call is a whole statement.
    Whole,
}

/// A call of a function over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The function's name in upper case, or one of [`OPERATORS`].
    pub function: &'static str,
    pub sql: &'static str,
    pub fold: Fold,
    /// The result depends on the clock, the connection, the order of rows or a library's version.
    pub varies: bool,
    /// A regular expression.
    pub is_regular: bool,
}

const fn call(function: &'static str, sql: &'static str, fold: Fold) -> Call {
    Call { function, sql, fold, varies: false, is_regular: false }
}

const fn bits(function: &'static str, sql: &'static str) -> Call {
    call(function, sql, Fold::Bits)
}

const fn length(function: &'static str, sql: &'static str) -> Call {
    call(function, sql, Fold::Length)
}

const fn greatest(function: &'static str, sql: &'static str) -> Call {
    call(function, sql, Fold::Greatest)
}

const fn whole(function: &'static str, sql: &'static str) -> Call {
    call(function, sql, Fold::Whole)
}

impl Call {
    const fn varies(self) -> Call {
        Call { varies: true, ..self }
    }

    const fn regular(self) -> Call {
        Call { is_regular: true, ..self }
    }

    /// The statement over the table of arguments.
    pub fn statement(&self) -> String {
        let sql = self.sql;
        match self.fold {
            Fold::Bits => format!("SELECT BIT_XOR({sql}) FROM operands"),
            Fold::Length => format!("SELECT BIT_XOR(LENGTH({sql})) FROM operands"),
            Fold::Greatest => format!("SELECT MAX({sql}) FROM operands"),
            Fold::Whole => sql.to_owned(),
        }
    }

    /// How many times as fast as the second database the first is to be.
    pub fn target(&self) -> f64 {
        if self.is_regular { 5.0 } else { 3.0 }
    }
}

/// Names of calls that are no functions: a plain column, and operators.
pub const OPERATORS: &[&str] =
    &["column", "+", "/", "DIV", "BETWEEN", "IN", "LIKE", "RLIKE", "=", "CASE", "CAST", "CONVERT"];

/// Functions without a call, and why.
pub const NOT_MEASURED: &[(&str, &str)] = &[
    ("GET_LOCK", "each row would take a lock of the whole server"),
    ("LOAD_FILE", "reads a file of the server"),
    ("SLEEP", "waits"),
    ("VALUES", "has a value in ON DUPLICATE KEY UPDATE only"),
];

#[rustfmt::skip]
pub const CALLS: &[Call] = &[
    // Flow control and comparison.
    bits("IF", "IF(i > 0, i, b)"),
    bits("IFNULL", "IFNULL(i, b)"),
    bits("NULLIF", "NULLIF(i, 5)"),
    bits("COALESCE", "COALESCE(i, b, 0)"),
    bits("GREATEST", "GREATEST(i, b)"),
    greatest("LEAST", "LEAST(x, p)"),
    bits("INTERVAL", "INTERVAL(i, -1000, 0, 1000, 100000)"),
    bits("ISNULL", "ISNULL(i)"),
    // Numeric and bit functions.
    bits("ABS", "ABS(i)"),
    greatest("ABS", "ABS(n)"),
    greatest("ACOS", "ACOS(p)"),
    greatest("ASIN", "ASIN(p)"),
    greatest("ATAN", "ATAN(p)"),
    greatest("ATAN2", "ATAN2(x, p)"),
    bits("BIT_COUNT", "BIT_COUNT(b)"),
    greatest("CEIL", "CEIL(n)"),
    greatest("CEILING", "CEILING(x)"),
    length("CONV", "CONV(b, 10, 16)"),
    greatest("COS", "COS(x)"),
    greatest("COT", "COT(p + 1)"),
    bits("CRC32", "CRC32(a)"),
    greatest("DEGREES", "DEGREES(x)"),
    greatest("EXP", "EXP(p)"),
    greatest("FLOOR", "FLOOR(n)"),
    greatest("LN", "LN(p + 1)"),
    greatest("LOG", "LOG(p + 1)"),
    greatest("LOG10", "LOG10(id)"),
    greatest("LOG2", "LOG2(id)"),
    bits("MOD", "MOD(i, 7)"),
    greatest("PI", "PI() * x"),
    greatest("POW", "POW(x, 2)"),
    greatest("POWER", "POWER(p, 3)"),
    greatest("RADIANS", "RADIANS(x)"),
    greatest("RAND", "RAND(id)"),
    greatest("ROUND", "ROUND(n, 2)"),
    greatest("ROUND", "ROUND(x)"),
    bits("SIGN", "SIGN(i)"),
    greatest("SIN", "SIN(x)"),
    greatest("SQRT", "SQRT(id)"),
    greatest("TAN", "TAN(p)"),
    greatest("TRUNCATE", "TRUNCATE(n, 1)"),
    // Date and time functions.
    greatest("ADDDATE", "ADDDATE(d, 31)"),
    greatest("ADDTIME", "ADDTIME(dt, '1:10:00')"),
    greatest("CONVERT_TZ", "CONVERT_TZ(dt, '+00:00', '+05:30')"),
    bits("CURDATE", "CURDATE() > d").varies(),
    bits("CURRENT_DATE", "CURRENT_DATE() > d").varies(),
    bits("CURRENT_TIME", "CURRENT_TIME() > t").varies(),
    bits("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP() > dt").varies(),
    bits("CURTIME", "CURTIME() > t").varies(),
    greatest("DATE", "DATE(dt)"),
    greatest("DATE_ADD", "DATE_ADD(dt, INTERVAL 90 MINUTE)"),
    length("DATE_FORMAT", "DATE_FORMAT(dt, '%Y-%m-%d %H:%i')"),
    length("DATE_FORMAT", "DATE_FORMAT(d, '%W %M %Y')"),
    greatest("DATE_SUB", "DATE_SUB(d, INTERVAL 1 MONTH)"),
    bits("DATEDIFF", "DATEDIFF(dt, d)"),
    bits("DAY", "DAY(d)"),
    length("DAYNAME", "DAYNAME(d)"),
    bits("DAYOFMONTH", "DAYOFMONTH(d)"),
    bits("DAYOFWEEK", "DAYOFWEEK(d)"),
    bits("DAYOFYEAR", "DAYOFYEAR(d)"),
    bits("EXTRACT", "EXTRACT(YEAR_MONTH FROM dt)"),
    greatest("FROM_DAYS", "FROM_DAYS(730000 + id % 10000)"),
    greatest("FROM_UNIXTIME", "FROM_UNIXTIME(id * 1000)"),
    length("GET_FORMAT", "DATE_FORMAT(d, GET_FORMAT(DATE, 'USA'))"),
    bits("HOUR", "HOUR(t)"),
    greatest("LAST_DAY", "LAST_DAY(d)"),
    bits("LOCALTIME", "LOCALTIME() > dt").varies(),
    bits("LOCALTIMESTAMP", "LOCALTIMESTAMP() > dt").varies(),
    greatest("MAKEDATE", "MAKEDATE(2001, id % 366)"),
    greatest("MAKETIME", "MAKETIME(id % 24, id % 60, id % 60)"),
    bits("MICROSECOND", "MICROSECOND(dt)"),
    bits("MINUTE", "MINUTE(t)"),
    bits("MONTH", "MONTH(d)"),
    length("MONTHNAME", "MONTHNAME(d)"),
    bits("NOW", "NOW() > dt").varies(),
    bits("PERIOD_ADD", "PERIOD_ADD(202001, id % 100)"),
    bits("PERIOD_DIFF", "PERIOD_DIFF(202001 + id % 12, 199912)"),
    bits("QUARTER", "QUARTER(d)"),
    greatest("SEC_TO_TIME", "SEC_TO_TIME(i)"),
    bits("SECOND", "SECOND(t)"),
    greatest("STR_TO_DATE", "STR_TO_DATE(moment, '%Y-%m-%d %H:%i:%s')"),
    greatest("SUBDATE", "SUBDATE(d, 31)"),
    greatest("SUBTIME", "SUBTIME(dt, '0:10:00')"),
    bits("SYSDATE", "SYSDATE() > dt").varies(),
    greatest("TIME", "TIME(dt)"),
    length("TIME_FORMAT", "TIME_FORMAT(t, '%H:%i')"),
    bits("TIME_TO_SEC", "TIME_TO_SEC(t)"),
    greatest("TIMEDIFF", "TIMEDIFF(t, '01:00:00')"),
    greatest("TIMESTAMP", "TIMESTAMP(d)"),
    greatest("TIMESTAMPADD", "TIMESTAMPADD(HOUR, 5, dt)"),
    bits("TIMESTAMPDIFF", "TIMESTAMPDIFF(DAY, dt, d)"),
    bits("TO_DAYS", "TO_DAYS(d)"),
    bits("TO_SECONDS", "TO_SECONDS(dt)"),
    bits("UNIX_TIMESTAMP", "UNIX_TIMESTAMP(dt)"),
    bits("UTC_DATE", "UTC_DATE() > d").varies(),
    bits("UTC_TIME", "UTC_TIME() > t").varies(),
    bits("UTC_TIMESTAMP", "UTC_TIMESTAMP() > dt").varies(),
    bits("WEEK", "WEEK(d, 3)"),
    bits("WEEKDAY", "WEEKDAY(d)"),
    bits("WEEKOFYEAR", "WEEKOFYEAR(d)"),
    bits("YEAR", "YEAR(d)"),
    bits("YEARWEEK", "YEARWEEK(d)"),
    // String functions.
    bits("ASCII", "ASCII(a)"),
    length("BIN", "BIN(i)"),
    bits("BIT_LENGTH", "BIT_LENGTH(a)"),
    length("CHAR", "CHAR(65 + id % 26, 66)"),
    bits("CHAR_LENGTH", "CHAR_LENGTH(s)"),
    bits("CHARACTER_LENGTH", "CHARACTER_LENGTH(a)"),
    length("CONCAT", "CONCAT(a, '-', i)"),
    length("CONCAT", "CONCAT(a, s)"),
    length("CONCAT_WS", "CONCAT_WS(',', a, s)"),
    length("ELT", "ELT(id % 3 + 1, a, s, 'x')"),
    length("EXPORT_SET", "EXPORT_SET(id % 256, 'Y', 'N', ',', 8)"),
    bits("FIELD", "FIELD(g, 1, 2, 3)"),
    bits("FIND_IN_SET", "FIND_IN_SET('fox', list)"),
    length("FORMAT", "FORMAT(n, 2)"),
    length("FROM_BASE64", "FROM_BASE64(TO_BASE64(a))"),
    length("HEX", "HEX(a)"),
    length("HEX", "HEX(b)"),
    length("INSERT", "INSERT(a, 3, 2, 'xyz')"),
    bits("INSTR", "INSTR(a, 'fox')"),
    length("LCASE", "LCASE(s)"),
    length("LEFT", "LEFT(s, 5)"),
    bits("LENGTH", "LENGTH(s)"),
    bits("LOCATE", "LOCATE('or', a)"),
    bits("LOCATE", "LOCATE('русский', s)"),
    length("LOWER", "LOWER(a)"),
    length("LPAD", "LPAD(a, 60, '*')"),
    length("LTRIM", "LTRIM(a)"),
    length("MAKE_SET", "MAKE_SET(id % 8, 'a', 'b', a)"),
    length("MID", "MID(s, 3, 4)"),
    length("OCT", "OCT(i)"),
    bits("OCTET_LENGTH", "OCTET_LENGTH(a)"),
    bits("ORD", "ORD(s)"),
    bits("POSITION", "POSITION('or' IN s)"),
    length("QUOTE", "QUOTE(a)"),
    bits("REGEXP_INSTR", "REGEXP_INSTR(a, 'f[aeiou]x')").regular(),
    bits("REGEXP_LIKE", "REGEXP_LIKE(a, '^[A-Z].*[0-9]$', 'c')").regular(),
    bits("REGEXP_LIKE", "REGEXP_LIKE(s, 'größe|ñ')").regular(),
    length("REGEXP_REPLACE", "REGEXP_REPLACE(a, '[aeiou]+', '*')").regular(),
    length("REGEXP_SUBSTR", "REGEXP_SUBSTR(a, '[0-9]+')").regular(),
    length("REPEAT", "REPEAT(a, 3)"),
    length("REPLACE", "REPLACE(a, 'e', 'ee')"),
    length("REVERSE", "REVERSE(s)"),
    length("RIGHT", "RIGHT(s, 5)"),
    length("RPAD", "RPAD(s, 60, '*')"),
    length("RTRIM", "RTRIM(a)"),
    length("SOUNDEX", "SOUNDEX(a)"),
    length("SPACE", "SPACE(id % 20)"),
    bits("STRCMP", "STRCMP(a, s)"),
    length("SUBSTR", "SUBSTR(a, 3, 5)"),
    length("SUBSTRING", "SUBSTRING(s, g)"),
    length("SUBSTRING_INDEX", "SUBSTRING_INDEX(a, ' ', 2)"),
    length("TO_BASE64", "TO_BASE64(a)"),
    length("TRIM", "TRIM(BOTH 'B' FROM a)"),
    length("UCASE", "UCASE(a)"),
    length("UNHEX", "UNHEX(HEX(a))"),
    length("UPPER", "UPPER(a)"),
    length("UPPER", "UPPER(s)"),
    length("WEIGHT_STRING", "WEIGHT_STRING(a)"),
    // Encryption and compression functions.
    length("AES_DECRYPT", "AES_DECRYPT(AES_ENCRYPT(a, 'key'), 'key')"),
    length("AES_ENCRYPT", "AES_ENCRYPT(a, 'key')"),
    length("COMPRESS", "COMPRESS(a)").varies(),
    length("MD5", "MD5(a)"),
    length("RANDOM_BYTES", "RANDOM_BYTES(16)"),
    length("SHA", "SHA(a)"),
    length("SHA1", "SHA1(a)"),
    length("SHA2", "SHA2(a, 256)"),
    length("STATEMENT_DIGEST", "STATEMENT_DIGEST(CONCAT('SELECT ', id, ' FROM t'))"),
    length("STATEMENT_DIGEST_TEXT", "STATEMENT_DIGEST_TEXT(CONCAT('SELECT ', id, ' FROM t'))"),
    length("UNCOMPRESS", "UNCOMPRESS(COMPRESS(a))"),
    bits("UNCOMPRESSED_LENGTH", "UNCOMPRESSED_LENGTH(COMPRESS(a))"),
    // XML functions.
    length("EXTRACTVALUE", "EXTRACTVALUE(CONCAT('<a><b>', id, '</b></a>'), '/a/b')"),
    length("UPDATEXML", "UPDATEXML(CONCAT('<a><b>', id, '</b></a>'), '/a/b', '<c/>')"),
    // Locking functions.
    bits("IS_FREE_LOCK", "IS_FREE_LOCK(id)"),
    bits("IS_USED_LOCK", "IS_USED_LOCK(id)"),
    bits("RELEASE_ALL_LOCKS", "RELEASE_ALL_LOCKS() + id"),
    bits("RELEASE_LOCK", "RELEASE_LOCK(id)"),
    // Information functions.
    whole("BENCHMARK", "SELECT BENCHMARK(1000000, MD5('a'))"),
    length("CHARSET", "CONCAT(a, CHARSET(a))"),
    bits("COERCIBILITY", "COERCIBILITY(a) + i"),
    length("COLLATION", "CONCAT(a, COLLATION(a))"),
    bits("CONNECTION_ID", "CONNECTION_ID() + id").varies(),
    length("CURRENT_ROLE", "CONCAT(a, CURRENT_ROLE())"),
    length("CURRENT_USER", "CONCAT(a, CURRENT_USER())").varies(),
    length("DATABASE", "CONCAT(a, DATABASE())").varies(),
    bits("FOUND_ROWS", "FOUND_ROWS() + i").varies(),
    length("ICU_VERSION", "CONCAT(a, ICU_VERSION())").varies(),
    bits("LAST_INSERT_ID", "LAST_INSERT_ID() + id").varies(),
    length("ROLES_GRAPHML", "CONCAT(a, ROLES_GRAPHML())").varies(),
    bits("ROW_COUNT", "ROW_COUNT() + i").varies(),
    length("SCHEMA", "CONCAT(a, SCHEMA())").varies(),
    length("SESSION_USER", "CONCAT(a, SESSION_USER())").varies(),
    length("SYSTEM_USER", "CONCAT(a, SYSTEM_USER())").varies(),
    length("USER", "CONCAT(a, USER())").varies(),
    length("VERSION", "CONCAT(a, VERSION())").varies(),
    // Performance Schema functions.
    length("FORMAT_BYTES", "FORMAT_BYTES(b)"),
    length("FORMAT_PICO_TIME", "FORMAT_PICO_TIME(b)"),
    bits("PS_CURRENT_THREAD_ID", "PS_CURRENT_THREAD_ID() + id").varies(),
    bits("PS_THREAD_ID", "PS_THREAD_ID(id)").varies(),
    // Miscellaneous functions.
    length("BIN_TO_UUID", "BIN_TO_UUID(UUID_TO_BIN(uuid))"),
    bits("DEFAULT", "DEFAULT(g) + i"),
    bits("INET_ATON", "INET_ATON(ip)"),
    length("INET_NTOA", "INET_NTOA(id * 1000)"),
    length("INET6_ATON", "INET6_ATON(ip)"),
    length("INET6_NTOA", "INET6_NTOA(INET6_ATON(ip))"),
    bits("IS_IPV4", "IS_IPV4(ip)"),
    bits("IS_IPV4_COMPAT", "IS_IPV4_COMPAT(INET6_ATON(ip))"),
    bits("IS_IPV4_MAPPED", "IS_IPV4_MAPPED(INET6_ATON(ip))"),
    bits("IS_IPV6", "IS_IPV6(ip)"),
    bits("IS_UUID", "IS_UUID(uuid)"),
    bits("NAME_CONST", "NAME_CONST('m', 5) + i"),
    length("UUID", "UUID()"),
    bits("UUID_SHORT", "UUID_SHORT()").varies(),
    length("UUID_TO_BIN", "UUID_TO_BIN(uuid)"),
    // Aggregate functions.
    whole("ANY_VALUE", "SELECT g, ANY_VALUE(g) FROM operands GROUP BY g"),
    whole("AVG", "SELECT AVG(i), AVG(n) FROM operands"),
    whole("AVG", "SELECT AVG(x) FROM operands"),
    whole("BIT_AND", "SELECT BIT_AND(b) FROM operands"),
    whole("BIT_OR", "SELECT BIT_OR(b) FROM operands"),
    whole("BIT_XOR", "SELECT BIT_XOR(b) FROM operands"),
    whole("COUNT", "SELECT COUNT(i) FROM operands"),
    whole("COUNT", "SELECT COUNT(DISTINCT g) FROM operands"),
    whole("GROUP_CONCAT", "SELECT BIT_XOR(l) FROM (SELECT LENGTH(GROUP_CONCAT(i)) AS l FROM operands GROUP BY id DIV 100) q"),
    whole("GROUPING", "SELECT g, GROUPING(g) FROM operands GROUP BY g WITH ROLLUP"),
    whole("JSON_ARRAYAGG", "SELECT BIT_XOR(l) FROM (SELECT LENGTH(JSON_ARRAYAGG(i)) AS l FROM operands GROUP BY id DIV 100) q"),
    whole("JSON_OBJECTAGG", "SELECT BIT_XOR(l) FROM (SELECT LENGTH(JSON_OBJECTAGG(id, i)) AS l FROM operands GROUP BY id DIV 100) q"),
    whole("MAX", "SELECT MAX(b) FROM operands"),
    whole("MAX", "SELECT MAX(a) FROM operands"),
    whole("MIN", "SELECT MIN(d) FROM operands"),
    whole("MIN", "SELECT MIN(s) FROM operands"),
    whole("STD", "SELECT STD(x) FROM operands").varies(),
    whole("STDDEV", "SELECT STDDEV(x) FROM operands").varies(),
    whole("STDDEV_POP", "SELECT STDDEV_POP(x) FROM operands").varies(),
    whole("STDDEV_SAMP", "SELECT STDDEV_SAMP(x) FROM operands").varies(),
    whole("SUM", "SELECT SUM(i) FROM operands"),
    whole("SUM", "SELECT SUM(n) FROM operands"),
    whole("SUM", "SELECT SUM(x) FROM operands"),
    whole("VAR_POP", "SELECT VAR_POP(x) FROM operands").varies(),
    whole("VAR_SAMP", "SELECT VAR_SAMP(x) FROM operands").varies(),
    whole("VARIANCE", "SELECT VARIANCE(x) FROM operands").varies(),
    // Operators.
    bits("column", "i"),
    length("column", "a"),
    bits("+", "i + b"),
    greatest("/", "n / 7"),
    bits("DIV", "b DIV 7"),
    bits("BETWEEN", "i BETWEEN 1000 AND 5000"),
    bits("IN", "a IN ('fox', 'dog', 'the quick brown')"),
    bits("LIKE", "a LIKE '%fox%dog%'"),
    bits("LIKE", "s LIKE '%größe%'"),
    bits("RLIKE", "a RLIKE 'fox.*dog'").regular(),
    bits("=", "a = 'the quick'"),
    length("CASE", "CASE WHEN i > 5000 THEN a WHEN i > 0 THEN s ELSE 'x' END"),
    length("CAST", "CAST(i AS CHAR)"),
    length("CAST", "CAST(n AS CHAR)"),
    length("CAST", "CAST(x AS CHAR)"),
    length("CAST", "CAST(dt AS CHAR)"),
    greatest("CAST", "CAST(moment AS DATETIME)"),
    bits("CAST", "CAST(CONCAT(i) AS SIGNED)"),
    greatest("CAST", "CAST(x AS DECIMAL(20,3))"),
    length("CONVERT", "CONVERT(s USING latin1)"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The functions that `docs/sql.md` lists as there; a test of the binder keeps that list equal to the code.
    fn listed() -> BTreeSet<&'static str> {
        let document = include_str!("../../../../docs/sql.md");
        let table = document
            .split_once("<!-- functions: begin -->")
            .and_then(|(_, rest)| rest.split_once("<!-- functions: end -->"));
        let rows = table.expect("the table is there").0.lines().filter(|line| line.starts_with("| "));
        let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
        let wanted = cells.filter(|cells| matches!(cells[2], "" | "aggregate"));
        wanted
            .flat_map(|cells| cells[3].split(", "))
            .map(|name| name.trim_matches('`'))
            .filter(|n| !n.is_empty())
            .collect()
    }

    #[test]
    fn every_function_has_a_call() {
        let measured: BTreeSet<&str> = CALLS.iter().map(|call| call.function).collect();
        let without: BTreeSet<&str> = NOT_MEASURED.iter().map(|(name, _)| *name).collect();
        let listed = listed();
        assert!(listed.len() > 200, "{listed:?}");
        let missing: Vec<_> =
            listed.iter().filter(|name| !measured.contains(*name) && !without.contains(*name)).collect();
        assert!(missing.is_empty(), "no call of {missing:?}");
        let known = |name: &&str| listed.contains(name) || OPERATORS.contains(name);
        let others: Vec<_> = measured.iter().chain(&without).filter(|name| !known(name)).collect();
        assert!(others.is_empty(), "{others:?} are no functions of the list");
        assert!(measured.is_disjoint(&without));
    }

    #[test]
    fn calls_name_their_functions() {
        for call in CALLS.iter().filter(|call| !OPERATORS.contains(&call.function)) {
            assert!(call.sql.contains(&format!("{}(", call.function)), "{}", call.sql);
        }
    }
}
