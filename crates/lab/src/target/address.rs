//! Where a server is: `mysql://user:password@host:port/database?socket=/path`.

use mysql_async::{Opts, OptsBuilder};

/// The address of a server with MySQL's protocol, and the login.
///
/// With `?socket=PATH` the connection goes through that Unix socket, and host and port say nothing; otherwise it goes
/// over TCP, to port 3306 if none is given. Characters that URLs reserve are written as `%XX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    options: Opts,
}

/// A text that is no address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no address of the form mysql://user:password@host:port/database or \
         mysql://user:password@localhost/database?socket=/path ({1})"
)]
pub struct InvalidAddress(String, String);

impl std::str::FromStr for ServerAddress {
    type Err = InvalidAddress;

    fn from_str(url: &str) -> Result<ServerAddress, InvalidAddress> {
        let options = Opts::from_url(url).map_err(|e| InvalidAddress(url.into(), e.to_string()))?;
        // The path chosen is kept to: the library would leave TCP for a socket that the server names.
        Ok(ServerAddress { options: OptsBuilder::from_opts(options).prefer_socket(false).stmt_cache_size(0).into() })
    }
}

impl ServerAddress {
    /// The database that the address names.
    pub fn database(&self) -> Option<&str> {
        self.options.db_name()
    }

    /// The server for reports, without the password.
    pub fn shown(&self) -> String {
        match self.options.socket() {
            Some(path) => path.to_owned(),
            None => format!("{}:{}", self.options.ip_or_hostname(), self.options.tcp_port()),
        }
    }

    /// Options of a connection to a database of the server, or to none.
    pub(super) fn options(&self, database: Option<&str>) -> Opts {
        OptsBuilder::from_opts(self.options.clone()).db_name(database).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_and_sockets() {
        let tcp: ServerAddress = "mysql://me:s%40crt@10.0.0.1:3307/shop".parse().unwrap();
        assert_eq!((tcp.database(), tcp.shown()), (Some("shop"), "10.0.0.1:3307".into()));
        assert_eq!((tcp.options.user(), tcp.options.pass()), (Some("me"), Some("s@crt")));
        let socket: ServerAddress = "mysql://root@localhost/?socket=/run/s.sock".parse().unwrap();
        assert_eq!((socket.database(), socket.shown()), (None, "/run/s.sock".into()));
        assert_eq!(socket.options(Some("tpcc")).db_name(), Some("tpcc"));
        for wrong in ["postgres://x/y", "/run/s.sock", "mysql:", "mysql://x/y?nothing=1"] {
            assert!(wrong.parse::<ServerAddress>().is_err(), "{wrong}");
        }
    }
}
