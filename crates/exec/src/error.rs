//! Errors across the seam: DataFusion's become MySQL's, ours travel through DataFusion unchanged.

use datafusion_common::DataFusionError;
use muster_types::{ErrorCode, SqlError};

/// Wraps an error of ours so that it passes through DataFusion's operators.
pub fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The MySQL error for whatever an operator returned. `limit_bytes`: the memory limit, for the message.
pub fn to_sql(error: &DataFusionError, limit_bytes: usize) -> SqlError {
    let root = error.find_root();
    match root {
        DataFusionError::ResourcesExhausted(detail) => SqlError::new(
            ErrorCode::OutOfMemory,
            format!(
                "Out of memory: the statement needs more than the {} that queries may use ({})",
                in_mib(limit_bytes),
                detail.lines().next().unwrap_or_default()
            ),
        ),
        DataFusionError::External(inner) => from_source(inner.as_ref(), root, limit_bytes),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            arrow_schema::ArrowError::ExternalError(source) => from_source(source.as_ref(), root, limit_bytes),
            arrow_schema::ArrowError::IoError(_, e) => from_io(e),
            // Arrow refuses batches whose text columns grow past its offsets, and divisions we do not use.
            other => from_other(other),
        },
        DataFusionError::IoError(e) => from_io(e),
        other => from_other(other),
    }
}

/// An error that says no more than its sources do, of which one may be the file system's.
fn from_other(error: &(dyn std::error::Error + 'static)) -> SqlError {
    let mut source = error.source();
    while let Some(e) = source {
        match e.downcast_ref::<std::io::Error>() {
            Some(io) => return from_io(io),
            None => source = e.source(),
        }
    }
    SqlError::internal(error)
}

/// Converts an error of a temporary file. Errors of the files of tables are converted by storage.
fn from_io(error: &std::io::Error) -> SqlError {
    match error.kind() {
        std::io::ErrorKind::StorageFull => {
            SqlError::new(ErrorCode::DiskFull, format!("no space left for temporary files: {error}"))
        }
        _ => SqlError::internal(error),
    }
}

fn from_source(
    source: &(dyn std::error::Error + Send + Sync + 'static),
    wrapper: &DataFusionError,
    limit_bytes: usize,
) -> SqlError {
    if let Some(sql) = source.downcast_ref::<SqlError>() {
        return sql.clone();
    }
    if let Some(inner) = source.downcast_ref::<DataFusionError>() {
        return to_sql(inner, limit_bytes);
    }
    if let Some(io) = source.downcast_ref::<std::io::Error>() {
        return from_io(io);
    }
    from_other(wrapper)
}

fn in_mib(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn ours_come_back_as_they_went() {
        let e = SqlError::new(ErrorCode::DataOutOfRange, "x");
        let wrapped = DataFusionError::Shared(Arc::new(external(e.clone()).context("somewhere")));
        assert_eq!(to_sql(&wrapped, 0), e);
        let arrow = arrow_schema::ArrowError::ExternalError(Box::new(e.clone()));
        assert_eq!(to_sql(&DataFusionError::ArrowError(Box::new(arrow), None), 0), e);
    }

    #[test]
    fn memory_errors_name_the_limit() {
        let e = to_sql(&DataFusionError::ResourcesExhausted("no".into()), 8 << 20);
        assert_eq!(e.code, ErrorCode::OutOfMemory);
        assert!(e.message.contains("8.0 MiB"), "{e}");
    }
}
