//! Behaviour as data: every file of `tests/slt` runs on an embedded database of its own. The expected results are
//! MySQL 8.0's, from its manual. Each file runs twice: on the short path wherever a statement takes it, and without it.

use async_trait::async_trait;
use futures::StreamExt;
use muster_engine::{
    Database, DatabaseOptions, Durability, InfileSource, LocalFiles, Outcome, Session, SessionOptions,
    types::{ErrorCode, SqlError, SqlType},
    value_at,
};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slt");

/// LOAD DATA LOCAL finds its files in `tests/slt/data`.
struct DataFiles;

impl LocalFiles for DataFiles {
    fn open(&self, name: &str) -> Result<InfileSource, SqlError> {
        let file = File::open(Path::new(DIRECTORY).join("data").join(name))
            .map_err(|e| SqlError::new(ErrorCode::FileNotFound, format!("File '{name}' not found ({e})")))?;
        Ok(Box::new(file))
    }
}

struct Connection {
    session: Session,
    /// True if a statement has its plan of the short path before it runs, which it otherwise gets when it first runs.
    planned: bool,
}

impl Connection {
    /// EXPLAIN makes the plan. Statements that ask about the one before them are not explained.
    async fn plan(&mut self, sql: &str) {
        let is_query = sql.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("SELECT "));
        let asks_back = ["@@", "ROW_COUNT", "FOUND_ROWS"].iter().any(|word| sql.to_uppercase().contains(word));
        if self.planned && is_query && !asks_back {
            let _ = self.session.execute(&format!("EXPLAIN {sql}")).await;
        }
    }
}

#[async_trait]
impl AsyncDB for Connection {
    type Error = SqlError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, SqlError> {
        self.plan(sql).await;
        let mut result = match self.session.execute(sql).await? {
            Outcome::Ok { affected_rows, .. } => return Ok(DBOutput::StatementComplete(affected_rows)),
            Outcome::Rows(result) => result,
        };
        let types = result
            .columns
            .iter()
            .map(|c| match c.ty {
                SqlType::Int { .. } | SqlType::Bool => DefaultColumnType::Integer,
                SqlType::Float | SqlType::Double => DefaultColumnType::FloatingPoint,
                _ => DefaultColumnType::Text,
            })
            .collect();
        let mut rows = Vec::new();
        while let Some(batch) = result.rows.next().await {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let cell = |(info, array): (&muster_engine::ColumnInfo, &arrow_array::ArrayRef)| {
                    let text = info.shown(&value_at(array, row)?);
                    Ok(match text.as_deref() {
                        None => "NULL".to_owned(),
                        Some("") => "(empty)".to_owned(),
                        // A result has one line per row.
                        Some(text) => text.replace('\n', "\\n"),
                    })
                };
                rows.push(result.columns.iter().zip(batch.columns()).map(cell).collect::<Result<Vec<_>, SqlError>>()?);
            }
        }
        Ok(DBOutput::Rows { types, rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "muster"
    }
}

/// Runs a file, with statements by key on the short path or all on the general one.
fn run(name: &str, short_path: bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let options = DatabaseOptions {
        buffer_pool_bytes: 16 << 20,
        memory_limit_bytes: 256 << 20,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 2,
        ..DatabaseOptions::default()
    };
    let database = Database::open(directory.path(), options).unwrap();
    let connect = || {
        let database = database.clone();
        async move {
            let session = database.session(SessionOptions {
                user: "root".into(),
                host: "localhost".into(),
                database: None,
                local_files: Arc::new(DataFiles),
            });
            Ok(Connection { session, planned: short_path })
        }
    };
    let mut runner = Runner::new(connect);
    if !short_path {
        let off = async { connect().await?.session.execute("SET GLOBAL optimizer_switch = 'short_path=off'").await };
        assert!(runtime.block_on(off).is_ok());
    }
    let file = PathBuf::from(DIRECTORY).join(format!("{name}.slt"));
    let outcome = runtime.block_on(runner.run_file_async(&file));
    if let Err(e) = outcome {
        panic!("{}", e.display(false));
    }
}

macro_rules! files {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(stringify!($name), true) })*

        mod on_the_general_path {
            $(#[test] fn $name() { super::run(stringify!($name), false) })*
        }

        #[test]
        fn every_file_is_run() {
            let mut found: Vec<String> = std::fs::read_dir(DIRECTORY)
                .unwrap()
                .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".slt").map(str::to_owned))
                .collect();
            found.sort_unstable();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

