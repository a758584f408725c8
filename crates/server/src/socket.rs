//! The Unix socket that the server listens on: its path is taken at start, and given back at a clean end.

use muster_types::{ErrorCode, Result, SqlError};
use std::{
    fs, io,
    os::unix::{
        fs::{FileTypeExt, MetadataExt, PermissionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};
use tokio::net::{UnixListener, UnixSocket};

/// The name of the socket in the data directory, unless another path is asked for.
pub const DEFAULT_NAME: &str = "muster.sock";
/// Bytes of the longest path: `sockaddr_un` has 108, the last of which is zero.
const PATH_BYTES_MAX: usize = 107;
/// The owner and the group of the server's process may connect; everybody else may use TCP, if that is allowed.
const MODE: u32 = 0o660;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// A listening socket. The path is removed when this is dropped, unless it has become somebody else's.
pub struct SocketFile {
    pub listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket.
    identity: (u64, u64),
}

impl SocketFile {
    /// Listens at `path`, where a socket without a server is replaced. Error 1105 if the path is too long, is no
    /// socket, or belongs to a server that is alive.
    pub fn listen(path: &Path) -> Result<SocketFile> {
        let failed = |reason: String| {
            SqlError::new(ErrorCode::Unknown, format!("cannot listen on socket {}: {reason}", path.display()))
        };
        let bytes = path.as_os_str().len();
        if bytes > PATH_BYTES_MAX {
            return Err(failed(format!("the path has {bytes} bytes, and {PATH_BYTES_MAX} are possible")));
        }
        remove_stale(path).map_err(failed)?;
        Self::bind(path).map_err(|e| failed(e.to_string()))
    }

    /// Nobody can connect before the mode is set, since the socket listens only then.
    fn bind(path: &Path) -> io::Result<SocketFile> {
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
        let metadata = fs::symlink_metadata(path)?;
        let listener = socket.listen(BACKLOG)?;
        Ok(SocketFile { listener, path: path.to_path_buf(), identity: (metadata.dev(), metadata.ino()) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let own = fs::symlink_metadata(&self.path).is_ok_and(|m| (m.dev(), m.ino()) == self.identity);
        if own && let Err(e) = fs::remove_file(&self.path) {
            tracing::warn!("{} is left behind: {e}", self.path.display());
        }
    }
}

/// Removes a socket that nobody listens on. The error says why the path cannot be used.
fn remove_stale(path: &Path) -> std::result::Result<(), String> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e.to_string()),
    };
    if !metadata.file_type().is_socket() {
        return Err("there is a file that is no socket".into());
    }
    match UnixStream::connect(path) {
        Ok(_) => Err("another server listens on it".into()),
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(|e| e.to_string()),
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        SocketFile::listen(path).err().map(|e| e.message).unwrap_or_default()
    }

    #[tokio::test]
    async fn a_path_is_taken_and_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(DEFAULT_NAME);
        let first = SocketFile::listen(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        assert!(refusal(&path).ends_with("another server listens on it"), "{}", refusal(&path));
        drop(first);
        assert!(!path.exists());

        // A server that crashed leaves its socket behind.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let second = SocketFile::listen(&path).unwrap();
        // What has been put in the place of the socket meanwhile stays.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        drop(second);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[tokio::test]
    async fn what_is_no_place_for_a_socket() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "kept").unwrap();
        assert!(refusal(&file).ends_with("there is a file that is no socket"), "{}", refusal(&file));
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        let long = directory.path().join("x".repeat(PATH_BYTES_MAX));
        assert!(refusal(&long).ends_with("bytes, and 107 are possible"), "{}", refusal(&long));
        assert!(refusal(&directory.path().join("missing/s")).contains("No such file"));
    }
}
