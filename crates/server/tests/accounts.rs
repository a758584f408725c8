//! Logins, and what a client may do whose password has expired.

mod client;

use client::{Client, UTF8MB4};

/// CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS.
const KNOWS_EXPIRY: u32 = 1 << 22;
const COM_INIT_DB: u8 = 0x02;
const COM_CHANGE_USER: u8 = 0x11;

/// The error of a packet; `None` for another packet.
fn error(packet: &[u8]) -> Option<u16> {
    (packet[0] == 0xFF).then(|| u16::from_le_bytes([packet[1], packet[2]]))
}

/// The error of a login without a password.
async fn login(address: std::net::SocketAddr, user: &str, more: u32) -> (Client, Option<u16>) {
    let mut client = Client::connect(address).await;
    let answer = client.answer(user, UTF8MB4, more).await;
    (client, error(&answer))
}

/// Asks to go on as another user without a password.
async fn change_user(client: &mut Client, user: &str) -> Option<u16> {
    let mut body = user.as_bytes().to_vec();
    body.extend(b"\0\0\0");
    body.extend([UTF8MB4, 0]);
    body.extend(b"caching_sha2_password\0");
    error(&client.send_command(COM_CHANGE_USER, &body).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_accounts_and_roles_do_not_log_in() {
    let (address, _directory) = client::serve(20).await;
    let mut root = Client::login(address, UTF8MB4).await;
    root.ok(b"CREATE USER eve ACCOUNT LOCK").await;
    root.ok(b"CREATE ROLE r").await;
    assert_eq!(login(address, "eve", 0).await.1, Some(3118));
    assert_eq!(login(address, "r", KNOWS_EXPIRY).await.1, Some(3118));
    assert_eq!(login(address, "nobody", 0).await.1, Some(1045));
    root.ok(b"ALTER USER eve ACCOUNT UNLOCK").await;
    let (mut eve, refused) = login(address, "eve", 0).await;
    assert_eq!(refused, None);
    // A client that is in stays in, but does not come in again.
    root.ok(b"ALTER USER eve ACCOUNT LOCK").await;
    eve.ok(b"DO 1").await;
    assert_eq!(change_user(&mut eve, "eve").await, Some(3118));
    root.ok(b"CREATE USER bob WITH MAX_USER_CONNECTIONS 1").await;
    let (_bob, refused) = login(address, "bob", 0).await;
    assert_eq!(refused, None);
    assert_eq!(login(address, "bob", 0).await.1, Some(1226));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_password_is_changed_before_anything_else() {
    let (address, _directory) = client::serve(20).await;
    let mut root = Client::login(address, UTF8MB4).await;
    root.ok(b"CREATE USER eve PASSWORD EXPIRE").await;
    assert_eq!(login(address, "eve", 0).await.1, Some(1862));
    let (mut eve, refused) = login(address, "eve", KNOWS_EXPIRY).await;
    assert_eq!(refused, None);
    assert_eq!(eve.error(b"DO 1").await.0, 1820);
    assert_eq!(error(&eve.send_command(COM_INIT_DB, b"information_schema").await), Some(1820));
    eve.ok(b"ALTER USER USER() IDENTIFIED BY ''").await;
    eve.ok(b"DO 1").await;
    assert_eq!(error(&eve.send_command(COM_INIT_DB, b"information_schema").await), None);
    root.ok(b"ALTER USER eve PASSWORD EXPIRE").await;
    assert_eq!(change_user(&mut root, "eve").await, Some(1862));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn default_roles_are_active_after_a_login() {
    let (address, _directory) = client::serve(20).await;
    let mut root = Client::login(address, UTF8MB4).await;
    for statement in ["CREATE USER eve", "CREATE ROLE r, s", "GRANT r, s TO eve", "SET DEFAULT ROLE s TO eve"] {
        root.ok(statement.as_bytes()).await;
    }
    let (mut eve, refused) = login(address, "eve", 0).await;
    assert_eq!(refused, None);
    assert_eq!(eve.row(b"SELECT CURRENT_ROLE()").await.1, [b"`s`@`%`".to_vec()]);
    eve.ok(b"SET ROLE ALL").await;
    assert_eq!(eve.row(b"SELECT CURRENT_ROLE()").await.1, [b"`r`@`%`,`s`@`%`".to_vec()]);
    assert_eq!(change_user(&mut eve, "eve").await, None);
    assert_eq!(eve.row(b"SELECT CURRENT_ROLE()").await.1, [b"`s`@`%`".to_vec()]);
}
