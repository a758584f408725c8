//! The parts that tests over random data share.
#![allow(dead_code, reason = "each test uses its part")]

use futures::StreamExt;
use muster_engine::{
    Database, DatabaseOptions, Durability, InfileSource, LocalFiles, Outcome, Session,
    types::{ErrorCode, SqlError},
    value_at,
};
use std::{collections::HashMap, io::Cursor, path::Path, sync::Arc};

/// xorshift64*: small, and the same on every machine.
pub struct Random(u64);

impl Random {
    /// `seed`: not zero.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Files that LOAD DATA LOCAL asks for, by name.
pub struct Files(pub HashMap<String, Vec<u8>>);

impl LocalFiles for Files {
    fn open(&self, name: &str) -> Result<InfileSource, SqlError> {
        let found = self.0.get(name).ok_or_else(|| SqlError::new(ErrorCode::FileNotFound, name))?;
        Ok(Box::new(Cursor::new(found.clone())))
    }
}

/// A new data directory of small pages.
pub fn open(directory: &Path, buffer_pool_bytes: usize) -> Arc<Database> {
    let options = DatabaseOptions {
        buffer_pool_bytes,
        memory_limit_bytes: 1 << 30,
        page_size: 4096,
        durability: Durability::Relaxed,
        threads: 2,
        ..DatabaseOptions::default()
    };
    Database::open(directory, options).expect("a new data directory opens")
}

/// The rows of a query as text, sorted.
pub async fn run(session: &mut Session, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    let outcome = session.execute(sql).await.unwrap_or_else(|e| panic!("{e}\n{sql}"));
    let Outcome::Rows(mut result) = outcome else { return rows };
    while let Some(batch) = result.rows.next().await {
        let batch = batch.unwrap_or_else(|e| panic!("{e}\n{sql}"));
        for row in 0..batch.num_rows() {
            let cell = |a: &arrow_array::ArrayRef| value_at(a, row).expect("a value").to_text(0);
            rows.push(batch.columns().iter().map(cell).collect());
        }
    }
    rows.sort();
    rows
}
