//! Requests to one bucket: signed, asked, and asked again where that may help.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rusty_s3::actions::{ListObjectsV2, S3Action};
use rusty_s3::{Bucket, Credentials, Method, UrlStyle};

use super::http_connection::{Address, CONNECT_LIMIT, Connection, Head};
use super::request_faults::{Troubles, Why};
use super::spec::credentials;
use crate::error::{Result, StorageError};
use crate::target::BucketSpec;
use crate::wait::{SILENCE, given_up, go_on, nap};

/// How long a signature holds: longer than any request takes.
pub(super) const SIGNED_FOR: Duration = Duration::from_secs(3600);
/// The first pause before a request is made again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often a request is made that is not an operation of a stream: whether those are made again, the workload says.
const ATTEMPTS: u32 = 5;

/// A bucket at a service.
pub(super) struct Service {
    pub(super) spec: BucketSpec,
    pub(super) bucket: Bucket,
    pub(super) credentials: Credentials,
    pub(super) troubles: Troubles,
    address: Address,
    /// As a request names it.
    host: String,
    idle: Mutex<Vec<Connection>>,
}

/// One task's or thread's way to the service. It keeps its connection between requests.
pub(super) struct Session {
    pub(super) service: Arc<Service>,
    connection: Option<Connection>,
    attempts: u32,
    /// A service that sends or takes no byte for so long has failed.
    silence: Duration,
    /// It has, and nothing more is asked on this line.
    pub(super) gave_up: bool,
}

/// What to ask.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    /// Path and query, signed.
    pub(super) target: String,
    /// First byte, and how many.
    pub(super) range: Option<(u64, u64)>,
    pub(super) body: &'a [u8],
}

impl<'b> Ask<'b> {
    /// A request, signed now.
    pub(super) fn new<'a, A: S3Action<'a>>(action: &A, body: &'b [u8]) -> Self {
        let url = action.sign(SIGNED_FOR);
        let target = format!("{}?{}", url.path(), url.query().unwrap_or_default());
        Self { method: A::METHOD, target, range: None, body }
    }
}

/// What came back, where it was a success.
pub(super) struct Answer {
    pub(super) head: Head,
    /// Empty where bytes were asked for.
    pub(super) text: String,
    /// Bytes of the object.
    pub(super) count: usize,
}

/// Why there was no success.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) why: Why,
    pub(super) status: u16,
    /// The service's own word, such as `NoSuchKey`.
    pub(super) code: String,
    pub(super) error: io::Error,
}

impl Failure {
    fn wire(error: io::Error) -> Self {
        let why = match error.kind() {
            ErrorKind::UnexpectedEof => Why::Cut,
            ErrorKind::TimedOut => Why::Silent,
            _ => Why::Broken,
        };
        Self { why, status: 0, code: String::new(), error }
    }

    /// An answer that says no.
    pub(super) fn said(status: u16, text: &str, region: Option<&str>) -> Self {
        let code: String = first(text, "Code").unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
        let why = match (status, code.as_str()) {
            (429 | 503, _) | (_, "SlowDown") => Why::Slow,
            (200 | 408 | 500 | 502 | 504, _) | (_, "RequestTimeout") => Why::Server,
            _ => Why::Refused,
        };
        let kind = match status {
            404 => ErrorKind::NotFound,
            401 | 403 => ErrorKind::PermissionDenied,
            _ => ErrorKind::Other,
        };
        let elsewhere = region.map(|region| format!("; the bucket is in region {region}")).unwrap_or_default();
        let space = if code.is_empty() { "" } else { " " };
        Self { why, status, error: io::Error::new(kind, format!("the service says {status}{space}{code}{elsewhere}")), code }
    }
}

