//! Files of the server that a statement names: only with the FILE privilege, and only below `secure_file_priv`.

use crate::{accounts::Privilege, statement::StatementContext};
use muster_types::{ErrorCode, Result, SqlError};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

fn outside() -> SqlError {
    let message = "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement";
    SqlError::new(ErrorCode::ReadOnly, message)
}

/// The path that is meant; relative ones begin in `secure_file_priv`.
fn wanted(context: &StatementContext, path: &str) -> Result<PathBuf> {
    if !context.rights.global().has(Privilege::File) {
        return Err(context.rights.denied());
    }
    let allowed = context.database.import_dir();
    Ok(if Path::new(path).is_absolute() { PathBuf::from(path) } else { allowed.join(path) })
}

/// The path of a file that is to be made. Its folder has to be there.
pub fn new_path(context: &StatementContext, path: &str) -> Result<PathBuf> {
    let wanted = wanted(context, path)?;
    let root = context.database.import_dir().canonicalize().map_err(|_| outside())?;
    let folder = wanted.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder.filter(|folder| folder.starts_with(&root)), wanted.file_name()) {
        (Some(folder), Some(name)) => Ok(folder.join(name)),
        _ => Err(outside()),
    }
}

/// Opens a file that is there.
pub fn open(context: &StatementContext, path: &str) -> Result<File> {
    let wanted = wanted(context, path)?;
    let allowed = context.database.import_dir();
    // Links are followed before the comparison, so that none leads out. Whether a file elsewhere exists is not told.
    let root = allowed.canonicalize().map_err(|_| outside())?;
    let real = match wanted.canonicalize() {
        Ok(real) => real,
        Err(e) if wanted.parent().and_then(|p| p.canonicalize().ok()).is_some_and(|p| p.starts_with(&root)) => {
            let message = format!("File '{path}' not found (OS errno {} - {e})", e.raw_os_error().unwrap_or(0));
            return Err(SqlError::new(ErrorCode::FileNotFound, message));
        }
        Err(_) => return Err(outside()),
    };
    if !real.starts_with(&root) {
        return Err(outside());
    }
    File::open(&real).map_err(|e| {
        let message = format!("Can't get stat of '{path}' (OS errno {} - {e})", e.raw_os_error().unwrap_or(0));
        SqlError::new(ErrorCode::CantReadFile, message)
    })
}
