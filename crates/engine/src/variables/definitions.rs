//! The system variables: name, scope, kind and default of each (manual 7.1.8 "Server System Variables").

/// Which values a variable takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Bool,
    /// Inclusive bounds; values outside are cut to them with a warning, as MySQL does.
    Int(i128, i128),
    /// Inclusive bounds, and the bytes of a block: a value is cut to whole blocks with the same warning.
    Blocks(i128, i128, i128),
    Double(f64, f64),
    /// One of these words; a number is a position.
    Enum(&'static [&'static str]),
    /// A set of SQL modes: their names with commas between them, or the number of their bits.
    Modes,
    /// A moment in seconds since 1970, or zero for the clock's.
    Moment,
    /// `name=on|off|default,..`; what is not named stays as it is.
    Switch,
    Text,
    /// Flags of these names, each on or off.
    Flags(&'static [&'static str]),
    /// A character set, a collation.
    Charset,
    Collation,
    /// A time zone: `SYSTEM`, an offset or a name.
    TimeZone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    Both,
}

#[derive(Debug, Clone, Copy)]
pub struct Definition {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub default: &'static str,
    /// Cannot be SET.
    pub read_only: bool,
}

use Kind::*;
use Scope::*;

const fn rw(name: &'static str, scope: Scope, kind: Kind, default: &'static str) -> Definition {
    Definition { name, scope, kind, default, read_only: false }
}

const fn ro(name: &'static str, scope: Scope, kind: Kind, default: &'static str) -> Definition {
    Definition { name, scope, kind, default, read_only: true }
}

