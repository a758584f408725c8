//! The transport below packets: TCP or a Unix socket, plain or under TLS.

use crate::ConnectionError;
use nix::sys::socket::{MsgFlags, recv};
use std::{
    io, net,
    os::{fd::AsRawFd, unix},
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// A connected socket.
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A socket between threads: no event loop watches it.
pub enum Waiting {
    Tcp(net::TcpStream),
    Unix(unix::net::UnixStream),
}

/// Not buffered: a client sends its TLS hello right behind its SSL request, and it must be left to the TLS handshake.
pub enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// Returns true if nobody on the way can read what is sent: under TLS, and within this machine.
    pub fn is_secure(&self) -> bool {
        matches!(self, Stream::Tls(_) | Stream::Plain(Socket::Unix(_)))
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
            Stream::Plain(socket) => Ok(Stream::Tls(Box::new(acceptor.accept(socket).await?))),
            Stream::Tls(_) => Err(ConnectionError::Closed),
        }
    }

    fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => tls.get_ref().0,
        }
    }

    /// Resolves when the peer has closed the connection.
    pub async fn closed(&self) {
        match self.socket().peek().await {
            Ok(0) | Err(_) => {}
            // Bytes wait to be read, so the peer is there; whether it stays is seen when they are read.
            Ok(_) => std::future::pending().await,
        }
    }
}

impl Waiting {
    pub fn tcp(tcp: TcpStream) -> io::Result<Waiting> {
        tcp.into_std().map(Waiting::Tcp)
    }

    pub fn unix(unix: UnixStream) -> io::Result<Waiting> {
        unix.into_std().map(Waiting::Unix)
    }
}

impl Socket {
    /// Has the event loop of this thread watch the socket.
    pub fn watched(waiting: Waiting) -> io::Result<Socket> {
        match waiting {
            Waiting::Tcp(tcp) => TcpStream::from_std(tcp).map(Socket::Tcp),
            Waiting::Unix(unix) => UnixStream::from_std(unix).map(Socket::Unix),
        }
    }

    /// Waits for bytes and leaves them where they are: their number, 0 at the end of the stream.
    async fn peek(&self) -> io::Result<usize> {
        let mut byte = [0];
        match self {
            Socket::Tcp(tcp) => tcp.peek(&mut byte).await,
            Socket::Unix(unix) => {
                let peek = || Ok(recv(unix.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT)?);
                unix.async_io(Interest::READABLE, peek).await
            }
        }
    }
}

/// Does the same with whichever transport it is.
macro_rules! delegate {
    ($self:ident, $first:path | $second:path => |$stream:ident| $call:expr) => {
        match $self.get_mut() {
            $first($stream) => $call,
            $second($stream) => $call,
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        delegate!(self, Socket::Tcp | Socket::Unix => |s| Pin::new(s).poll_read(cx, buf))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        delegate!(self, Socket::Tcp | Socket::Unix => |s| Pin::new(s).poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, Socket::Tcp | Socket::Unix => |s| Pin::new(s).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, Socket::Tcp | Socket::Unix => |s| Pin::new(s).poll_shutdown(cx))
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        delegate!(self, Stream::Plain | Stream::Tls => |s| Pin::new(s).poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        delegate!(self, Stream::Plain | Stream::Tls => |s| Pin::new(s).poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, Stream::Plain | Stream::Tls => |s| Pin::new(s).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, Stream::Plain | Stream::Tls => |s| Pin::new(s).poll_shutdown(cx))
    }
}
