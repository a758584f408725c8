//! Reads any bytes that a client sends; the worst outcome is an error. Called by the suite with random bytes, and by
//! `fuzz/`.

use crate::{Fields, Statement, packet, statement_id};
use muster_types::charset::Charset;
use mysql_common::{io::ParseBuf, packets::HandshakeResponse, proto::MyDeserialize};
use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// Bytes of payload accepted.
const PAYLOAD_MAX: usize = 1 << 16;

/// Reads packets off the bytes as off a socket, and each payload as everything that a payload can be.
pub fn packet_reader(bytes: &[u8]) {
    let (mut stream, mut sequence) = (bytes, 0);
    while let Ok(payload) = ready(packet::read(&mut stream, &mut sequence, PAYLOAD_MAX)) {
        assert!(payload.len() <= PAYLOAD_MAX);
        let _ = HandshakeResponse::deserialize((), &mut ParseBuf(&payload));
        fields(&payload);
        execution(&payload);
    }
}

/// The first byte of each step says what is read next.
fn fields(payload: &[u8]) {
    let mut fields = Fields::new(payload);
    while let Some(step) = fields.u8() {
        let before = fields.len();
        let taken = match step % 8 {
            0 => fields.u16().map_or(0, |_| 2),
            1 => fields.u32().map_or(0, |_| 4),
            2 => fields.u64().map_or(0, |_| 8),
            3 => fields.length().map_or(0, |_| 1),
            4 => fields.length_bytes().map_or(0, <[u8]>::len),
            5 => fields.null_bytes().len(),
            6 => fields.bytes(step as usize).map_or(0, <[u8]>::len),
            _ => fields.rest().len(),
        };
        assert!(fields.len() + taken <= before);
    }
}

/// COM_STMT_SEND_LONG_DATA and COM_STMT_EXECUTE of a statement with as many parameters as the first byte says.
fn execution(payload: &[u8]) {
    let mut fields = Fields::new(payload);
    let Some(parameters) = fields.u8() else { return };
    let parameters = usize::from(parameters % 20);
    let mut statement = Statement::new(parameters);
    for charset in [Charset::Utf8mb4, Charset::Latin1, Charset::Gbk, Charset::Sjis] {
        let mut execute = fields.clone();
        if statement_id(&mut execute).is_err() {
            return;
        }
        let _ = statement.add_long_data(execute.clone(), PAYLOAD_MAX);
        if let Ok(values) = statement.bind(execute, charset) {
            assert_eq!(values.len(), parameters);
        }
    }
}

/// The output of a future that never waits.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("bytes in memory are there at once"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn garbage_is_an_error_and_no_panic(bytes: Vec<u8>) {
            packet_reader(&bytes);
        }

        /// Whole packets, so that their content is reached.
        #[test]
        fn garbage_in_packets(payloads: Vec<Vec<u8>>) {
            let (mut bytes, mut sequence) = (Vec::new(), 0);
            payloads.iter().for_each(|p| packet::write(p, &mut sequence, &mut bytes));
            packet_reader(&bytes);
        }

        /// An execution of one parameter of every type.
        #[test]
        fn garbage_values_of_every_type(kind: u8, flags: u8, value: Vec<u8>) {
            let payload = [&[1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, kind, flags], &value[..]].concat();
            let (mut bytes, mut sequence) = (Vec::new(), 0);
            packet::write(&payload, &mut sequence, &mut bytes);
            packet_reader(&bytes);
        }
    }
}