const ISOLATION: Kind = Enum(&["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]);
#[rustfmt::skip]
const BLOCK_ENCRYPTION_MODE: Kind = Enum(&[
    "aes-128-ecb", "aes-192-ecb", "aes-256-ecb", "aes-128-cbc", "aes-192-cbc", "aes-256-cbc",
    "aes-128-cfb1", "aes-192-cfb1", "aes-256-cfb1", "aes-128-cfb8", "aes-192-cfb8", "aes-256-cfb8",
    "aes-128-cfb128", "aes-192-cfb128", "aes-256-cfb128", "aes-128-ofb", "aes-192-ofb", "aes-256-ofb",
]);
const DOUBLEWRITE: Kind = Enum(&["OFF", "ON", "DETECT_ONLY", "DETECT_AND_RECOVER"]);
const U32: i128 = u32::MAX as i128;
const U64: i128 = u64::MAX as i128;

/// MySQL 8.0's default.
pub const SQL_MODE_DEFAULT: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                                    ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// Sorted by name (a test sees to it). Paths, sizes and versions of this server are filled in when it starts, its port
/// when it listens; there is no Unix socket.
#[rustfmt::skip]
pub const DEFINITIONS: &[Definition] = &[
    rw("activate_all_roles_on_login", Global, Bool, "OFF"),
    rw("admission_queue_size", Global, Int(0, 100000), "1000"),
    rw("admission_running_max", Global, Int(0, 10000), "0"),
    ro("auto_generate_certs", Global, Bool, "ON"),
    rw("auto_increment_increment", Both, Int(1, 65535), "1"),
    rw("auto_increment_offset", Both, Int(1, 65535), "1"),
    rw("autocommit", Both, Bool, "ON"),
    ro("basedir", Global, Text, ""),
    rw("big_tables", Both, Bool, "OFF"),
    ro("bind_address", Global, Text, "127.0.0.1"),
    rw("block_encryption_mode", Both, BLOCK_ENCRYPTION_MODE, "aes-128-ecb"),
    rw("bulk_insert_buffer_size", Both, Int(0, U64), "8388608"),
    rw("character_set_client", Both, Charset, "utf8mb4"),
    rw("character_set_connection", Both, Charset, "utf8mb4"),
    rw("character_set_database", Both, Charset, "utf8mb4"),
    rw("character_set_filesystem", Both, Charset, "binary"),
    rw("character_set_results", Both, Charset, "utf8mb4"),
    rw("character_set_server", Both, Charset, "utf8mb4"),
    ro("character_set_system", Global, Charset, "utf8mb3"),
    ro("character_sets_dir", Global, Text, ""),
    rw("collation_connection", Both, Collation, "utf8mb4_0900_ai_ci"),
    rw("collation_database", Both, Collation, "utf8mb4_0900_ai_ci"),
    rw("collation_server", Both, Collation, "utf8mb4_0900_ai_ci"),
    rw("completion_type", Both, Enum(&["NO_CHAIN", "CHAIN", "RELEASE"]), "NO_CHAIN"),
    rw("connect_timeout", Global, Int(2, 31536000), "10"),
    rw("cte_max_recursion_depth", Both, Int(0, U32), "1000"),
    ro("datadir", Global, Text, ""),
    rw("default_authentication_plugin", Global, Text, "caching_sha2_password"),
    rw("default_collation_for_utf8mb4", Both, Collation, "utf8mb4_0900_ai_ci"),
    rw("default_password_lifetime", Global, Int(0, 65535), "0"),
    rw("default_storage_engine", Both, Text, "InnoDB"),
    rw("default_tmp_storage_engine", Both, Text, "InnoDB"),
    rw("default_week_format", Both, Int(0, 7), "0"),
    rw("div_precision_increment", Both, Int(0, 30), "4"),
    rw("end_markers_in_json", Both, Bool, "OFF"),
    rw("eq_range_index_dive_limit", Both, Int(0, U32), "200"),
    ro("error_count", Session, Int(0, U64), "0"),
    rw("event_scheduler", Global, Enum(&["OFF", "ON", "DISABLED"]), "OFF"),
    rw("explain_format", Both, Enum(&["TRADITIONAL", "JSON", "TREE", "DEFAULT"]), "TRADITIONAL"),
    rw("explain_json_format_version", Both, Int(1, 2), "1"),
    rw("explicit_defaults_for_timestamp", Both, Bool, "ON"),
    rw("foreign_key_checks", Both, Bool, "ON"),
    rw("general_log", Global, Bool, "OFF"),
    rw("group_concat_max_len", Both, Int(4, U64), "1024"),
    rw("gtid_mode", Global, Enum(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]), "OFF"),
    ro("have_compress", Global, Text, "NO"),
    ro("have_openssl", Global, Text, "YES"),
    ro("have_profiling", Global, Text, "NO"),
    ro("have_query_cache", Global, Text, "NO"),
    ro("have_ssl", Global, Text, "YES"),
    rw("histogram_generation_max_mem_size", Both, Int(1000000, U64), "20000000"),
    ro("hostname", Global, Text, "localhost"),
    rw("identity", Session, Int(0, U64), "0"),
    rw("information_schema_stats_expiry", Both, Int(0, 31536000), "86400"),
    rw("init_connect", Global, Text, ""),
    ro("innodb_autoinc_lock_mode", Global, Int(0, 2), "2"),
    ro("innodb_buffer_pool_chunk_size", Global, Int(0, U64), "134217728"),
    ro("innodb_buffer_pool_instances", Global, Int(1, 64), "1"),
    ro("innodb_buffer_pool_size", Global, Int(0, U64), "134217728"),
    ro("innodb_doublewrite", Global, DOUBLEWRITE, "ON"),
    ro("innodb_file_per_table", Global, Bool, "ON"),
    rw("innodb_flush_log_at_trx_commit", Global, Int(0, 2), "1"),
    ro("innodb_flush_method", Global, Text, "O_DIRECT"),
    ro("innodb_force_recovery", Global, Int(0, 6), "0"),
    rw("innodb_lock_wait_timeout", Both, Int(1, 1073741824), "50"),
    ro("innodb_log_buffer_size", Global, Int(262144, U32), "16777216"),
    rw("innodb_old_blocks_pct", Global, Int(5, 95), "5"),
    rw("innodb_old_blocks_time", Global, Int(0, U32), "0"),
    ro("innodb_page_size", Global, Int(4096, 65536), "16384"),
    rw("innodb_print_all_deadlocks", Global, Bool, "OFF"),
    ro("innodb_read_only", Global, Bool, "OFF"),
    rw("innodb_redo_log_capacity", Global, Blocks(8388608, 137438953472, 1048576), "104857600"),
    ro("innodb_rollback_on_timeout", Global, Bool, "OFF"),
    rw("innodb_stats_auto_recalc", Global, Bool, "ON"),
    rw("innodb_stats_on_metadata", Global, Bool, "OFF"),
    rw("innodb_strict_mode", Both, Bool, "ON"),
    ro("innodb_version", Global, Text, ""),
    rw("insert_id", Session, Int(0, U64), "0"),
    rw("interactive_timeout", Both, Int(1, 31536000), "28800"),
    rw("internal_tmp_mem_storage_engine", Both, Enum(&["MEMORY", "TempTable"]), "TempTable"),
    rw("join_buffer_size", Both, Blocks(128, U64, 128), "16777216"),
    rw("join_cache_level", Both, Int(0, 8), "8"),
    rw("keep_files_on_create", Both, Bool, "OFF"),
    rw("key_buffer_size", Global, Int(0, U64), "8388608"),
    ro("large_page_size", Global, Int(0, U64), "0"),
    rw("last_insert_id", Session, Int(0, U64), "0"),
    rw("lc_messages", Both, Text, "en_US"),
    rw("lc_time_names", Both, Text, "en_US"),
    ro("license", Global, Text, "Apache-2.0"),
    rw("local_infile", Global, Bool, "ON"),
    rw("lock_wait_timeout", Both, Int(1, 31536000), "31536000"),
    ro("log_bin", Global, Bool, "OFF"),
    rw("log_error_verbosity", Global, Int(1, 3), "2"),
    rw("long_query_time", Both, Double(0.0, 31536000.0), "10.000000"),
    rw("low_priority_updates", Both, Bool, "OFF"),
    ro("lower_case_file_system", Global, Bool, "OFF"),
    ro("lower_case_table_names", Global, Int(0, 2), "0"),
    rw("mandatory_roles", Global, Text, ""),
    rw("max_allowed_packet", Both, Int(1024, 1073741824), "67108864"),
    rw("max_connections", Global, Int(1, 100000), "151"),
    rw("max_error_count", Both, Int(0, 65535), "1024"),
    rw("max_execution_time", Both, Int(0, U32), "0"),
    rw("max_heap_table_size", Both, Int(16384, U64), "16777216"),
    rw("max_join_size", Both, Int(1, U64), "18446744073709551615"),
    rw("max_length_for_sort_data", Both, Int(4, 8388608), "4096"),
    rw("max_prepared_stmt_count", Global, Int(0, 4194304), "16382"),
    rw("max_seeks_for_key", Both, Int(1, U32), "4294967295"),
    rw("max_sort_length", Both, Int(4, 8388608), "1024"),
    rw("max_tmp_session_space_usage", Both, Blocks(0, U64, 65536), "1099511627776"),
    rw("max_tmp_total_space_usage", Global, Blocks(0, U64, 65536), "1099511627776"),
    rw("max_user_connections", Both, Int(0, U32), "0"),
    rw("min_examined_row_limit", Both, Int(0, U32), "0"),
    rw("mrr_buffer_size", Both, Int(8192, U64), "8388608"),
    rw("net_buffer_length", Both, Int(1024, 1048576), "16384"),
    rw("net_read_timeout", Both, Int(1, 31536000), "30"),
    rw("net_retry_count", Both, Int(1, U32), "10"),
    rw("net_write_timeout", Both, Int(1, 31536000), "60"),
    rw("old_alter_table", Both, Bool, "OFF"),
    rw("optimizer_prune_level", Both, Int(0, 1), "1"),
    rw("optimizer_search_depth", Both, Int(0, 62), "62"),
    rw("optimizer_switch", Both, Switch, "default"),
    rw("optimizer_trace", Both, Flags(&["enabled", "one_line"]), "enabled=off,one_line=off"),
    rw("optimizer_trace_features", Both, Flags(&["greedy_search", "range_optimizer", "dynamic_range", "repeated_subselect"]),
        "greedy_search=on,range_optimizer=on,dynamic_range=on,repeated_subselect=on"),
    rw("optimizer_trace_limit", Both, Int(0, 2147483647), "1"),
    rw("optimizer_trace_max_mem_size", Both, Int(0, U32), "1048576"),
    rw("optimizer_trace_offset", Both, Int(-2147483648, 2147483647), "-1"),
    rw("password_history", Global, Int(0, U32), "0"),
    rw("password_require_current", Global, Bool, "OFF"),
    rw("password_reuse_interval", Global, Int(0, U32), "0"),
    ro("performance_schema", Global, Bool, "OFF"),
    ro("pid_file", Global, Text, ""),
    rw("plan_cache_size", Global, Int(0, 1048576), "4096"),
    ro("plugin_dir", Global, Text, ""),
    ro("port", Global, Int(0, 65535), "0"),
    rw("profiling", Both, Bool, "OFF"),
    rw("profiling_history_size", Both, Int(0, 100), "15"),
    ro("protocol_version", Global, Int(10, 10), "10"),
    rw("pseudo_thread_id", Session, Int(0, U64), "0"),
    rw("query_alloc_block_size", Both, Int(1024, U32), "8192"),
    ro("query_cache_limit", Global, Int(0, U64), "1048576"),
    ro("query_cache_size", Global, Int(0, U64), "0"),
    ro("query_cache_type", Both, Enum(&["OFF", "ON", "DEMAND"]), "OFF"),
    rw("query_prealloc_size", Both, Int(8192, U64), "8192"),
    rw("range_alloc_block_size", Both, Int(4096, U32), "4096"),
    rw("range_optimizer_max_mem_size", Both, Int(0, U64), "8388608"),
    rw("read_buffer_size", Both, Blocks(8192, 2147479552, 4096), "131072"),
    rw("read_only", Global, Bool, "OFF"),
    rw("read_rnd_buffer_size", Both, Int(1, 2147483647), "8388608"),
    ro("secure_file_priv", Global, Text, "NULL"),
    ro("server_id", Global, Int(0, U32), "1"),
    ro("server_uuid", Global, Text, ""),
    rw("session_track_gtids", Both, Enum(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF"),
    rw("session_track_schema", Both, Bool, "ON"),
    rw("session_track_state_change", Both, Bool, "OFF"),
    rw("session_track_system_variables", Both, Text, "time_zone,autocommit,character_set_client,character_set_results,character_set_connection"),
    rw("show_create_table_verbosity", Both, Bool, "OFF"),
    ro("skip_name_resolve", Global, Bool, "ON"),
    ro("skip_networking", Global, Bool, "ON"),
    rw("slow_query_log", Global, Bool, "OFF"),
    ro("socket", Global, Text, ""),
    rw("sort_buffer_size", Both, Int(32768, U64), "18446744073709551615"),
    rw("sql_auto_is_null", Both, Bool, "OFF"),
    rw("sql_big_selects", Both, Bool, "ON"),
    rw("sql_buffer_result", Both, Bool, "OFF"),
    rw("sql_log_bin", Session, Bool, "ON"),
    rw("sql_mode", Both, Modes, SQL_MODE_DEFAULT),
    rw("sql_notes", Both, Bool, "ON"),
    rw("sql_quote_show_create", Both, Bool, "ON"),
    rw("sql_safe_updates", Both, Bool, "OFF"),
    rw("sql_select_limit", Both, Int(0, U64), "18446744073709551615"),
    rw("sql_warnings", Both, Bool, "OFF"),
    rw("super_read_only", Global, Bool, "OFF"),
    ro("system_time_zone", Global, Text, "UTC"),
    rw("table_definition_cache", Global, Int(400, 524288), "2000"),
    rw("table_open_cache", Global, Int(1, 524288), "4000"),
    rw("thread_cache_size", Global, Int(0, 16384), "9"),
    ro("thread_handling", Global, Text, "one-thread-per-connection"),
    rw("time_zone", Both, TimeZone, "SYSTEM"),
    rw("timestamp", Session, Moment, "0"),
    ro("tls_version", Global, Text, "TLSv1.2,TLSv1.3"),
    rw("tmp_table_size", Both, Int(1024, U64), "16777216"),
    ro("tmpdir", Global, Text, ""),
    rw("transaction_isolation", Both, ISOLATION, "REPEATABLE-READ"),
    rw("transaction_read_only", Both, Bool, "OFF"),
    rw("unique_checks", Both, Bool, "ON"),
    rw("updatable_views_with_limit", Both, Bool, "ON"),
    ro("version", Global, Text, ""),
    ro("version_comment", Global, Text, ""),
    ro("version_compile_machine", Global, Text, ""),
    ro("version_compile_os", Global, Text, ""),
    rw("wait_timeout", Both, Int(1, 31536000), "28800"),
    ro("warning_count", Session, Int(0, U64), "0"),
    rw("windowing_use_high_precision", Both, Bool, "ON"),
];

/// The definition of a variable, by its name in lower case.
pub fn find(name: &str) -> Option<&'static Definition> {
    DEFINITIONS.binary_search_by(|d| d.name.cmp(name)).ok().map(|i| &DEFINITIONS[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_and_unique() {
        for pair in DEFINITIONS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} {}", pair[0].name, pair[1].name);
        }
        assert!(find("sql_mode").is_some() && find("no_such_variable").is_none());
    }
}
