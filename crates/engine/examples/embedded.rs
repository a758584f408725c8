//! Muster as a library: a data directory, a session, rows as Arrow batches.
//!
//! `cargo run --release -p muster-engine --example embedded -- ./my-data`

use muster_engine::{Database, DatabaseOptions, Durability, LoadProgress, NoLocalFiles, SessionOptions, value_at};
use std::{error::Error, sync::Arc};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "./muster-example".into());
    let options = DatabaseOptions {
        buffer_pool_bytes: 128 << 20,
        memory_limit_bytes: 256 << 20,
        page_size: 16 << 10,
        durability: Durability::Full,
        threads: std::thread::available_parallelism()?.get(),
        ..DatabaseOptions::default()
    };
    let database = Database::open(&directory, options)?;
    let mut session = database.session(SessionOptions {
        user: "root".into(),
        host: "localhost".into(),
        database: None,
        local_files: Arc::new(NoLocalFiles),
    });
    for sql in [
        "CREATE DATABASE IF NOT EXISTS shop",
        "USE shop",
        "DROP TABLE IF EXISTS fruit",
        "CREATE TABLE fruit (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(6,2), KEY (price))",
    ] {
        session.query(sql).await?;
    }
    // A file of the embedding program; `Session::load_batches` takes Arrow batches instead.
    let file = std::env::temp_dir().join(format!("fruit-{}.csv", std::process::id()));
    std::fs::write(&file, "id,name,price\n1,apple,1.20\n2,pear,1.50\n3,cherry,6.90\n")?;
    let loaded = session.load_file("fruit", &file, Arc::new(LoadProgress::default())).await;
    std::fs::remove_file(&file)?;
    println!("{} rows loaded", loaded?);

    for batch in session.query("SELECT name, price * 2 FROM fruit WHERE price < 5 ORDER BY price DESC").await? {
        for row in 0..batch.num_rows() {
            let cells: Result<Vec<_>, _> = batch.columns().iter().map(|c| value_at(c, row)).collect();
            println!("{}", cells?.iter().map(|v| v.to_string()).collect::<Vec<_>>().join("  "));
        }
    }
    Ok(())
}
