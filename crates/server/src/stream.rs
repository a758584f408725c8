//! The transport below packets: TCP, plain or under TLS.

use crate::ConnectionError;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// Not buffered: a client sends its TLS hello right behind its SSL request, and it must be left to the TLS handshake.
pub enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub fn plain(tcp: TcpStream) -> Stream {
        Stream::Plain(tcp)
    }

    pub fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Name of the TLS cipher; `None` in the clear.
    pub fn cipher(&self) -> Option<String> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(tls) => {
                let suite = tls.get_ref().1.negotiated_cipher_suite()?;
                Some(format!("{:?}", suite.suite()))
            }
        }
    }

    /// The TLS handshake.
    pub async fn upgrade(self, acceptor: &TlsAcceptor) -> Result<Stream, ConnectionError> {
        match self {
            Stream::Plain(tcp) => Ok(Stream::Tls(Box::new(acceptor.accept(tcp).await?))),
            Stream::Tls(_) => Err(ConnectionError::Closed),
        }
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(tls) => tls.get_ref().0,
        }
    }

    /// Resolves when the peer has closed the connection.
    pub async fn closed(&self) {
        let mut byte = [0];
        match self.tcp().peek(&mut byte).await {
            Ok(0) | Err(_) => {}
            // Bytes wait to be read, so the peer is there; whether it stays is seen when they are read.
            Ok(_) => std::future::pending().await,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_read(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_write(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_flush(cx),
            Stream::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
