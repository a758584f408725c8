//! `(a, b, ..) NOT IN (SELECT ..)` over random rows: those come for which every comparison is FALSE, however it is run.

mod random_data;

use muster_engine::SessionOptions;
use random_data::{Files, Random, open, run};
use std::{fmt::Write, sync::Arc};

/// `a` and `b` may be NULL, `c` may not; `d` is a text, which may.
type Row = [Option<String>; 4];

fn rows(random: &mut Random, count: usize, null_one_in: usize) -> Vec<Row> {
    let row = |_| {
        let mut value = |nullable: bool, values: &[&str]| {
            let null = nullable && random.one_in(null_one_in);
            (!null).then(|| random.pick(values).to_owned())
        };
        let numbers = ["1", "2", "3"];
        [value(true, &numbers), value(true, &numbers), value(false, &numbers), value(true, &["x", "X", "y", "é"])]
    };
    (0..count).map(row).collect()
}

fn file(rows: &[Row]) -> Vec<u8> {
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        let cells = row.each_ref().map(|cell| cell.clone().unwrap_or("\\N".into()));
        let _ = writeln!(out, "{i}\t{}", cells.join("\t"));
    }
    out.into_bytes()
}

/// Returns true if every comparison is FALSE, of columns that may differ in case.
fn stays(row: &Row, others: &[Row], columns: &[usize]) -> bool {
    let fold = |cell: &String| cell.to_lowercase();
    let differs = |other: &Row| {
        columns.iter().any(|c| match (&row[*c], &other[*c]) {
            (Some(a), Some(b)) => fold(a) != fold(b),
            _ => false,
        })
    };
    others.iter().all(differs)
}

#[test]
fn rows_not_in_a_subquery() {
    let directory = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let database = open(directory.path(), 16 << 20);
        let mut random = Random::new(41);
        // Sizes, and how rare NULLs are: none at all, some, many; no row on either side.
        let shapes = [(30, 20, 1000), (60, 8, 8), (60, 30, 3), (40, 0, 3), (0, 10, 3), (50, 3, 2), (300, 200, 40)];
        for (number, (left, right, null_one_in)) in shapes.into_iter().enumerate() {
            let sides = [rows(&mut random, left, null_one_in), rows(&mut random, right, null_one_in)];
            let files = ["r", "s"].map(str::to_owned).into_iter().zip(sides.iter().map(|side| file(side)));
            let local_files = Arc::new(Files(files.collect()));
            let options = SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files };
            let mut session = database.session(options);
            for sql in [format!("create database d{number}"), format!("use d{number}")] {
                session.query(&sql).await.expect("a database");
            }
            for name in ["r", "s"] {
                let create = format!(
                    "create table {name} (k int primary key, a int, b bigint, c int not null, d varchar(10), key i_ab (a, b))"
                );
                session.query(&create).await.expect("a table");
                session.query(&format!("load data local infile '{name}' into table {name}")).await.expect("rows");
            }
            for columns in [vec![0, 1], vec![0, 2], vec![2, 1], vec![3, 0], vec![1, 2, 0], vec![2, 2], vec![3, 1, 0, 2]] {
                let list = columns.iter().map(|c| ["a", "b", "c", "d"][*c]).collect::<Vec<_>>().join(", ");
                for condition in ["", " where s.k % 3 > 0"] {
                    let others: Vec<Row> = match condition {
                        "" => sides[1].clone(),
                        _ => sides[1].iter().enumerate().filter(|(k, _)| k % 3 > 0).map(|(_, row)| row.clone()).collect(),
                    };
                    let kept = sides[0].iter().enumerate().filter(|(_, row)| stays(row, &others, &columns));
                    let mut want: Vec<Vec<Option<String>>> = kept.map(|(k, _)| vec![Some(k.to_string())]).collect();
                    want.sort();
                    let sql = format!("select k from r where ({list}) not in (select {list} from s{condition})");
                    for switches in ["default", "semijoin=off", "semijoin=off,materialization=off", "hash_join=off"] {
                        session.query(&format!("set optimizer_switch = '{switches}'")).await.expect("switches");
                        assert_eq!(run(&mut session, &sql).await, want, "{sql}\n{switches}\n{sides:?}");
                        session.query("set optimizer_switch = default").await.expect("switches");
                    }
                }
            }
        }
    });
}
