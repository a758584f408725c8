//! The bytes that go over the wire in each character set.

mod client;

use client::{Client, UTF8MB4};

const LATIN1: u8 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_login_says_what_the_client_speaks() {
    let (address, _directory) = client::serve(10).await;
    let mut client = Client::login(address, LATIN1).await;
    let (columns, values) = client.row(b"select 'caf\xE9' as `\xE9`, _utf8mb4 x'E6BCA2' as b, 1 as n").await;
    assert_eq!(columns, [(b"\xE9".to_vec(), 8, 4), (b"b".to_vec(), 8, 1), (b"n".to_vec(), 63, 2)]);
    assert_eq!(values, [b"caf\xE9".to_vec(), b"?".to_vec(), b"1".to_vec()]);
    assert_eq!(client.error(b"select `\xE9`").await, (1054, b"Unknown column '\xE9' in 'field list'".to_vec()));

    let mut client = Client::login(address, UTF8MB4).await;
    let (columns, values) = client.row("select 'café' as `é`".as_bytes()).await;
    assert_eq!(columns, [("é".as_bytes().to_vec(), 255, 16)]);
    assert_eq!(values, ["café".as_bytes()]);
    let invalid = (1300, b"Invalid utf8mb4 character string: 'E9'".to_vec());
    assert_eq!(client.error(b"select caf\xE9").await, invalid);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn set_names_changes_both_directions() {
    let (address, _directory) = client::serve(10).await;
    let mut client = Client::login(address, UTF8MB4).await;
    client.ok(b"set names latin1").await;
    assert_eq!(client.row(b"select char_length('\xE9'), '\xE9'").await.1, [b"1", b"\xE9"]);
    client.ok(b"set character_set_results = utf8mb3").await;
    let (columns, values) = client.row(b"select '\xE9' as a, _utf8mb4 x'F09F9880' as b").await;
    assert_eq!(columns, [(b"a".to_vec(), 33, 3), (b"b".to_vec(), 33, 3)]);
    assert_eq!(values, ["é".as_bytes(), b"?"]);
    // Each column in its own character set.
    client.ok(b"set character_set_results = null").await;
    let (columns, values) = client.row(b"select '\xE9' as a, _utf8mb4 x'C3A9' as b").await;
    assert_eq!(columns, [(b"a".to_vec(), 8, 1), (b"b".to_vec(), 255, 4)]);
    assert_eq!(values, [&b"\xE9"[..], "é".as_bytes()]);
    client.ok(b"set names ascii").await;
    assert_eq!(client.error(b"select _utf8mb4 x'C3A9' from nowhere.\xE9").await.0, 1300);
    client.ok(b"set names utf8mb4").await;
    client.ok(b"set character_set_results = ascii").await;
    let message = b"Unknown column '\\00E9' in 'field list'".to_vec();
    assert_eq!(client.error("select `é`".as_bytes()).await, (1054, message));
}
