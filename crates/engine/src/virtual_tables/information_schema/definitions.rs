//! The tables of `information_schema`, `performance_schema` and `mysql` and their columns.

use super::account_tables;
use crate::{cost_tables, system_schema};
use muster_algebra::{ColumnDef, IndexDef, TableDef, TableId};
use muster_types::{Collation, IntWidth, SqlType, TextKind};
use std::sync::{Arc, LazyLock};

/// Types that the columns have.
#[derive(Clone, Copy)]
enum Ty {
    /// Names of databases and tables: exact.
    Name,
    /// Exact text of this many characters.
    Exact(u32),
    /// Text without case, of this many characters.
    Text(u32),
    Long,
    Tiny,
    Int,
    UInt,
    Big,
    UBig,
    Double,
    DateTime,
}

use Ty::*;

/// A `?` at the end of a column's name: nullable.
type Columns = &'static [(&'static str, Ty)];

#[rustfmt::skip]
const TABLES: &[(&str, Columns)] = &[
    ("CHARACTER_SETS", &[
        ("CHARACTER_SET_NAME", Text(64)), ("DEFAULT_COLLATE_NAME", Text(64)), ("DESCRIPTION", Text(2048)),
        ("MAXLEN", UInt),
    ]),
    ("CHECK_CONSTRAINTS", &[
        ("CONSTRAINT_CATALOG", Name), ("CONSTRAINT_SCHEMA", Name), ("CONSTRAINT_NAME", Text(64)), ("CHECK_CLAUSE", Long),
    ]),
    ("COLLATIONS", &[
        ("COLLATION_NAME", Text(64)), ("CHARACTER_SET_NAME", Text(64)), ("ID", UBig), ("IS_DEFAULT", Text(3)),
        ("IS_COMPILED", Text(3)), ("SORTLEN", UInt), ("PAD_ATTRIBUTE", Text(9)),
    ]),
    ("COLLATION_CHARACTER_SET_APPLICABILITY", &[("COLLATION_NAME", Text(64)), ("CHARACTER_SET_NAME", Text(64))]),
    ("COLUMNS", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("COLUMN_NAME?", Text(64)),
        ("ORDINAL_POSITION", UInt), ("COLUMN_DEFAULT?", Long), ("IS_NULLABLE", Text(3)), ("DATA_TYPE?", Long),
        ("CHARACTER_MAXIMUM_LENGTH?", Big), ("CHARACTER_OCTET_LENGTH?", Big), ("NUMERIC_PRECISION?", UBig),
        ("NUMERIC_SCALE?", UBig), ("DATETIME_PRECISION?", UInt), ("CHARACTER_SET_NAME?", Text(64)),
        ("COLLATION_NAME?", Text(64)), ("COLUMN_TYPE", Long), ("COLUMN_KEY", Text(3)), ("EXTRA?", Text(256)),
        ("PRIVILEGES?", Text(154)), ("COLUMN_COMMENT", Long), ("GENERATION_EXPRESSION", Long), ("SRS_ID?", UInt),
    ]),
    ("COLUMNS_EXTENSIONS", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("COLUMN_NAME?", Text(64)),
        ("ENGINE_ATTRIBUTE?", Long), ("SECONDARY_ENGINE_ATTRIBUTE?", Long),
    ]),
    ("COLUMN_STATISTICS", &[
        ("SCHEMA_NAME", Name), ("TABLE_NAME", Name), ("COLUMN_NAME", Text(64)), ("HISTOGRAM", Long),
    ]),
    ("ENGINES", &[
        ("ENGINE", Text(64)), ("SUPPORT", Text(8)), ("COMMENT", Text(80)), ("TRANSACTIONS?", Text(3)), ("XA?", Text(3)),
        ("SAVEPOINTS?", Text(3)),
    ]),
    ("ESTIMATE_ERRORS", &[
        ("DIGEST", Text(64)), ("DIGEST_TEXT", Long), ("OPERATOR", Long), ("COLUMN_GROUP", Long), ("ESTIMATED_ROWS", Double),
        ("ACTUAL_ROWS", Double), ("FACTOR", Double), ("COUNT", UBig), ("SEEN", DateTime), ("LAST_SEEN", DateTime),
    ]),
    ("EVENTS", &[
        ("EVENT_CATALOG", Name), ("EVENT_SCHEMA", Name), ("EVENT_NAME", Text(64)), ("DEFINER", Exact(288)),
        ("TIME_ZONE", Name), ("EVENT_BODY", Text(3)), ("EVENT_DEFINITION", Long), ("EVENT_TYPE", Text(9)),
        ("EXECUTE_AT?", DateTime), ("INTERVAL_VALUE?", Text(256)), ("INTERVAL_FIELD?", Text(64)),
        ("SQL_MODE", Text(64)), ("STARTS?", DateTime), ("ENDS?", DateTime), ("STATUS", Text(64)),
        ("ON_COMPLETION", Text(12)), ("CREATED", DateTime), ("LAST_ALTERED", DateTime), ("LAST_EXECUTED?", DateTime),
        ("EVENT_COMMENT", Exact(2048)), ("ORIGINATOR", UInt), ("CHARACTER_SET_CLIENT", Text(64)),
        ("COLLATION_CONNECTION", Text(64)), ("DATABASE_COLLATION", Text(64)),
    ]),
    ("GLOBAL_STATUS", &[("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024))]),
    ("GLOBAL_VARIABLES", &[("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024))]),
    ("INNODB_BUFFER_PAGE", &[
        ("POOL_ID", UBig), ("BLOCK_ID", UBig),
        ("SPACE", UBig), ("PAGE_NUMBER", UBig), ("PAGE_TYPE?", Text(64)), ("FLUSH_TYPE", UBig), ("FIX_COUNT", UBig),
        ("IS_HASHED?", Text(3)), ("NEWEST_MODIFICATION", UBig), ("OLDEST_MODIFICATION", UBig), ("ACCESS_TIME", UBig),
        ("TABLE_NAME?", Text(1024)), ("INDEX_NAME?", Text(1024)), ("NUMBER_RECORDS", UBig), ("DATA_SIZE", UBig),
        ("COMPRESSED_SIZE", UBig), ("PAGE_STATE?", Text(64)), ("IO_FIX?", Text(64)), ("IS_OLD?", Text(3)),
        ("FREE_PAGE_CLOCK", UBig), ("IS_STALE?", Text(3)),
    ]),
    ("INNODB_BUFFER_PAGE_LRU", &[
        ("POOL_ID", UBig), ("LRU_POSITION", UBig),
        ("SPACE", UBig), ("PAGE_NUMBER", UBig), ("PAGE_TYPE?", Text(64)), ("FLUSH_TYPE", UBig), ("FIX_COUNT", UBig),
        ("IS_HASHED?", Text(3)), ("NEWEST_MODIFICATION", UBig), ("OLDEST_MODIFICATION", UBig), ("ACCESS_TIME", UBig),
        ("TABLE_NAME?", Text(1024)), ("INDEX_NAME?", Text(1024)), ("NUMBER_RECORDS", UBig), ("DATA_SIZE", UBig),
        ("COMPRESSED_SIZE", UBig), ("COMPRESSED?", Text(3)), ("IO_FIX?", Text(64)), ("IS_OLD?", Text(3)),
        ("FREE_PAGE_CLOCK", UBig),
    ]),
    ("INNODB_BUFFER_POOL_STATS", &[
        ("POOL_ID", UBig), ("POOL_SIZE", UBig), ("FREE_BUFFERS", UBig), ("DATABASE_PAGES", UBig),
        ("OLD_DATABASE_PAGES", UBig), ("MODIFIED_DATABASE_PAGES", UBig), ("PENDING_DECOMPRESS", UBig),
        ("PENDING_READS", UBig), ("PENDING_FLUSH_LRU", UBig), ("PENDING_FLUSH_LIST", UBig), ("PAGES_MADE_YOUNG", UBig),
        ("PAGES_NOT_MADE_YOUNG", UBig), ("PAGES_MADE_YOUNG_RATE", Double), ("PAGES_MADE_NOT_YOUNG_RATE", Double),
        ("NUMBER_PAGES_READ", UBig), ("NUMBER_PAGES_CREATED", UBig), ("NUMBER_PAGES_WRITTEN", UBig),
        ("PAGES_READ_RATE", Double), ("PAGES_CREATE_RATE", Double), ("PAGES_WRITTEN_RATE", Double),
        ("NUMBER_PAGES_GET", UBig), ("HIT_RATE", UBig), ("YOUNG_MAKE_PER_THOUSAND_GETS", UBig),
        ("NOT_YOUNG_MAKE_PER_THOUSAND_GETS", UBig), ("NUMBER_PAGES_READ_AHEAD", UBig),
        ("NUMBER_READ_AHEAD_EVICTED", UBig), ("READ_AHEAD_RATE", Double), ("READ_AHEAD_EVICTED_RATE", Double),
        ("LRU_IO_TOTAL", UBig), ("LRU_IO_CURRENT", UBig), ("UNCOMPRESS_TOTAL", UBig), ("UNCOMPRESS_CURRENT", UBig),
    ]),
    ("INNODB_METRICS", &[
        ("NAME", Text(193)), ("SUBSYSTEM", Text(193)), ("COUNT", Big), ("MAX_COUNT?", Big), ("MIN_COUNT?", Big),
        ("AVG_COUNT?", Double), ("COUNT_RESET", Big), ("MAX_COUNT_RESET?", Big), ("MIN_COUNT_RESET?", Big),
        ("AVG_COUNT_RESET?", Double), ("TIME_ENABLED?", DateTime), ("TIME_DISABLED?", DateTime), ("TIME_ELAPSED?", Big),
        ("TIME_RESET?", DateTime), ("STATUS", Text(193)), ("TYPE", Text(193)), ("COMMENT", Text(193)),
    ]),
    ("INNODB_TABLES", &[
        ("TABLE_ID", UBig), ("NAME", Text(655)), ("FLAG", Int), ("N_COLS", Int), ("SPACE", Big), ("ROW_FORMAT?", Text(12)),
        ("ZIP_PAGE_SIZE", UInt), ("SPACE_TYPE?", Text(10)), ("INSTANT_COLS", Int), ("TOTAL_ROW_VERSIONS", Int),
    ]),
    ("INNODB_TEMP_TABLE_INFO", &[("TABLE_ID", UBig), ("NAME?", Text(64)), ("N_COLS", UInt), ("SPACE", UInt)]),
    ("INNODB_TRX", &[
        ("trx_id", UBig), ("trx_state", Text(13)), ("trx_started", DateTime), ("trx_requested_lock_id?", Text(126)),
        ("trx_wait_started?", DateTime), ("trx_weight", UBig), ("trx_mysql_thread_id", UBig), ("trx_query?", Text(1024)),
        ("trx_operation_state?", Text(64)), ("trx_tables_in_use", UBig), ("trx_tables_locked", UBig),
        ("trx_lock_structs", UBig), ("trx_lock_memory_bytes", UBig), ("trx_rows_locked", UBig), ("trx_rows_modified", UBig),
        ("trx_concurrency_tickets", UBig), ("trx_isolation_level", Text(16)), ("trx_unique_checks", Int),
        ("trx_foreign_key_checks", Int), ("trx_last_foreign_key_error?", Text(256)), ("trx_adaptive_hash_latched", Int),
        ("trx_adaptive_hash_timeout", UBig), ("trx_is_read_only", Int), ("trx_autocommit_non_locking", Int),
        ("trx_schedule_weight?", UBig),
    ]),
    ("FILES", &[
        ("FILE_ID?", Big), ("FILE_NAME?", Long), ("FILE_TYPE?", Text(256)), ("TABLESPACE_NAME", Text(268)),
        ("TABLE_CATALOG", Text(0)), ("TABLE_SCHEMA?", Exact(0)), ("TABLE_NAME?", Exact(0)),
        ("LOGFILE_GROUP_NAME?", Text(256)), ("LOGFILE_GROUP_NUMBER?", Big), ("ENGINE", Text(64)),
        ("FULLTEXT_KEYS?", Exact(0)), ("DELETED_ROWS?", Exact(0)), ("UPDATE_COUNT?", Exact(0)), ("FREE_EXTENTS?", Big),
        ("TOTAL_EXTENTS?", Big), ("EXTENT_SIZE?", Big), ("INITIAL_SIZE?", Big), ("MAXIMUM_SIZE?", Big),
        ("AUTOEXTEND_SIZE?", Big), ("CREATION_TIME?", Exact(0)), ("LAST_UPDATE_TIME?", Exact(0)),
        ("LAST_ACCESS_TIME?", Exact(0)), ("RECOVER_TIME?", Exact(0)), ("TRANSACTION_COUNTER?", Exact(0)),
        ("VERSION?", Big), ("ROW_FORMAT?", Text(256)), ("TABLE_ROWS?", Exact(0)), ("AVG_ROW_LENGTH?", Exact(0)),
        ("DATA_LENGTH?", Exact(0)), ("MAX_DATA_LENGTH?", Exact(0)), ("INDEX_LENGTH?", Exact(0)), ("DATA_FREE?", Big),
        ("CREATE_TIME?", Exact(0)), ("UPDATE_TIME?", Exact(0)), ("CHECK_TIME?", Exact(0)), ("CHECKSUM?", Exact(0)),
        ("STATUS?", Text(256)), ("EXTRA?", Text(256)),
    ]),
    ("KEYWORDS", &[
        ("WORD?", Text(128)), ("RESERVED?", Int),
    ]),
    ("KEY_COLUMN_USAGE", &[
        ("CONSTRAINT_CATALOG", Name), ("CONSTRAINT_SCHEMA", Name), ("CONSTRAINT_NAME?", Text(64)),
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("COLUMN_NAME?", Text(64)),
        ("ORDINAL_POSITION", UInt), ("POSITION_IN_UNIQUE_CONSTRAINT?", UInt), ("REFERENCED_TABLE_SCHEMA?", Name),
        ("REFERENCED_TABLE_NAME?", Name), ("REFERENCED_COLUMN_NAME?", Text(64)),
    ]),
    ("OPTIMIZER_TRACE", &[
        ("QUERY", Long), ("TRACE", Long), ("MISSING_BYTES_BEYOND_MAX_MEM_SIZE", Int), ("INSUFFICIENT_PRIVILEGES", Tiny),
    ]),
    ("PARAMETERS", &[
        ("SPECIFIC_CATALOG", Name), ("SPECIFIC_SCHEMA", Name), ("SPECIFIC_NAME", Text(64)),
        ("ORDINAL_POSITION", UBig), ("PARAMETER_MODE?", Exact(5)), ("PARAMETER_NAME?", Text(64)),
        ("DATA_TYPE?", Long), ("CHARACTER_MAXIMUM_LENGTH?", Big), ("CHARACTER_OCTET_LENGTH?", Big),
        ("NUMERIC_PRECISION?", UInt), ("NUMERIC_SCALE?", Big), ("DATETIME_PRECISION?", UInt),
        ("CHARACTER_SET_NAME?", Text(64)), ("COLLATION_NAME?", Text(64)), ("DTD_IDENTIFIER", Long),
        ("ROUTINE_TYPE", Text(64)),
    ]),
    ("PARTITIONS", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("PARTITION_NAME?", Text(64)),
        ("SUBPARTITION_NAME?", Text(64)), ("PARTITION_ORDINAL_POSITION?", UInt),
        ("SUBPARTITION_ORDINAL_POSITION?", UInt), ("PARTITION_METHOD?", Text(13)), ("SUBPARTITION_METHOD?", Text(13)),
        ("PARTITION_EXPRESSION?", Exact(2048)), ("SUBPARTITION_EXPRESSION?", Exact(2048)),
        ("PARTITION_DESCRIPTION?", Long), ("TABLE_ROWS?", UBig), ("AVG_ROW_LENGTH?", UBig), ("DATA_LENGTH?", UBig),
        ("MAX_DATA_LENGTH?", UBig), ("INDEX_LENGTH?", UBig), ("DATA_FREE?", UBig), ("CREATE_TIME", DateTime),
        ("UPDATE_TIME?", DateTime), ("CHECK_TIME?", DateTime), ("CHECKSUM?", Big), ("PARTITION_COMMENT", Long),
        ("NODEGROUP?", Text(256)), ("TABLESPACE_NAME?", Exact(268)),
    ]),
    ("PLUGINS", &[
        ("PLUGIN_NAME", Text(64)), ("PLUGIN_VERSION", Text(20)), ("PLUGIN_STATUS", Text(10)),
        ("PLUGIN_TYPE", Text(80)), ("PLUGIN_TYPE_VERSION", Text(20)), ("PLUGIN_LIBRARY?", Text(64)),
        ("PLUGIN_LIBRARY_VERSION?", Text(20)), ("PLUGIN_AUTHOR?", Text(64)), ("PLUGIN_DESCRIPTION?", Text(65535)),
        ("PLUGIN_LICENSE?", Text(80)), ("LOAD_OPTION", Text(64)),
    ]),
    ("PROCESSLIST", &[
        ("ID", UBig), ("USER", Text(32)), ("HOST", Text(261)), ("DB?", Name), ("COMMAND", Text(16)), ("TIME", Int),
        ("STATE?", Text(64)), ("INFO?", Long),
    ]),
    ("REFERENTIAL_CONSTRAINTS", &[
        ("CONSTRAINT_CATALOG", Name), ("CONSTRAINT_SCHEMA", Name), ("CONSTRAINT_NAME?", Text(64)),
        ("UNIQUE_CONSTRAINT_CATALOG", Name), ("UNIQUE_CONSTRAINT_SCHEMA", Name), ("UNIQUE_CONSTRAINT_NAME?", Text(64)),
        ("MATCH_OPTION", Text(7)), ("UPDATE_RULE", Text(11)), ("DELETE_RULE", Text(11)), ("TABLE_NAME", Name),
        ("REFERENCED_TABLE_NAME", Name),
    ]),
    ("ROUTINES", &[
        ("SPECIFIC_NAME", Text(64)), ("ROUTINE_CATALOG", Name), ("ROUTINE_SCHEMA", Name), ("ROUTINE_NAME", Text(64)),
        ("ROUTINE_TYPE", Text(64)), ("DATA_TYPE?", Long), ("CHARACTER_MAXIMUM_LENGTH?", Big),
        ("CHARACTER_OCTET_LENGTH?", Big), ("NUMERIC_PRECISION?", UInt), ("NUMERIC_SCALE?", UInt),
        ("DATETIME_PRECISION?", UInt), ("CHARACTER_SET_NAME?", Text(64)), ("COLLATION_NAME?", Text(64)),
        ("DTD_IDENTIFIER?", Long), ("ROUTINE_BODY", Text(3)), ("ROUTINE_DEFINITION?", Long), ("EXTERNAL_NAME?", Long),
        ("EXTERNAL_LANGUAGE", Name), ("PARAMETER_STYLE", Text(3)), ("IS_DETERMINISTIC", Text(3)),
        ("SQL_DATA_ACCESS", Text(64)), ("SQL_PATH?", Long), ("SECURITY_TYPE", Text(64)), ("CREATED", DateTime),
        ("LAST_ALTERED", DateTime), ("SQL_MODE", Text(64)), ("ROUTINE_COMMENT", Long), ("DEFINER", Exact(288)),
        ("CHARACTER_SET_CLIENT", Text(64)), ("COLLATION_CONNECTION", Text(64)), ("DATABASE_COLLATION", Text(64)),
    ]),
    ("SCHEMATA", &[
        ("CATALOG_NAME", Name), ("SCHEMA_NAME", Name), ("DEFAULT_CHARACTER_SET_NAME", Text(64)),
        ("DEFAULT_COLLATION_NAME", Text(64)), ("SQL_PATH?", Text(512)), ("DEFAULT_ENCRYPTION", Text(3)),
    ]),
    ("SCHEMATA_EXTENSIONS", &[
        ("CATALOG_NAME", Name), ("SCHEMA_NAME", Name), ("OPTIONS?", Text(256)),
    ]),
    ("SESSION_STATUS", &[("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024))]),
    ("SESSION_VARIABLES", &[("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024))]),
    ("STATISTICS", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("NON_UNIQUE", Int), ("INDEX_SCHEMA", Name),
        ("INDEX_NAME?", Text(64)), ("SEQ_IN_INDEX", UInt), ("COLUMN_NAME?", Text(64)), ("COLLATION?", Text(1)),
        ("CARDINALITY?", Big), ("SUB_PART?", Big), ("PACKED?", Text(10)), ("NULLABLE", Text(3)), ("INDEX_TYPE", Text(11)),
        ("COMMENT", Text(8)), ("INDEX_COMMENT", Text(2048)), ("IS_VISIBLE", Text(3)), ("EXPRESSION?", Long),
    ]),
    ("TABLES", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("TABLE_TYPE", Text(11)),
        ("ENGINE?", Text(64)), ("VERSION?", Int), ("ROW_FORMAT?", Text(10)), ("TABLE_ROWS?", UBig),
        ("AVG_ROW_LENGTH?", UBig), ("DATA_LENGTH?", UBig), ("MAX_DATA_LENGTH?", UBig), ("INDEX_LENGTH?", UBig),
        ("DATA_FREE?", UBig), ("AUTO_INCREMENT?", UBig), ("CREATE_TIME", DateTime), ("UPDATE_TIME?", DateTime),
        ("CHECK_TIME?", DateTime), ("TABLE_COLLATION?", Text(64)), ("CHECKSUM?", Big), ("CREATE_OPTIONS?", Text(256)),
        ("TABLE_COMMENT?", Long),
    ]),
    ("TABLESPACES", &[
        ("TABLESPACE_NAME", Text(64)), ("ENGINE", Text(64)), ("TABLESPACE_TYPE?", Text(64)),
        ("LOGFILE_GROUP_NAME?", Text(64)), ("EXTENT_SIZE?", UBig), ("AUTOEXTEND_SIZE?", UBig),
        ("MAXIMUM_SIZE?", UBig), ("NODEGROUP_ID?", UBig), ("TABLESPACE_COMMENT?", Text(2048)),
    ]),
    ("TABLES_EXTENSIONS", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("ENGINE_ATTRIBUTE?", Long),
        ("SECONDARY_ENGINE_ATTRIBUTE?", Long),
    ]),
    ("TABLE_CONSTRAINTS", &[
        ("CONSTRAINT_CATALOG", Name), ("CONSTRAINT_SCHEMA", Name), ("CONSTRAINT_NAME?", Text(64)), ("TABLE_SCHEMA", Name),
        ("TABLE_NAME", Name), ("CONSTRAINT_TYPE", Text(11)), ("ENFORCED", Text(3)),
    ]),
    ("TABLE_CONSTRAINTS_EXTENSIONS", &[
        ("CONSTRAINT_CATALOG", Name), ("CONSTRAINT_SCHEMA", Name), ("CONSTRAINT_NAME", Text(64)),
        ("TABLE_NAME", Name), ("ENGINE_ATTRIBUTE?", Long), ("SECONDARY_ENGINE_ATTRIBUTE?", Long),
    ]),
    ("TRIGGERS", &[
        ("TRIGGER_CATALOG", Name), ("TRIGGER_SCHEMA", Name), ("TRIGGER_NAME", Text(64)),
        ("EVENT_MANIPULATION", Text(64)), ("EVENT_OBJECT_CATALOG", Name), ("EVENT_OBJECT_SCHEMA", Name),
        ("EVENT_OBJECT_TABLE", Name), ("ACTION_ORDER", UInt), ("ACTION_CONDITION?", Long), ("ACTION_STATEMENT", Long),
        ("ACTION_ORIENTATION", Text(3)), ("ACTION_TIMING", Text(64)), ("ACTION_REFERENCE_OLD_TABLE?", Long),
        ("ACTION_REFERENCE_NEW_TABLE?", Long), ("ACTION_REFERENCE_OLD_ROW", Text(3)),
        ("ACTION_REFERENCE_NEW_ROW", Text(3)), ("CREATED", DateTime), ("SQL_MODE", Text(64)), ("DEFINER", Exact(288)),
        ("CHARACTER_SET_CLIENT", Text(64)), ("COLLATION_CONNECTION", Text(64)), ("DATABASE_COLLATION", Text(64)),
    ]),
    ("VIEWS", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("VIEW_DEFINITION?", Long),
        ("CHECK_OPTION?", Text(8)), ("IS_UPDATABLE?", Text(3)), ("DEFINER?", Text(288)), ("SECURITY_TYPE?", Text(7)),
        ("CHARACTER_SET_CLIENT", Text(64)), ("COLLATION_CONNECTION", Text(64)),
    ]),
    ("VIEW_ROUTINE_USAGE", &[
        ("TABLE_CATALOG", Name), ("TABLE_SCHEMA", Name), ("TABLE_NAME", Name), ("SPECIFIC_CATALOG", Name),
        ("SPECIFIC_SCHEMA", Name), ("SPECIFIC_NAME", Text(64)),
    ]),
];

#[rustfmt::skip]
const PERFORMANCE_TABLES: &[(&str, Columns)] = &[
    ("data_lock_waits", &[
        ("ENGINE", Text(32)), ("REQUESTING_ENGINE_LOCK_ID", Text(128)), ("REQUESTING_ENGINE_TRANSACTION_ID?", UBig),
        ("REQUESTING_THREAD_ID?", UBig), ("REQUESTING_EVENT_ID?", UBig), ("REQUESTING_OBJECT_INSTANCE_BEGIN", UBig),
        ("BLOCKING_ENGINE_LOCK_ID", Text(128)), ("BLOCKING_ENGINE_TRANSACTION_ID?", UBig), ("BLOCKING_THREAD_ID?", UBig),
        ("BLOCKING_EVENT_ID?", UBig), ("BLOCKING_OBJECT_INSTANCE_BEGIN", UBig),
    ]),
    ("data_locks", &[
        ("ENGINE", Text(32)), ("ENGINE_LOCK_ID", Text(128)), ("ENGINE_TRANSACTION_ID?", UBig), ("THREAD_ID?", UBig),
        ("EVENT_ID?", UBig), ("OBJECT_SCHEMA?", Name), ("OBJECT_NAME?", Name), ("PARTITION_NAME?", Text(64)),
        ("SUBPARTITION_NAME?", Text(64)), ("INDEX_NAME?", Text(64)), ("OBJECT_INSTANCE_BEGIN", UBig), ("LOCK_TYPE", Text(32)),
        ("LOCK_MODE", Text(32)), ("LOCK_STATUS", Text(32)), ("LOCK_DATA?", Text(8192)),
    ]),
    ("global_status", &[
        ("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024)),
    ]),
    ("global_variables", &[
        ("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024)),
    ]),
    ("metadata_locks", &[
        ("OBJECT_TYPE", Text(64)), ("OBJECT_SCHEMA?", Name), ("OBJECT_NAME?", Name), ("COLUMN_NAME?", Name),
        ("OBJECT_INSTANCE_BEGIN", UBig), ("LOCK_TYPE", Text(32)), ("LOCK_DURATION", Text(32)), ("LOCK_STATUS", Text(32)),
        ("SOURCE?", Text(64)), ("OWNER_THREAD_ID?", UBig), ("OWNER_EVENT_ID?", UBig),
    ]),
    ("processlist", &[
        ("ID", UBig), ("USER?", Text(32)), ("HOST?", Text(261)), ("DB?", Text(64)), ("COMMAND?", Text(16)),
        ("TIME?", Big), ("STATE?", Text(64)), ("INFO?", Long), ("EXECUTION_ENGINE?", Text(64)),
    ]),
    ("session_status", &[
        ("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024)),
    ]),
    ("session_variables", &[
        ("VARIABLE_NAME", Text(64)), ("VARIABLE_VALUE?", Text(1024)),
    ]),
    ("threads", &[
        ("THREAD_ID", UBig), ("NAME", Text(128)), ("TYPE", Text(10)), ("PROCESSLIST_ID?", UBig),
        ("PROCESSLIST_USER?", Text(32)), ("PROCESSLIST_HOST?", Text(255)), ("PROCESSLIST_DB?", Text(64)),
        ("PROCESSLIST_COMMAND?", Text(16)), ("PROCESSLIST_TIME?", Big), ("PROCESSLIST_STATE?", Text(64)),
        ("PROCESSLIST_INFO?", Long), ("PARENT_THREAD_ID?", UBig), ("ROLE?", Text(64)), ("INSTRUMENTED", Text(64)),
        ("HISTORY", Text(64)), ("CONNECTION_TYPE?", Text(16)), ("THREAD_OS_ID?", UBig), ("RESOURCE_GROUP?", Text(64)),
        ("EXECUTION_ENGINE?", Text(64)), ("CONTROLLED_MEMORY", UBig), ("MAX_CONTROLLED_MEMORY", UBig),
        ("TOTAL_MEMORY", UBig), ("MAX_TOTAL_MEMORY", UBig), ("TELEMETRY_ACTIVE", Text(64)),
    ]),
];

#[rustfmt::skip]
const MYSQL_TABLES: &[(&str, Columns)] = &[
    ("innodb_index_stats", &[
        ("database_name", Name), ("table_name", Exact(199)), ("index_name", Name), ("last_update", DateTime),
        ("stat_name", Name), ("stat_value", UBig), ("sample_size?", UBig), ("stat_description", Exact(1024)),
    ]),
    ("innodb_table_stats", &[
        ("database_name", Name), ("table_name", Exact(199)), ("last_update", DateTime), ("n_rows", UBig),
        ("clustered_index_size", UBig), ("sum_of_other_index_sizes", UBig),
    ]),
];

fn sql_type(ty: Ty) -> SqlType {
    let int = |width, unsigned| SqlType::Int { width, unsigned };
    match ty {
        Name => SqlType::varchar(64, Collation::Utf8mb3Bin),
        Exact(length) => SqlType::varchar(length, Collation::Utf8mb3Bin),
        Text(length) => SqlType::varchar(length, Collation::SYSTEM),
        Long => SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation: Collation::SYSTEM },
        Tiny => int(IntWidth::Tiny, false),
        Int => int(IntWidth::Int, false),
        UInt => int(IntWidth::Int, true),
        Big => SqlType::BIGINT,
        UBig => SqlType::BIGINT_UNSIGNED,
        Double => SqlType::Double,
        DateTime => SqlType::DateTime { fsp: 0 },
    }
}

pub(super) fn tables() -> &'static [Arc<TableDef>] {
    static DEFINED: LazyLock<Vec<Arc<TableDef>>> = LazyLock::new(|| {
        let column =
            |(name, ty): &(&str, Ty)| ColumnDef::plain(name.trim_end_matches('?'), sql_type(*ty), name.ends_with('?'));
        let table = |(schema, name, columns): (&str, &str, Vec<ColumnDef>)| TableDef {
            id: TableId::FIRST_VIRTUAL,
            database: schema.into(),
            name: name.into(),
            columns,
            indexes: vec![IndexDef::hidden(0)],
            collation: Collation::SYSTEM,
            comment: String::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        };
        let of = |schema, tables: &'static [(&'static str, Columns)]| {
            tables.iter().map(move |(name, columns)| (schema, *name, columns.iter().map(column).collect()))
        };
        let all = of(system_schema::NAME, TABLES).chain(of(system_schema::PERFORMANCE, PERFORMANCE_TABLES));
        let all = all.chain(of(system_schema::MYSQL, MYSQL_TABLES)).chain(account_tables::definitions());
        let numbered = |(i, table)| Arc::new(TableDef { id: TableId(TableId::FIRST_VIRTUAL.0 + i as u64), ..table });
        all.map(table).chain(cost_tables::definitions()).enumerate().map(numbered).collect()
    });
    &DEFINED
}
