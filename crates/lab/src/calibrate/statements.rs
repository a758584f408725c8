//! The statements that are timed. Each has one kind of work more than another one, or much more of it, so that all
//! together tell the constants apart.

/// A statement and the words that its plan must have. A plan that lacks one is another one's, and is not timed.
pub struct Statement {
    pub name: &'static str,
    /// Words after SELECT are hints as far as they are in a comment.
    pub sql: &'static str,
    /// What `optimizer_switch` is set to.
    pub switches: &'static str,
    pub operators: &'static [&'static str],
}

const NO_SWITCH: &str = "";
const ONE_BY_ONE: &str = "hash_join=off,merge_join=off,mrr_cost_based=off,mrr=off,batched_key_access=off";
const BATCHES: &str = "hash_join=off,merge_join=off,mrr_cost_based=off";

const fn plain(name: &'static str, sql: &'static str, operators: &'static [&'static str]) -> Statement {
    Statement { name, sql, switches: NO_SWITCH, operators }
}

/// The first one is next to no work: it is what every statement takes besides.
pub const STATEMENTS: &[Statement] = &[
    plain("nothing", "SELECT COUNT(a) FROM few WHERE id = 1", &[]),
    plain("one column", "SELECT COUNT(a) FROM many", &["Aggregate"]),
    plain("six columns", "SELECT COUNT(a), COUNT(b), COUNT(c), COUNT(d), COUNT(e), COUNT(f) FROM many", &["Aggregate"]),
    plain("six aggregates", "SELECT COUNT(a), SUM(a), MIN(a), MAX(a), AVG(a), BIT_XOR(a) FROM many", &["Aggregate"]),
    plain(
        "five conditions",
        "SELECT COUNT(a) FROM many WHERE a <= b AND a <= c AND a <= d AND a <= e AND a <= f",
        &["Aggregate"],
    ),
    plain("entries of an index", "SELECT COUNT(q) FROM many FORCE INDEX (kq)", &["kq"]),
    plain("ordered groups", "SELECT q, COUNT(*) FROM many FORCE INDEX (kq) GROUP BY q", &["Group aggregate", "kq"]),
    plain("few groups", "SELECT g, COUNT(*), SUM(a) FROM many IGNORE INDEX (kq, kr) GROUP BY g", &["using hash"]),
    plain("many groups", "SELECT r, COUNT(*) FROM many IGNORE INDEX (kq, kr) GROUP BY r", &["using hash"]),
    plain("sort", "SELECT r FROM many IGNORE INDEX (kq, kr) ORDER BY r", &["Sort"]),
    plain("sort of few", "SELECT r FROM some IGNORE INDEX (kr) ORDER BY r", &["Sort"]),
    plain("rows by an index", "SELECT SUM(a) FROM many FORCE INDEX (kr) WHERE r < 20000", &["kr"]),
    plain("fewer rows by an index", "SELECT SUM(a) FROM many FORCE INDEX (kr) WHERE r < 2000", &["kr"]),
    Statement {
        name: "neighbouring keys",
        sql: "SELECT /*+ JOIN_ORDER(s, m) */ COUNT(m.a) FROM some s JOIN many m ON m.id = s.dense",
        switches: BATCHES,
        operators: &["m using PRIMARY"],
    },
    Statement {
        name: "scattered keys",
        sql: "SELECT /*+ JOIN_ORDER(s, m) */ COUNT(m.a) FROM some s JOIN many m ON m.id = s.sparse",
        switches: BATCHES,
        operators: &["m using PRIMARY"],
    },
    Statement {
        name: "entries behind keys",
        sql: "SELECT /*+ JOIN_ORDER(s, m) */ COUNT(m.q) FROM few s JOIN many m FORCE INDEX (kq) ON m.q = s.id",
        switches: BATCHES,
        operators: &["m using kq"],
    },
    Statement {
        name: "keys one by one",
        sql: "SELECT /*+ JOIN_ORDER(s, m) */ COUNT(m.a) FROM some s JOIN many m ON m.id = s.sparse",
        switches: ONE_BY_ONE,
        operators: &["m using PRIMARY"],
    },
    plain(
        "hash join with few rows",
        "SELECT /*+ BNL(m, s) */ COUNT(m.a) FROM few s JOIN many m ON m.b = s.negative",
        &["hash join"],
    ),
    plain(
        "hash join with many rows",
        "SELECT /*+ BNL(m, n) */ COUNT(m.a) FROM many n JOIN many m ON m.b = n.negative",
        &["hash join"],
    ),
    plain(
        "hash join of all rows",
        "SELECT /*+ BNL(m, n) */ COUNT(m.a) FROM many n JOIN many m ON m.b = n.b",
        &["hash join"],
    ),
    plain(
        "merge join",
        "SELECT /*+ MERGE_JOIN(m, n) */ COUNT(m.a) FROM many n JOIN many m ON m.id = n.id",
        &["merge join"],
    ),
    plain(
        "ranges",
        "SELECT COUNT(a) FROM many WHERE id BETWEEN 1000 AND 1001 OR id BETWEEN 3000 AND 3001 \
         OR id BETWEEN 5000 AND 5001 OR id BETWEEN 7000 AND 7001 OR id BETWEEN 9000 AND 9001 \
         OR id BETWEEN 11000 AND 11001 OR id BETWEEN 13000 AND 13001 OR id BETWEEN 15000 AND 15001 \
         OR id BETWEEN 17000 AND 17001 OR id BETWEEN 19000 AND 19001 OR id BETWEEN 21000 AND 21001 \
         OR id BETWEEN 23000 AND 23001 OR id BETWEEN 25000 AND 25001 OR id BETWEEN 27000 AND 27001",
        &["range"],
    ),
];
