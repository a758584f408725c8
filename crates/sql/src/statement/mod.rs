//! The contents of one statement, before any name is looked up.

mod account;
mod alter;
mod ddl;
mod deprecated;
mod dml;
mod handler;
mod query;
mod session;
mod show;
mod transaction;

pub use account::*;
pub use alter::*;
pub use ddl::*;
pub use deprecated::*;
pub use dml::*;
pub use handler::*;
pub use query::*;
pub use session::*;
pub use show::*;
pub use transaction::*;

/// One SQL statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Query(Box<Query>),
    /// `SELECT .. INTO @a, @b`.
    SelectInto {
        query: Box<Query>,
        /// Names of user variables.
        variables: Vec<String>,
        /// True if the clause stands in front of a locking clause, which is deprecated.
        precedes_lock: bool,
    },
    /// `SELECT .. INTO OUTFILE`, `SELECT .. INTO DUMPFILE`.
    SelectIntoFile {
        query: Box<Query>,
        file: Box<OutFile>,
        precedes_lock: bool,
    },
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Explain(Explain),
    /// `EXPLAIN FOR CONNECTION id`.
    ExplainConnection {
        analyze: bool,
        format: Option<ExplainFormat>,
        into: Option<String>,
        id: u64,
    },
    /// `DESCRIBE table [column | 'pattern']`, `EXPLAIN table`, `SHOW COLUMNS` in short.
    Describe {
        table: TableName,
        /// A column name or a LIKE pattern.
        pattern: Option<String>,
    },

    CreateDatabase(CreateDatabase),
    AlterDatabase(CreateDatabase),
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    CreateTable(Box<CreateTable>),
    CreateTableSelect(Box<CreateTableSelect>),
    CreateIndex(CreateIndex),
    DropIndex(DropIndex),
    AlterTable(Box<AlterTable>),
    DropTable {
        names: Vec<TableName>,
        if_exists: bool,
        /// Only temporary tables.
        temporary: bool,
    },
    TruncateTable(TableName),
    RenameTable(Vec<(TableName, TableName)>),
    CreateView(CreateView),
    DropProgram {
        kind: ProgramKind,
        name: TableName,
        if_exists: bool,
    },
    DropView {
        names: Vec<TableName>,
        if_exists: bool,
    },
    AnalyzeTable(Analyze),
    CheckTable(Vec<TableName>),
    OptimizeTable(Vec<TableName>),
    RepairTable(Vec<TableName>),
    ChecksumTable {
        names: Vec<TableName>,
        /// QUICK, whose checksum only engines have that keep one.
        quick: bool,
    },
    /// `EXPORT STATISTICS FOR TABLE t, .. INTO 'file'`.
    ExportStatistics {
        tables: Vec<TableName>,
        path: String,
    },
    /// `IMPORT STATISTICS FROM 'file'`.
    ImportStatistics {
        path: String,
    },
    LoadData(Box<LoadData>),

    Set(Vec<SetItem>),
    Show(Show),
    Use(String),
    Do(Vec<ScalarExpr>),
    Handler(Handler),
    Kill {
        query_only: bool,
        id: ScalarExpr,
    },
    Flush(Vec<FlushOption>),
    Shutdown,
    Begin(Begin),
    Commit(Completion),
    Rollback(Completion),
    Savepoint(String),
    RollbackToSavepoint(String),
    ReleaseSavepoint(String),
    LockTables(Vec<TableLock>),
    UnlockTables,
    Prepare {
        name: String,
        source: PrepareSource,
    },
    /// `EXECUTE name USING @a, @b`.
    ExecutePrepared {
        name: String,
        variables: Vec<String>,
    },
    Deallocate {
        name: String,
    },

    Account(AccountStatement),
    SetRole(RoleSet),
}

/// ANALYZE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct Analyze {
    pub tables: Vec<TableName>,
    /// `None`: makes the statistics anew.
    pub histograms: Option<HistogramChange>,
}

/// What ANALYZE TABLE does with the histograms of some columns.
#[derive(Debug, Clone, PartialEq)]
pub enum HistogramChange {
    Update { columns: Vec<String>, buckets: u64 },
    Drop { columns: Vec<String> },
}

/// `[database.]name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    pub database: Option<String>,
    pub name: String,
}

impl TableName {
    /// Database and name of the table; `database`: where it is if the statement does not say so.
    pub fn in_database(&self, database: &str) -> (String, String) {
        (self.database.clone().unwrap_or_else(|| database.to_owned()), self.name.clone())
    }
}

/// Output of EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Traditional,
    Json,
    Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// Runs the statement and shows what happened.
    pub analyze: bool,
    /// `None`: no FORMAT was given (MySQL: `@@explain_format`; TREE for EXPLAIN ANALYZE).
    pub format: Option<ExplainFormat>,
    /// The user variable that the text goes to.
    pub into: Option<String>,
    pub statement: Box<Statement>,
}

/// Number of `?` in a statement. Only queries and expressions can hold them.
pub fn count_parameters(statement: &Statement) -> usize {
    let most = |exprs: &mut dyn Iterator<Item = &ScalarExpr>| exprs.map(ScalarExpr::parameters).max().unwrap_or(0);
    match statement {
        Statement::Query(query) | Statement::SelectInto { query, .. } | Statement::SelectIntoFile { query, .. } => {
            query.parameters()
        }
        Statement::Insert(insert) => insert.parameters(),
        Statement::Update(update) => update.parameters(),
        Statement::Delete(delete) => delete.parameters(),
        Statement::CreateTableSelect(create) => create.query.parameters(),
        Statement::Explain(explain) => count_parameters(&explain.statement),
        Statement::Do(exprs) => most(&mut exprs.iter()),
        Statement::Kill { id, .. } => id.parameters(),
        Statement::Set(items) => most(&mut items.iter().filter_map(|item| match item {
            SetItem::User { value, .. } | SetItem::Variable { value: SetValue::Expr(value), .. } => Some(value),
            _ => None,
        })),
        _ => 0,
    }
}
