//! Files of the embedding program (`muster load FILE.. --table t`): CSV with a header, `.tbl`, Arrow IPC.

use super::{RowSource, load_into, parse_name, statement};
use crate::{statement::StatementContext, tables::storage_error};
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
pub fn load_file(context: &StatementContext, table: &str, file: &Path, progress: Arc<LoadProgress>) -> Result<u64> {
    let kind = kind(file)?;
    let (policy, source) = (DuplicatePolicy::Error, RowSource::Files);
    let (rows, _) = load_into(context, &parse_name(table), policy, progress, source, |entry, loader| {
        read(context, kind, file, entry, loader)
    })?;
    Ok(rows)
}

fn read(
    context: &StatementContext,
    kind: FileKind,
    path: &Path,
    entry: &crate::catalog::TableEntry,
    loader: &mut muster_storage::TableLoader,
) -> Result<u64> {
    let columns = statement::target_columns(context, entry)?;
    let shown = path.display().to_string();
    let open = || {
        File::open(path).map_err(|e| SqlError::new(ErrorCode::FileNotFound, format!("File '{shown}' not found ({e})")))
    };
    if kind == FileKind::Arrow {
        return read_arrow(path, &columns, &mut |batch| loader.push(&batch).map_err(|e| storage_error(&entry.def, e)));
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
    Ok(statement::read(context, entry, &mut file, &options, loader)?.rows)
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
