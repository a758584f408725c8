//! What rows that were inserted leave behind when a database is closed and opened again.

mod fixture;

use fixture::{options, rows, session};
use muster_engine::Database;

#[tokio::test(flavor = "multi_thread")]
async fn texts_and_numbers_are_known_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    {
        let database = Database::open(directory.path(), options()).unwrap();
        let mut s = session(&database, "root");
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(9))",
            "INSERT INTO d.t (b) VALUES ('abc'), ('abd')",
            "INSERT INTO d.t (b) VALUES ('ABC')",
        ] {
            s.execute(sql).await.unwrap();
        }
    }
    let database = Database::open(directory.path(), options()).unwrap();
    let mut s = session(&database, "root");
    assert_eq!(rows(&mut s, "SELECT COUNT(DISTINCT b) FROM d.t").await.unwrap(), [["2"]]);
    // A clean end leaves no gap.
    s.execute("INSERT INTO d.t (b) VALUES ('x')").await.unwrap();
    assert_eq!(rows(&mut s, "SELECT a FROM d.t WHERE b = 'X'").await.unwrap(), [["4"]]);
    let estimate = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_NAME = 't'";
    assert_eq!(rows(&mut s, estimate).await.unwrap(), [["4"]]);
}