impl From<Failure> for io::Error {
    /// What may pass is one of the system's errors that may: who tries again goes by them. The words are in a note.
    fn from(failure: Failure) -> Self {
        match failure.why {
            Why::Refused | Why::Silent => failure.error,
            Why::Slow => Errno::BUSY.into(),
            Why::Server => Errno::REMOTEIO.into(),
            Why::Cut => Errno::IO.into(),
            Why::Broken if failure.error.raw_os_error().is_some() => failure.error,
            Why::Broken => Errno::CONNRESET.into(),
        }
    }
}

/// The text in the first element of a name. What S3 answers nests no element in one of its own name.
pub(super) fn first<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = &text[text.find(&format!("<{name}>"))? + name.len() + 2..];
    Some(&rest[..rest.find(&format!("</{name}>"))?])
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Service").field(&self.spec).finish_non_exhaustive()
    }
}

impl Service {
    /// Finds the service and sees that the bucket is there and lets these credentials in.
    ///
    /// # Errors
    /// One line that says which of them it was.
    pub(super) fn open(spec: &BucketSpec) -> Result<Arc<Self>> {
        spec.check()?;
        let refused = |why: String| StorageError::Unsupported(why);
        let style = if spec.path_style { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let endpoint = spec.endpoint.parse().map_err(|_| refused(format!("{} is no address of S3", spec.endpoint)))?;
        let bucket = Bucket::new(endpoint, style, spec.bucket.clone(), spec.region.clone())
            .map_err(|error| refused(format!("no bucket can be at {}: {error}", spec.endpoint)))?;
        let credentials = credentials(spec.profile.as_deref())?;
        let url = bucket.base_url();
        let name = url.host_str().unwrap_or_default().to_owned();
        let host = url.port().map_or_else(|| name.clone(), |port| format!("{name}:{port}"));
        let https = url.scheme() == "https";
        let port = url.port().unwrap_or(if https { 443 } else { 80 });
        let unreachable = |error: io::Error| refused(format!("cannot reach S3 at {}: {error}", spec.endpoint));
        let address = Address::find(&name, port, https).map_err(unreachable)?;
        let (idle, troubles) = (Mutex::default(), Troubles::default());
        let service = Arc::new(Self { spec: spec.clone(), bucket, credentials, troubles, address, host, idle });
        service.greet()?;
        Ok(service)
    }

    /// The first question, which tells what is wrong with what was asked for.
    fn greet(self: &Arc<Self>) -> Result<()> {
        let (spec, endpoint) = (&self.spec, &self.spec.endpoint);
        let refused = |why: String| Err(StorageError::Unsupported(why));
        let connection = match Connection::open(&self.address, CONNECT_LIMIT, CONNECT_LIMIT) {
            Ok(connection) => connection,
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                return refused(format!("cannot reach S3 at {endpoint}: no answer within {} s", CONNECT_LIMIT.as_secs()));
            }
            Err(error) => return refused(format!("cannot reach S3 at {endpoint}: {error}; is it running there?")),
        };
        let (service, connection) = (Arc::clone(self), Some(connection));
        let mut session = Session { service, connection, attempts: 1, silence: CONNECT_LIMIT, gave_up: false };
        let mut list = ListObjectsV2::new(&self.bucket, Some(&self.credentials));
        list.with_prefix(spec.prefix.as_str());
        list.with_max_keys(1);
        match session.once(&Ask::new(&list, &[]), None) {
            Ok(_) => Ok(()),
            // It is there, and busy: that is for the first operation.
            Err(failure) if failure.why == Why::Slow => Ok(()),
            Err(failure) if matches!((failure.status, failure.code.as_str()), (404, "") | (_, "NoSuchBucket")) => {
                refused(format!("S3 at {endpoint} has no bucket {}; make it first", spec.bucket))
            }
            // Some services say of a key that they do not know that it was not found.
            Err(failure) if failure.status == 404 || failure.error.kind() == ErrorKind::PermissionDenied => refused(format!(
                "S3 at {endpoint} does not let these credentials into bucket {} ({}); check the keys, the profile and region {}",
                spec.bucket, failure.error, spec.region
            )),
            Err(failure) => refused(format!("S3 at {endpoint} cannot be asked for bucket {}: {}", spec.bucket, failure.error)),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a key is, for messages.
    pub(super) fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(format!("s3://{}/{key}", self.spec.bucket))
    }

    /// An error about a key.
    pub(super) fn failed(&self, action: &'static str, key: &str, error: impl Into<io::Error>) -> StorageError {
        StorageError::Path { action, path: self.path(key), source: error.into() }
    }

    /// The key that ends so below the run's own prefix.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.spec.prefix)
    }
}

