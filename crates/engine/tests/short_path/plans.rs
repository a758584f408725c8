//! A plan is used only for what it was made for.

use crate::{
    data::{answer, in_db, loaded},
    fixture::{rows, session},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_used_only_for_what_it_was_made_for() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 9).await;
    let (mut root, mut other) = (in_db(&database, "root").await, session(&database, "root"));
    let sql = "SELECT k FROM t WHERE id = 3";
    let first = rows(&mut root, sql).await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap(), first);

    // Rights: the plan of one account is none of another's, and a right that is taken away is gone at once.
    root.execute("CREATE USER u@localhost").await.unwrap();
    let mut user = session(&database, "u");
    let qualified = "SELECT k FROM db.t WHERE id = 3";
    rows(&mut root, qualified).await.unwrap();
    assert_eq!(rows(&mut user, qualified).await.unwrap_err().code.number(), 1142);
    root.execute("GRANT SELECT ON db.* TO u@localhost").await.unwrap();
    for _ in 0..3 {
        assert_eq!(rows(&mut user, qualified).await.unwrap(), first);
    }
    root.execute("REVOKE SELECT ON db.* FROM u@localhost").await.unwrap();
    assert_eq!(rows(&mut user, qualified).await.unwrap_err().code.number(), 1142);

    // The current database decides what a name means.
    assert_eq!(rows(&mut other, sql).await.unwrap_err().code.number(), 1046);
    root.execute("CREATE DATABASE db2").await.unwrap();
    root.execute("CREATE TABLE db2.t (id INT PRIMARY KEY, k INT)").await.unwrap();
    other.use_database("db2").unwrap();
    for _ in 0..3 {
        assert!(rows(&mut other, sql).await.unwrap().is_empty());
    }

    // Definitions.
    let prepared = root.prepare("SELECT k FROM t WHERE id = ?").await.unwrap();
    let value = [muster_engine::types::Value::Int(3)];
    for _ in 0..3 {
        answer(root.execute_prepared(prepared.id, &value).await, true).await.unwrap();
    }
    root.execute("RENAME TABLE t TO t2").await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap_err().code.number(), 1146);
    assert_eq!(root.execute_prepared(prepared.id, &value).await.err().unwrap().code.number(), 1146);
    root.execute("RENAME TABLE t2 TO t").await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap(), first);
    root.execute("TRUNCATE TABLE t").await.unwrap();
    for _ in 0..3 {
        assert!(rows(&mut root, sql).await.unwrap().is_empty());
    }
    root.execute("DROP TABLE t").await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap_err().code.number(), 1146);
}
