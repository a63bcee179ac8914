//! One connection that speaks HTTP/1.1: a request goes out from where its bytes are, an answer comes in to where they are
//! wanted.
//!
//! No client library stands here: this is the timed path, and those that block look a name up, ask a pool and copy every
//! byte twice for each request.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::wait::{self, SLICE, in_slices};

/// A service that does not answer the first question within this time is an error.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// An answer's head is shorter.
const HEAD_BYTES_MOST: usize = 64 << 10;
const HEADERS_MOST: usize = 64;
/// A body up to this size goes out in one call with its head.
const TOGETHER_BYTES: usize = 16 << 10;
/// Answers of text are shorter: 1000 keys of 1024 bytes each, and what is around them.
const TEXT_BYTES_MOST: usize = 8 << 20;

/// Where a service is, looked up once.
pub(super) struct Address {
    found: Vec<SocketAddr>,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// The start of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) etag: Option<String>,
    /// Bytes of the object, as a HEAD says them.
    pub(super) length: Option<u64>,
    /// Where the bucket is, if that is not here.
    pub(super) region: Option<String>,
    framing: Framing,
    keeps_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// A socket whose calls wait for the other side as long as it may be silent.
struct Socket {
    stream: TcpStream,
    silence_ns: Arc<AtomicU64>,
}

impl Socket {
    fn silence(&self) -> Duration {
        Duration::from_nanos(self.silence_ns.load(Ordering::Relaxed))
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        in_slices(self.silence(), || (&self.stream).read(bytes))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        in_slices(self.silence(), || (&self.stream).write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An open connection.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    socket: TcpStream,
    silence_ns: Arc<AtomicU64>,
    /// Came in and was not taken yet: `start..` of it.
    input: Vec<u8>,
    start: usize,
    /// Requests that were answered on it.
    pub(super) answered: u64,
    /// Nothing more can be asked on it.
    pub(super) spent: bool,
}

impl Address {
    /// Looks the host up, no longer than [`CONNECT_LIMIT`].
    pub(super) fn find(host: &str, port: u16, https: bool) -> io::Result<Self> {
        let (told, name) = (mpsc::sync_channel(1), (host.trim_matches(['[', ']']).to_owned(), port));
        // Nothing bounds the system's resolver but its own configuration, which may be minutes.
        thread::Builder::new().spawn(move || told.0.send(name.to_socket_addrs().map(Iterator::collect::<Vec<_>>)))?;
        let found = match told.1.recv_timeout(CONNECT_LIMIT) {
            Ok(found) => found.map_err(|_| io::Error::new(ErrorKind::NotFound, "no such host"))?,
            Err(_) => return Err(io::Error::new(ErrorKind::TimedOut, "its name was not looked up within 10 s")),
        };
        let tls = https.then(|| tls_for(host)).transpose()?;
        Ok(Self { found, tls })
    }
}

/// Trusts what this system trusts, or only what `AWS_CA_BUNDLE` holds.
fn tls_for(host: &str) -> io::Result<(Arc<ClientConfig>, ServerName<'static>)> {
    let bundle = std::env::var_os("AWS_CA_BUNDLE").filter(|path| !path.is_empty());
    let found = match &bundle {
        Some(path) => rustls_native_certs::load_certs_from_paths(Some(path.as_ref()), None),
        None => rustls_native_certs::load_native_certs(),
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(io::Error::other("no certificate authority is known here; install ca-certificates or set AWS_CA_BUNDLE"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    Ok((Arc::new(config), name))
}

fn broken(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// A body that ends before its end.
pub(super) fn cut_short() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the answer was cut short")
}

impl Connection {
    /// Connects to the first address that answers, each within `limit`; `silence`: how long a call may wait from then on.
    pub(super) fn open(address: &Address, limit: Duration, silence: Duration) -> io::Result<Self> {
        let mut last = io::Error::new(ErrorKind::NotFound, "no such host");
        for place in &address.found {
            match wait::connect(*place, None, limit) {
                Ok(socket) => return Self::on(socket, address, silence),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn on(socket: TcpStream, address: &Address, silence: Duration) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let silence_ns = Arc::<AtomicU64>::default();
        let shared = Socket { stream: socket.try_clone()?, silence_ns: Arc::clone(&silence_ns) };
        let stream: Box<dyn Stream> = match &address.tls {
            None => Box::new(shared),
            Some((config, name)) => {
                let client = ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
                Box::new(StreamOwned::new(client, shared))
            }
        };
        let found = Self { stream, socket, silence_ns, input: Vec::new(), start: 0, answered: 0, spent: false };
        found.limit_silence(silence)?;
        Ok(found)
    }

    /// How long one call may wait for the other side.
    pub(super) fn limit_silence(&self, silence: Duration) -> io::Result<()> {
        let ns = silence.as_nanos() as u64;
        if self.silence_ns.swap(ns, Ordering::Relaxed) != ns {
            self.socket.set_read_timeout(Some(silence.min(SLICE)))?;
            self.socket.set_write_timeout(Some(silence.min(SLICE)))?;
        }
        Ok(())
    }

    /// Sends a request and reads the head of its answer. A service may answer before it took all of the body, and close.
    pub(super) fn ask(&mut self, head: &[u8], body: &[u8], is_head: bool) -> io::Result<Head> {
        let sent = self.send(head, body);
        self.spent |= sent.is_err();
        if sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::TimedOut) {
            // It was waited for: an answer is there by now, or none will be.
            self.limit_silence(SLICE)?;
        }
        let answer = match self.head(is_head) {
            Ok(answer) => answer,
            Err(error) => {
                self.spent = true;
                return Err(sent.err().unwrap_or(error));
            }
        };
        self.spent |= !answer.keeps_open;
        self.answered += 1;
        Ok(answer)
    }

    fn send(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        if body.len() <= TOGETHER_BYTES {
            self.stream.write_all(&[head, body].concat())?;
        } else {
            self.stream.write_all(head)?;
            self.stream.write_all(body)?;
        }
        self.stream.flush()
    }

    /// More input; false at the end of it.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        let known = self.input.len();
        self.input.resize(known + TOGETHER_BYTES, 0);
        let read = loop {
            match self.stream.read(&mut self.input[known..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.input.truncate(known + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    fn head(&mut self, is_head: bool) -> io::Result<Head> {
        loop {
            if let Some((head, taken)) = parse_head(&self.input[self.start..], is_head)? {
                self.start += taken;
                // 100 Continue and its like come before the answer.
                if head.status >= 200 {
                    return Ok(head);
                }
                continue;
            }
            if self.input.len() - self.start > HEAD_BYTES_MOST {
                return Err(broken("an answer without an end of its head"));
            }
            if !self.fill()? {
                return Err(ErrorKind::ConnectionReset.into());
            }
        }
    }

    /// Reads exactly `into`; an error where the answer ends before.
    fn exactly(&mut self, into: &mut [u8]) -> io::Result<()> {
        let there = (self.input.len() - self.start).min(into.len());
        into[..there].copy_from_slice(&self.input[self.start..self.start + there]);
        self.start += there;
        let mut done = there;
        while done < into.len() {
            match self.stream.read(&mut into[done..]) {
                Ok(0) => return Err(cut_short()),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // TLS tells a cut from an end.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(cut_short()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The body of an answer with bytes of an object; how many. All that were announced, or an error.
    pub(super) fn bytes(&mut self, head: &Head, into: &mut [u8]) -> io::Result<usize> {
        let Framing::Length(length) = head.framing else {
            self.spent = true;
            return Err(broken("the service does not say how many bytes it sends"));
        };
        let Some(into) = usize::try_from(length).ok().and_then(|length| into.get_mut(..length)) else {
            self.spent = true;
            return Err(broken("the service sends more bytes than were asked for"));
        };
        let read = self.exactly(into);
        self.spent |= read.is_err();
        read.map(|()| into.len())
    }

    /// The body of an answer that is text.
    pub(super) fn text(&mut self, head: &Head) -> io::Result<String> {
        let read = self.text_bytes(head.framing);
        self.spent |= read.is_err() || head.framing == Framing::UntilClose;
        Ok(String::from_utf8_lossy(&read?).into_owned())
    }

    fn text_bytes(&mut self, framing: Framing) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        match framing {
            Framing::Length(length) => self.append(&mut text, length)?,
            Framing::UntilClose => {
                while self.fill()? {
                    if self.input.len() - self.start > TEXT_BYTES_MOST {
                        return Err(broken("an answer without end"));
                    }
                }
                text.extend_from_slice(&self.input[self.start..]);
            }
            Framing::Chunked => loop {
                let session = self.session()?;
                let size = session.split(';').next().map(|size| u64::from_str_radix(size.trim(), 16));
                let Some(Ok(size)) = size else { return Err(broken("a chunk without its size")) };
                self.append(&mut text, size)?;
                if size == 0 {
                    while !self.session()?.is_empty() {}
                    break;
                }
                self.session()?;
            },
        }
        Ok(text)
    }

    fn append(&mut self, text: &mut Vec<u8>, length: u64) -> io::Result<()> {
        let known = text.len();
        if length > (TEXT_BYTES_MOST - known) as u64 {
            return Err(broken("a text longer than any answer"));
        }
        text.resize(known + length as usize, 0);
        self.exactly(&mut text[known..])
    }

    fn session(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.input[self.start..].iter().position(|&byte| byte == b'\n') {
                let session = String::from_utf8_lossy(&self.input[self.start..self.start + end]).trim().to_owned();
                self.start += end + 1;
                return Ok(session);
            }
            if self.input.len() - self.start > HEAD_BYTES_MOST {
                return Err(broken("a line without end"));
            }
            if !self.fill()? {
                return Err(cut_short());
            }
        }
    }
}

/// The head of an answer and its bytes; `None` where more of it is to come.
fn parse_head(input: &[u8], is_head: bool) -> io::Result<Option<(Head, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
    let mut answer = httparse::Response::new(&mut headers);
    let taken = match answer.parse(input) {
        Ok(httparse::Status::Complete(taken)) => taken,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(broken(&format!("no answer of HTTP/1.1: {error}"))),
    };
    let find = |name: &str| {
        let header = answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok().map(str::trim)
    };
    let status = answer.code.unwrap_or(0);
    let length = find("content-length").map(|text| text.parse().map_err(|_| broken("a length that is no number"))).transpose()?;
    let framing = if is_head || status < 200 || status == 204 || status == 304 {
        Framing::Length(0)
    } else if find("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        Framing::Chunked
    } else {
        length.map_or(Framing::UntilClose, Framing::Length)
    };
    let says = |word| find("connection").is_some_and(|text| text.eq_ignore_ascii_case(word));
    let keeps_open = if answer.version == Some(1) { !says("close") } else { says("keep-alive") };
    let owned = |name| find(name).map(str::to_owned);
    let (etag, region) = (owned("etag"), owned("x-amz-bucket-region"));
    Ok(Some((Head { status, etag, length, region, framing, keeps_open }, taken)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Head {
        parse_head(text.as_bytes(), false).unwrap().unwrap().0
    }

    #[test]
    fn a_head_says_how_its_body_ends_and_whether_more_may_be_asked() {
        let head = parsed("HTTP/1.1 206 Partial\r\nContent-Length: 12\r\nETag: \"x\"\r\n\r\nrest");
        assert_eq!((head.status, head.framing, head.keeps_open), (206, Framing::Length(12), true));
        assert_eq!(head.etag.as_deref(), Some("\"x\""));
        let head = parsed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
        assert_eq!((head.framing, head.keeps_open), (Framing::Chunked, false));
        let head = parsed("HTTP/1.0 200 OK\r\n\r\n");
        assert_eq!((head.framing, head.keeps_open), (Framing::UntilClose, false));
        assert!(parse_head(b"HTTP/1.1 200 OK\r\nContent-", false).unwrap().is_none());
        assert!(parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false).is_err());
        assert!(parse_head(b"SSH-2.0-OpenSSH\r\n", false).is_err());
        let (head, _) = parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true).unwrap().unwrap();
        assert_eq!((head.length, head.framing), (Some(7), Framing::Length(0)), "a HEAD has no body");
    }
}