/// A pause before the next attempt: longer each time, and not the same for all tasks that were told to slow down.
fn pause(attempt: u32) -> Duration {
    let whole = FIRST_PAUSE.saturating_mul(1 << attempt.min(10)).min(LONGEST_PAUSE);
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    whole / 2 + whole.mul_f64(f64::from(nanoseconds % 1024) / 2048.0)
}

impl Session {
    pub(super) fn new(service: &Arc<Service>) -> Self {
        Self { service: Arc::clone(service), connection: None, attempts: ATTEMPTS, silence: SILENCE, gave_up: false }
    }

    /// The same, for the operations of a stream: each request is made once.
    pub(super) const fn once_each(mut self) -> Self {
        self.attempts = 1;
        self
    }

    /// The same, for a service that may be silent for so long.
    pub(super) const fn waiting(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// For what is around these operations.
    pub(super) fn patiently<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let attempts = std::mem::replace(&mut self.attempts, ATTEMPTS);
        let done = act(self);
        self.attempts = attempts;
        done
    }

    /// Asks until there is a success, or it was asked often enough.
    pub(super) fn ask(&mut self, ask: &Ask<'_>, mut into: Option<&mut [u8]>) -> std::result::Result<Answer, Failure> {
        if self.gave_up {
            return Err(Failure::wire(given_up("the service was given up before")));
        }
        let mut attempt = 1;
        loop {
            match self.once(ask, into.as_deref_mut()) {
                Err(failure) if failure.why != Why::Refused => {
                    self.service.troubles.count(&failure);
                    self.gave_up |= failure.why == Why::Silent;
                    if attempt == self.attempts || self.gave_up {
                        return Err(failure);
                    }
                    nap(pause(attempt - 1)).map_err(Failure::wire)?;
                    attempt += 1;
                }
                answer => return answer,
            }
        }
    }

    /// Asks once, but for a connection that the service closed while nobody used it: that is no failure of a request.
    fn once(&mut self, ask: &Ask<'_>, into: Option<&mut [u8]>) -> std::result::Result<Answer, Failure> {
        let head = self.head_of(ask);
        let is_head = ask.method == Method::Head;
        let mut connection = self.take_connection().map_err(|error| self.wire(error))?;
        let answer = match connection.ask(&head, ask.body, is_head) {
            Err(error) if connection.answered > 0 && is_stale(&error) => {
                connection = self.connect().map_err(|error| self.wire(error))?;
                connection.ask(&head, ask.body, is_head)
            }
            answer => answer,
        };
        let taken = answer.map_err(Failure::wire).and_then(|head| take(&mut connection, head, ask, into));
        let taken = taken.map_err(|failure| if failure.why == Why::Silent { self.wire(failure.error) } else { failure });
        if !connection.spent {
            self.connection = Some(connection);
        }
        taken
    }

    /// The one that was kept here, or by another who needed it before; else a new one.
    fn take_connection(&mut self) -> io::Result<Connection> {
        let kept = self.connection.take().or_else(|| self.service.idle().pop());
        kept.map_or_else(|| self.connect(), |kept| kept.limit_silence(self.silence).map(|()| kept))
    }

