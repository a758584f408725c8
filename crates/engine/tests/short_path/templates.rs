//! A plan that was made for other values gives what one for the own values gives.

use crate::{
    data::{answer, status},
    fixture::session,
    joins::{loaded, statement},
    random_data::Random,
};

/// The statement with other numbers behind its first WHERE, where they are values: behind an operator, in a list,
/// behind BETWEEN and AND.
fn with_other_numbers(sql: &str, random: &mut Random) -> String {
    let Some((head, tail)) = sql.split_once(" WHERE ") else { return sql.to_owned() };
    let mut out = format!("{head} WHERE ");
    let mut rest = tail;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, behind) = from.split_at(end);
        out.push_str(before);
        let is_value = ["= ", "> ", "< ", "(", ", ", "BETWEEN ", "AND ", "name"].iter().any(|word| out.ends_with(word));
        match digits.parse::<usize>() {
            Ok(number) if is_value && !behind.starts_with('.') && random.one_in(2) => {
                let other = if random.one_in(8) { random.below(100_000) } else { number / 2 + random.below(30) };
                out.push_str(&other.to_string());
            }
            _ => out.push_str(digits),
        }
        rest = behind;
    }
    out + rest
}

async fn with_values_of_others(seed: u64, statements: usize) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed);
    let database = loaded(directory.path(), &mut random).await;
    let (mut kept, mut plain) = (session(&database, "root"), session(&database, "root"));
    for (session, switch) in [(&mut kept, "on"), (&mut plain, "off")] {
        for sql in [
            "USE db".to_owned(),
            format!("SET optimizer_switch = 'short_path={switch}'"),
            "SET timestamp = 1711000000.75".into(),
        ] {
            session.execute(&sql).await.unwrap();
        }
    }
    for n in 0..statements {
        let (sql, _) = statement(&mut random, true);
        // A UNION has its own order, and its parts lock nothing.
        if [" FOR ", "LOCK IN", " ORDER BY ", " LIMIT "].iter().any(|clause| sql.contains(clause)) {
            continue;
        }
        for _ in 0..6 {
            // The short path has no UNION.
            let sql = with_other_numbers(&sql, &mut random);
            let sql = format!("{sql} UNION ALL {sql}");
            let wanted = answer(plain.execute(&sql).await, false).await;
            let found = answer(kept.execute(&sql).await, false).await;
            let (wanted, found) = (wanted.map_err(|e| e.code), found.map_err(|e| e.code));
            assert_eq!(found, wanted, "{sql}, statement {n} of seed {seed}");
            assert_eq!(kept.warnings().is_empty(), plain.warnings().is_empty(), "{sql}");
        }
    }
    status(&mut kept, "Plan_cache_template_hits").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_for_other_values_give_the_same_rows() {
    let hits = with_values_of_others(21, 450).await;
    assert!(hits > 300, "only {hits} statements ran with a plan for other values");
}

/// Many more statements.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn very_many_plans_for_other_values_give_the_same_rows() {
    for seed in 200..230 {
        with_values_of_others(seed, 1000).await;
    }
}

/// What follows from the values is found out anew: which conditions ranges imply, and which columns have one value.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_from_values_does_not_outlast_them() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), &mut Random::new(3)).await;
    let (mut kept, mut plain) = (session(&database, "root"), session(&database, "root"));
    for session in [&mut kept, &mut plain] {
        session.execute("USE db").await.unwrap();
    }
    plain.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    for (sql, values) in [
        // One group, then two: the order of the index is that of the rows for one only.
        ("SELECT ROW_NUMBER() OVER (ORDER BY id), id FROM p WHERE g IN (#, #) ORDER BY id", [[5, 5], [6, 6], [5, 6]]),
        (
            "SELECT id, COUNT(*) OVER () FROM p WHERE id > # AND id > # ORDER BY id LIMIT 3",
            [[5, 200], [6, 201], [200, 5]],
        ),
        ("SELECT id, COUNT(*) OVER () FROM p WHERE id = # AND id >= # ORDER BY id", [[7, 5], [8, 6], [5, 7]]),
        ("SELECT id, COUNT(*) OVER () FROM p WHERE id BETWEEN # AND # ORDER BY id", [[7, 9], [8, 10], [9, 7]]),
        ("SELECT id, COUNT(*) OVER () FROM p WHERE g = # OR y = # ORDER BY id", [[7, 9], [8, 10], [9, 2]]),
        // Keys of lookups.
        (
            "SELECT p.id, o.id, COUNT(*) OVER () FROM p JOIN o ON o.p = p.id WHERE p.id = # AND o.x > # ORDER BY 2",
            [[7, 5], [8, 6], [5, 7]],
        ),
        (
            "SELECT p.id, c.no, COUNT(*) OVER () FROM p LEFT JOIN c ON c.p = p.id AND c.no = # AND c.no = # WHERE p.g = 3 ORDER BY 1",
            [[1, 1], [2, 2], [1, 2]],
        ),
        (
            "SELECT p.id, c.no, COUNT(*) OVER () FROM p JOIN c ON c.p = p.id WHERE c.no = # AND c.no = # AND p.g = 3 ORDER BY 1",
            [[1, 1], [2, 2], [1, 2]],
        ),
        (
            "SELECT p.id, c.no, COUNT(*) OVER () FROM p JOIN c ON c.p = p.id WHERE c.no = (1) AND c.no = # AND p.g = # ORDER BY 1",
            [[1, 3], [1, 4], [2, 3]],
        ),
        ("SELECT id, COUNT(*) OVER () FROM p WHERE id = # AND id = #", [[7, 7], [8, 8], [5, 7]]),
        (
            "SELECT MAX(id), (SELECT MAX(x) FROM o WHERE p < #) FROM p WHERE g = # GROUP BY y",
            [[7, 9], [8, 10], [900, 2]],
        ),
    ] {
        for [a, b] in values.into_iter().chain(values).chain(values) {
            let sql = sql.replacen('#', &a.to_string(), 1).replacen('#', &b.to_string(), 1);
            let wanted = answer(plain.execute(&sql).await, false).await.unwrap();
            assert_eq!(answer(kept.execute(&sql).await, false).await.unwrap(), wanted, "{sql}");
        }
    }
    assert!(status(&mut kept, "Plan_cache_template_hits").await > 5);
    // A loose scan leaves out a condition that holds for all numbers without sign.
    for sql in [
        "CREATE TABLE l (a INT NOT NULL, b INT NOT NULL, u INT UNSIGNED NOT NULL, KEY (a, b, u))",
        "INSERT INTO l SELECT id % 3, id % 7, id % 10 FROM p",
        "SET optimizer_switch = 'skip_scan=off'",
    ] {
        kept.execute(sql).await.unwrap();
    }
    plain.execute("SET optimizer_switch = 'skip_scan=off'").await.unwrap();
    for _ in 0..3 {
        for u in [-5, -4, 7, -3] {
            let sql = format!("SELECT a, MIN(u), (SELECT MAX(x) FROM o) FROM l WHERE b = 3 AND u > {u} GROUP BY a");
            let wanted = answer(plain.execute(&sql).await, false).await.unwrap();
            assert_eq!(answer(kept.execute(&sql).await, false).await.unwrap(), wanted, "{sql}");
        }
    }
}
