//! One connection: greeting, login, then commands until the client leaves.

use crate::{
    ConnectionError,
    auth::{self, Nonce, Proof, caching_sha2},
    command,
    infile::{ClientFiles, InfileRequest},
    listener::Shared,
    packet::PacketStream,
    reply::{self, ResultCharset, short_rows::ShortRows},
    stream::{Socket, Stream},
};
use muster_engine::{Database, Session, SessionOptions, accounts::LoginAttempt};
use muster_protocol::{Fields, Statement};
use muster_types::{
    ErrorCode, SqlError,
    charset::{self, Charset},
};
use mysql_common::{
    constants::{CapabilityFlags, StatusFlags},
    io::ParseBuf,
    packets::HandshakeResponse,
    proto::MyDeserialize,
};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Largest packet before the client has proved who it is.
const LOGIN_PAYLOAD_MAX: usize = 1 << 16;
/// An SSL request is the first part of a login packet.
const SSL_REQUEST_BYTES: usize = 32;
/// The user of a session whose client has not logged in yet.
const UNAUTHENTICATED: &str = "unauthenticated user";
/// The character set that the greeting offers.
const DEFAULT_CHARSET: Charset = Charset::Utf8mb4;

/// A connection that is logged in.
pub(crate) struct Connection {
    pub shared: Arc<Shared>,
    pub packets: PacketStream,
    pub capabilities: CapabilityFlags,
    /// Taken while a statement runs in a task of its own.
    pub session: Option<Session>,
    pub statements: HashMap<u32, Statement>,
    /// Memory for the rows of the short path.
    pub short_rows: ShortRows,
    pub infile: mpsc::UnboundedReceiver<InfileRequest>,
    pub multi_statements: bool,
    pub nonce: Nonce,
    pub host: String,
}

/// The capabilities of this server.
fn offered() -> CapabilityFlags {
    use CapabilityFlags as C;
    C::CLIENT_LONG_PASSWORD
        | C::CLIENT_FOUND_ROWS
        | C::CLIENT_LONG_FLAG
        | C::CLIENT_CONNECT_WITH_DB
        | C::CLIENT_LOCAL_FILES
        | C::CLIENT_IGNORE_SPACE
        | C::CLIENT_PROTOCOL_41
        | C::CLIENT_INTERACTIVE
        | C::CLIENT_SSL
        | C::CLIENT_TRANSACTIONS
        | C::CLIENT_RESERVED
        | C::CLIENT_SECURE_CONNECTION
        | C::CLIENT_MULTI_STATEMENTS
        | C::CLIENT_MULTI_RESULTS
        | C::CLIENT_PS_MULTI_RESULTS
        | C::CLIENT_PLUGIN_AUTH
        | C::CLIENT_CONNECT_ATTRS
        | C::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | C::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS
        | C::CLIENT_DEPRECATE_EOF
}

/// Serves a connection from `host` to its end.
pub(crate) async fn serve(shared: Arc<Shared>, socket: Socket, host: String) -> Result<(), ConnectionError> {
    let mut packets = PacketStream::new(Stream::Plain(socket));
    let mut slot = Slot::take(&shared);
    if slot.is_none() {
        packets.write(&reply::error(&full(), CapabilityFlags::CLIENT_PROTOCOL_41, ResultCharset::UTF8)).await?;
        return packets.flush().await;
    }
    // A login that takes longer is dropped, and its slot is free again.
    let connect_timeout = seconds(&shared.database.variable("connect_timeout"));
    let login = tokio::time::timeout(connect_timeout, Connection::login(shared.clone(), packets, host, &mut slot));
    let mut connection = login.await.map_err(|_| ConnectionError::Closed)??;
    let killed = connection.session().killed();
    let served = tokio::select! {
        served = command::serve(&mut connection) => served,
        () = killed.cancelled() => Err(ConnectionError::Closed),
    };
    if let Err(ConnectionError::Refused(e)) = &served {
        connection.error(e).await?;
        connection.packets.flush().await?;
    }
    served
}

/// A place among `max_connections`, or the one beside them that is for SUPER.
struct Slot {
    _permit: OwnedSemaphorePermit,
    reserved: bool,
}

impl Slot {
    fn take(shared: &Shared) -> Option<Slot> {
        let of = |slots: &Arc<Semaphore>, reserved| {
            slots.clone().try_acquire_owned().ok().map(|permit| Slot { _permit: permit, reserved })
        };
        of(&shared.slots, false).or_else(|| of(&shared.reserved_slot, true))
    }
}

fn full() -> SqlError {
    SqlError::new(ErrorCode::TooManyConnections, "Too many connections")
}

/// A timeout variable.
fn seconds(variable: &str) -> Duration {
    Duration::from_secs(variable.parse().unwrap_or(u32::MAX.into()))
}