files! {
    access_paths
    accounts
    alter_columns
    alter_instant
    alter_kinds
    alter_table
    alter_values
    anti_joins
    as_mysql
    as_mysql_arguments
    as_mysql_comparisons
    as_mysql_delimiters
    as_mysql_details
    as_mysql_families
    as_mysql_functions
    as_mysql_numbers
    as_mysql_readings
    as_mysql_refusals
    as_mysql_values
    as_mysql_writes
    autoinc
    byte_strings
    bytes_that_are_texts
    casts_beside
    character_sets_of_old
    charsets
    chosen_moments
    coercibility
    collation_keys
    collation_of_first
    collations
    collations_of_languages
    constants_read_once
    constraints
    copied_strings
    cost_tables
    counters
    create_select_types
    create_table_select
    cut_fractions
    databases
    date_offsets
    date_offsets_compared
    decimals
    declared_types
    delete
    deprecated_parts
    digits_of_choices
    duplicate_subqueries
    early_stop
    enum_set
    explain
    explain_changes
    explain_changes_rewritten
    expression_defaults
    expressions
    first_rows_of_joins
    float_texts
    floats
    foreign_keys
    found_rows
    functional_indexes
    functions_aggregates
    functions_bytes
    functions_dates
    functions_digests
    functions_information
    functions_languages
    functions_locks
    functions_network
    functions_numbers
    functions_regexp
    functions_secrets
    functions_texts
    functions_xml
    generated_columns
    grants
    group_concat_order
    grouping
    handler
    hexadecimal_literals
    hints
    histograms
    indexes
    insert
    insert_select_duplicate
    interval_ends
    into_files
    invalid_dates
    joins
    json_aggregates
    json_beside_others
    json_columns
    json_functions
    json_members
    json_paths
    json_schema
    json_table
    json_table_joins
    json_text
    json_value
    last_insert_id
    lateral
    literals_and_notes
    load
    load_rows
    load_set
    locking_subqueries
    lookup_key_conditions
    manual_aggregates
    manual_bits
    manual_casts
    manual_comparison
    manual_dates
    manual_information
    manual_miscellaneous
    manual_numbers
    manual_regexp
    manual_secrets
    manual_texts
    max_sort_length
    members_chosen
    multisets
    names
    names_and_texts
    names_with_digits
    negatives_of_unsigned
    nested_joins
    no_primary_key
    number_attributes
    numbers
    numbers_beyond_bigint
    operator_signs
    order_by_names
    outer_aggregates
    recursive
    refused_forms
    replace
    result_types
    roles
    rollup
    row_subqueries
    safe_updates
    select_aliases
    session_variables
    show
    sql_mode_text
    sql_mode_values
    stored_choices
    stored_forms
    stored_groups
    stored_programs
    stored_years
    subqueries
    switches
    table_statement
    tables
    temporal
    temporary_space
    temporary_tables
    temporary_tables_details
    texts_beside_dates
    timestamps
    transactions
    union_as_it_came
    union_of_bytes
    union_order
    update
    user_variable_collations
    user_variables_assigned
    variables
    view_names
    views
    wanted_groups
    wide_decimals
    wide_decimals_random
    window_arguments
    window_limits
    windows
    xpath_variables
    year_bit
    zero_dates_as_null
    zero_dates_beside
    zero_dates_compared
    zero_dates_defined
    zero_dates_functions
    zero_dates_loaded
    zero_dates_stored
}
