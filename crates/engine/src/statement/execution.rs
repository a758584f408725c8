//! The environment in which the operators of a query run.

use super::{StatementContext, StatementTables};
use crate::{user_locks::CallsOfSession, variables::Variables};
use muster_exec::{Buffers, ExecContext};
use std::sync::Arc;

pub fn exec_context(context: &StatementContext, tables: Arc<StatementTables>) -> ExecContext {
    let variables = &context.session.variables;
    ExecContext {
        runtime: context.database.runtime().clone(),
        tables,
        view: context.read_view(),
        counters: context.process.counters.clone(),
        warnings: context.diagnostics.warnings.clone(),
        buffers: buffers(variables),
        text_bytes_max: bytes(variables, "max_allowed_packet"),
        shared: Arc::default(),
        working: Vec::new(),
        said_insert_id: {
            let process = context.process.clone();
            Arc::new(move |id| process.say_insert_id(id))
        },
        user_variables: context.session.live_variables.clone(),
        session_calls: {
            let (database, process) = (context.database.clone(), context.process.clone());
            let locks = database.user_locks().clone();
            let has_connection = Arc::new(move |id| database.sessions().get(id).is_some());
            Arc::new(CallsOfSession { locks, process, has_connection })
        },
        parameters: Arc::default(),
        threads: context.database.options().threads,
        node_profiles: None,
    }
}

fn bytes(variables: &Variables, name: &str) -> usize {
    usize::try_from(variables.unsigned(name)).unwrap_or(usize::MAX)
}

/// Sizes of buffers. MySQL and MariaDB name the one of Multi-Range Read differently: the smaller setting counts.
pub fn buffers(variables: &Variables) -> Buffers {
    Buffers {
        join_bytes: bytes(variables, "join_buffer_size"),
        mrr_bytes: bytes(variables, "mrr_buffer_size").min(bytes(variables, "read_rnd_buffer_size")),
        sort_bytes: bytes(variables, "sort_buffer_size"),
    }
}