impl Connection {
    async fn login(
        shared: Arc<Shared>,
        mut packets: PacketStream,
        host: String,
        slot: &mut Option<Slot>,
    ) -> Result<Connection, ConnectionError> {
        let nonce = auth::nonce()?;
        let (sender, infile) = mpsc::unbounded_channel();
        packets.max_payload = LOGIN_PAYLOAD_MAX;
        let files_allowed = Arc::new(AtomicBool::new(false));
        // The session is made first: its number stands in the greeting.
        let mut session = shared.database.session(SessionOptions {
            user: UNAUTHENTICATED.into(),
            host: host.clone(),
            database: None,
            local_files: Arc::new(ClientFiles { allowed: files_allowed.clone(), requests: sender }),
        });
        packets.write(&greeting(&shared.database.variable("version"), session.id(), &nonce)).await?;
        packets.flush().await?;

        let mut payload = packets.read().await?;
        if payload.len() == SSL_REQUEST_BYTES {
            packets = packets.upgrade(&shared.tls).await?;
            payload = packets.read().await?;
        }
        let response = HandshakeResponse::deserialize((), &mut ParseBuf(&payload))
            .map_err(|_| ConnectionError::Refused(SqlError::new(ErrorCode::HandshakeError, "Bad handshake")));
        let response = match response {
            Ok(response) => response,
            Err(e) => return refuse(packets, e, ResultCharset::UTF8).await,
        };
        let collation = u16::from(response.collation());
        let client = Charset::of_collation_id(collation).unwrap_or(DEFAULT_CHARSET);
        let results = ResultCharset(Some(client));
        let capabilities = response.capabilities() & offered();
        let user = text(client, response.user());
        let plugin = response
            .auth_plugin()
            .map_or(auth::native::NAME.into(), |p| String::from_utf8_lossy(p.as_bytes()).into_owned());
        let proof = Proof { user: &user, host: &host, plugin: &plugin, answer: response.scramble_buf(), nonce };
        let had_password = !response.scramble_buf().is_empty();
        let proved = auth::check(&mut packets, &shared.database, &shared.keys, proof).await?;
        let attempt = attempt((&user, &host), proved, had_password, &packets, capabilities);
        files_allowed.store(capabilities.contains(CapabilityFlags::CLIENT_LOCAL_FILES), Relaxed);
        session.set_counts_found_rows(capabilities.contains(CapabilityFlags::CLIENT_FOUND_ROWS));
        if capabilities.contains(CapabilityFlags::CLIENT_INTERACTIVE) {
            session.set_interactive();
        }
        let database = response.db_name().map(|d| text(client, d)).filter(|d| !d.is_empty());
        if let Err(e) = enter(&shared.database, &mut session, &attempt, database.as_deref()) {
            return refuse(packets, ConnectionError::Refused(e), results).await;
        }
        if slot.as_ref().is_some_and(|slot| slot.reserved) {
            match Slot::take(&shared).filter(|free| !free.reserved) {
                Some(free) => *slot = Some(free),
                None if session.is_super() => {}
                None => {
                    // The slot is free again when the client knows.
                    *slot = None;
                    return refuse(packets, ConnectionError::Refused(full()), results).await;
                }
            }
        }
        session.set_client_collation(collation);
        if let Some(cipher) = packets.cipher() {
            session.set_connection_status("Ssl_cipher", &cipher);
        }
        let mut connection = Connection {
            multi_statements: capabilities.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS),
            shared,
            packets,
            capabilities,
            session: Some(session),
            statements: HashMap::new(),
            short_rows: ShortRows::default(),
            infile,
            nonce,
            host,
        };
        let max_payload = connection.session().variable("max_allowed_packet");
        connection.packets.max_payload = max_payload.parse().unwrap_or(LOGIN_PAYLOAD_MAX);
        connection.packets.read_ahead();
        connection.ok(0, 0, "", false).await?;
        connection.packets.flush().await?;
        Ok(connection)
    }

    pub fn session(&self) -> &Session {
        self.session.as_ref().expect("the session is here between statements")
    }

    pub fn session_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("the session is here between statements")
    }

    pub fn status(&self, more_results: bool) -> reply::Status {
        let warnings = self.session.as_ref().map_or(0, |s| s.warning_count());
        let mut status = self.status_without_warnings();
        status.flags.set(StatusFlags::SERVER_MORE_RESULTS_EXISTS, more_results);
        status.warnings = warnings.min(u16::MAX.into()) as u16;
        status
    }

    /// The status behind a statement that had no warning.
    pub fn status_without_warnings(&self) -> reply::Status {
        let mut flags = StatusFlags::empty();
        if let Some(session) = &self.session {
            let status = session.transaction_status();
            flags.set(StatusFlags::SERVER_STATUS_AUTOCOMMIT, status.autocommit);
            flags.set(StatusFlags::SERVER_STATUS_IN_TRANS, status.in_transaction);
            flags.set(StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES, session.no_backslash_escapes());
            flags.set(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY, status.in_transaction && status.read_only);
        }
        reply::Status { flags, warnings: 0 }
    }

    pub async fn ok(
        &mut self,
        affected_rows: u64,
        last_insert_id: u64,
        info: &str,
        more_results: bool,
    ) -> Result<(), ConnectionError> {
        let payload = reply::ok(0, affected_rows, last_insert_id, self.status(more_results), info);
        self.packets.write(&payload).await
    }

    pub async fn error(&mut self, e: &SqlError) -> Result<(), ConnectionError> {
        self.packets.write(&reply::error(e, self.capabilities, self.charset())).await
    }

    /// The character set of results.
    pub fn charset(&self) -> ResultCharset {
        self.session.as_ref().map_or(ResultCharset::UTF8, |s| ResultCharset(s.results_charset()))
    }

    /// A name that the client sent.
    pub fn text(&self, bytes: &[u8]) -> String {
        text(self.session().client_charset(), bytes)
    }

    /// COM_CHANGE_USER: the client proves to be another user, on the same connection.
    pub async fn change_user(&mut self, mut fields: Fields<'_>) -> Result<(), ConnectionError> {
        let user = fields.null_bytes();
        let malformed = || ConnectionError::Refused(SqlError::new(ErrorCode::HandshakeError, "Bad handshake"));
        let length = fields.u8().ok_or_else(malformed)? as usize;
        let answer = fields.bytes(length).ok_or_else(malformed)?;
        let database = fields.null_bytes();
        let collation = fields.u16();
        let client = collation.and_then(Charset::of_collation_id).unwrap_or(DEFAULT_CHARSET);
        let (user, database) = (text(client, user), text(client, database));
        let plugin = match fields.null_bytes() {
            [] => caching_sha2::NAME.to_string(),
            name => text(client, name),
        };
        let host = self.host.clone();
        let proof = Proof { user: &user, host: &host, plugin: &plugin, answer, nonce: self.nonce };
        let Shared { database: engine, keys, .. } = &*self.shared;
        let proved = auth::check(&mut self.packets, engine, keys, proof).await?;
        let attempt = attempt((&user, &host), proved, !answer.is_empty(), &self.packets, self.capabilities);
        let engine = Arc::clone(engine);
        self.statements.clear();
        let database = (!database.is_empty()).then_some(database.as_str());
        enter(&engine, self.session_mut(), &attempt, database).map_err(ConnectionError::Refused)?;
        if let Some(collation) = collation {
            self.session_mut().set_client_collation(collation);
        }
        self.ok(0, 0, "", false).await
    }
}