    /// A new connection, dialled anew now and then while nobody answers.
    fn connect(&self) -> io::Result<Connection> {
        let since = Instant::now();
        loop {
            let left = self.silence.saturating_sub(since.elapsed());
            match Connection::open(&self.service.address, CONNECT_LIMIT.min(left), self.silence) {
                Err(error) if error.kind() == ErrorKind::TimedOut && since.elapsed() < self.silence => go_on()?,
                opened => return opened,
            }
        }
    }

    /// What went wrong on the way, told with how long was waited.
    fn wire(&self, error: io::Error) -> Failure {
        match Errno::from_io_error(&error) {
            Some(Errno::TIMEDOUT) => {
                let text = format!("the service was silent for {} s", self.silence.as_secs_f64());
                Failure::wire(given_up(&text))
            }
            _ => Failure::wire(error),
        }
    }

    fn head_of(&self, ask: &Ask<'_>) -> Vec<u8> {
        let method = match ask.method {
            Method::Head => "HEAD",
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        };
        let range = ask.range.map(|(start, length)| format!("Range: bytes={start}-{}\r\n", start + length - 1));
        let sends = matches!(ask.method, Method::Post | Method::Put);
        let length = sends.then(|| format!("Content-Length: {}\r\n", ask.body.len()));
        let (target, host) = (&ask.target, &self.service.host);
        let (range, length) = (range.unwrap_or_default(), length.unwrap_or_default());
        format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: tonnage\r\n{range}{length}\r\n").into_bytes()
    }
}

/// Takes the body of an answer.
fn take(connection: &mut Connection, head: Head, ask: &Ask<'_>, into: Option<&mut [u8]>) -> std::result::Result<Answer, Failure> {
    let status = head.status;
    if let Some(into) = into.filter(|_| status == 206 || status == 200) {
        if status == 200 && ask.range.is_some_and(|(start, _)| start > 0) {
            connection.spent = true;
            let error = io::Error::other("the service sends whole objects where a range was asked for");
            return Err(Failure { why: Why::Refused, status, code: String::new(), error });
        }
        let count = connection.bytes(&head, into).map_err(Failure::wire)?;
        return Ok(Answer { head, text: String::new(), count });
    }
    let text = connection.text(&head).map_err(Failure::wire)?;
    // An upload may be said to have failed after a 200 was sent.
    if (200..300).contains(&status) && !text.contains("<Error>") {
        return Ok(Answer { head, text, count: 0 });
    }
    Err(Failure::said(status, &text, head.region.as_deref()))
}

/// Whether a connection that worked before was closed on the other side before it saw the request.
fn is_stale(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted)
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.service.idle().push(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::http_connection::cut_short;
    use super::*;

    #[test]
    fn what_a_service_says_tells_whether_to_ask_again() {
        let said = |status, code: &str| Failure::said(status, &format!("<Error><Code>{code}</Code></Error>"), None);
        assert_eq!(said(503, "SlowDown").why, Why::Slow);
        assert_eq!(said(500, "InternalError").why, Why::Server);
        assert_eq!(said(400, "RequestTimeout").why, Why::Server);
        assert_eq!(said(403, "AccessDenied").why, Why::Refused);
        assert_eq!(said(404, "NoSuchKey").error.kind(), ErrorKind::NotFound);
        assert_eq!(said(403, "X").error.to_string(), "the service says 403 X");
        assert_eq!(Failure::said(301, "", Some("eu-1")).error.to_string(), "the service says 301; the bucket is in region eu-1");
        assert_eq!(Failure::wire(cut_short()).why, Why::Cut);
    }

    #[test]
    fn pauses_grow_and_end_growing() {
        for attempt in 0..40 {
            let longest = FIRST_PAUSE.saturating_mul(1 << attempt.min(6)).min(LONGEST_PAUSE);
            let found = pause(attempt);
            assert!(found <= LONGEST_PAUSE && found >= (longest / 2).min(LONGEST_PAUSE / 2), "{attempt}: {found:?}");
        }
    }
}
