//! Files of the embedding program (`muster load FILE.. --table t`): CSV with a header, `.tbl`, Arrow IPC.

use super::{RowSource, comes_checked, load_into, parse_name, statement, target};
use crate::{
    catalog::TableEntry,
    dml::{LoadParts, TakeRows, load_rows},
    statement::{StatementContext, enter_to_build},
    tables::storage_error,
};
use muster_formats::{DelimitedFormat, DelimitedOptions, csv_header, read_arrow};
use muster_storage::{DuplicatePolicy, LoadProgress};
use muster_types::{ErrorCode, Result, SqlError};
use std::{
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

/// Longest header line of a CSV file.
const HEADER_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Csv,
    Tbl,
    Arrow,
}

fn kind(path: &Path) -> Result<FileKind> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "csv" => Ok(FileKind::Csv),
        "tbl" => Ok(FileKind::Tbl),
        "arrow" | "arrows" | "ipc" | "feather" => Ok(FileKind::Arrow),
        _ => Err(SqlError::unsupported(format!(
            "loading '{}': the name must end with .csv, .tbl or .arrow",
            path.display()
        ))),
    }
}

/// Loads a file into a table (`name` or `database.name`) and returns the number of rows.
pub fn load_file(
    context: &Arc<StatementContext>,
    table: &str,
    file: &Path,
    progress: Arc<LoadProgress>,
) -> Result<u64> {
    let kind = kind(file)?;
    let (name, policy) = (parse_name(table), DuplicatePolicy::Error);
    let entry = target(context, &context.tables.current(), &name)?;
    if context.transaction.is_open() || comes_checked(context, &entry) {
        let _admitted = enter_to_build(context)?;
        let table = (entry.def.database.as_str(), entry.def.name.as_str());
        return load_rows(context, table, policy, LoadParts::default(), |take| read(context, kind, file, &entry, take))
            .map(|(rows, _)| rows);
    }
    let (rows, _) = load_into(context, &name, policy, progress, RowSource::Files, |entry, loader| {
        read(context, kind, file, entry, &mut |batch, _| loader.push(batch).map_err(|e| storage_error(&entry.def, e)))
    })?;
    Ok(rows)
}

fn read(
    context: &StatementContext,
    kind: FileKind,
    path: &Path,
    entry: &TableEntry,
    push: TakeRows<'_>,
) -> Result<u64> {
    let columns = statement::target_columns(context, entry)?;
    let shown = path.display().to_string();
    let open = || {
        File::open(path).map_err(|e| SqlError::new(ErrorCode::FileNotFound, format!("File '{shown}' not found ({e})")))
    };
    if kind == FileKind::Arrow {
        return read_arrow(path, &columns, &mut |batch| push(&batch, &mut |_| ()));
    }
    let mut file = open()?;
    let mut options = match kind {
        FileKind::Tbl => DelimitedOptions::all_columns(DelimitedFormat::tbl(), columns, &shown),
        _ => {
            let header = header(&file, &shown)?;
            file.seek(SeekFrom::Start(0)).map_err(|e| muster_storage::StorageError::io(path, e))?;
            let (format, fields) = csv_header(&header, &columns)?;
            DelimitedOptions { fields, ..DelimitedOptions::all_columns(format, columns, &shown) }
        }
    };
    options.threads = context.database.options().threads;
    Ok(statement::read(context, &mut file, &options, push)?.rows)
}

/// The first line with its end.
fn header(file: &File, shown: &str) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = BufReader::new(std::io::Read::take(file, HEADER_BYTES_MAX));
    bounded
        .read_until(b'\n', &mut line)
        .map_err(|e| SqlError::new(ErrorCode::CantReadFile, format!("Can't read '{shown}' ({e})")))?;
    if line.len() as u64 == HEADER_BYTES_MAX {
        let message = format!("{shown}: the header line is longer than {HEADER_BYTES_MAX} bytes");
        return Err(SqlError::new(ErrorCode::WrongArguments, message));
    }
    Ok(line)
}