/// Lets a client in whose proof has been checked, as the session's user. Errors: 1045, 1226, 1862, 3118, 3955, and
/// those of the database that it asks for.
fn enter(
    engine: &Database,
    session: &mut Session,
    attempt: &LoginAttempt<'_>,
    database: Option<&str>,
) -> Result<(), SqlError> {
    let admitted = engine.admit(attempt)?;
    session.change_user(attempt.user, attempt.host, database)?;
    if admitted.must_change_password {
        session.set_must_change_password();
    }
    Ok(())
}

/// A name in the client's character set; what is not of it is shown as such.
fn text(charset: Charset, bytes: &[u8]) -> String {
    charset::decode(charset, bytes)
        .map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), std::borrow::Cow::into_owned)
}

/// A client that has said who it is.
fn attempt<'a>(
    (user, host): (&'a str, &'a str),
    proved: bool,
    with_password: bool,
    packets: &PacketStream,
    capabilities: CapabilityFlags,
) -> LoginAttempt<'a> {
    let knows_expiry = capabilities.contains(CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS);
    LoginAttempt { user, host, proved, with_password, encrypted: packets.cipher().is_some(), knows_expiry }
}

/// Tells the client why, before the connection is closed.
async fn refuse(
    mut packets: PacketStream,
    e: ConnectionError,
    charset: ResultCharset,
) -> Result<Connection, ConnectionError> {
    if let ConnectionError::Refused(error) = &e {
        packets.write(&reply::error(error, CapabilityFlags::CLIENT_PROTOCOL_41, charset)).await?;
        packets.flush().await?;
    }
    Err(e)
}

/// The first packet: protocol 10, version, connection number, challenge, capabilities.
fn greeting(version: &str, id: u32, nonce: &Nonce) -> Vec<u8> {
    let capabilities = offered().bits().to_le_bytes();
    let mut out = vec![10];
    out.extend_from_slice(version.as_bytes());
    out.push(0);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&nonce[..8]);
    out.push(0);
    out.extend_from_slice(&capabilities[..2]);
    out.push(DEFAULT_CHARSET.default_collation_id() as u8);
    out.extend_from_slice(&StatusFlags::SERVER_STATUS_AUTOCOMMIT.bits().to_le_bytes());
    out.extend_from_slice(&capabilities[2..]);
    out.push(nonce.len() as u8 + 1);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&nonce[8..]);
    out.push(0);
    out.extend_from_slice(caching_sha2::NAME.as_bytes());
    out.push(0);
    out
}
