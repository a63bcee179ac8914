//! A server that does not answer is given up once it was not heard of for as long as the workload says, whatever it does
//! meanwhile with connections, and for good: nobody is to wait as long once more.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nfs3_types::nfs3::nfs_fh3;
use tonnage_workload::Op;

use super::client::Client;
use super::export::Export;
use super::pipeline::{Memory, Pipeline};
use crate::api::Request;

const SILENCE: Duration = Duration::from_secs(2);
/// Much later than that, and much earlier than if two waits had added up.
const LATE: Duration = Duration::from_millis(3500);
const TRANSFER: usize = 64 << 10;

/// What a server does with its connections, each told with its number, until it is to end.
type Behaviour = fn(&TcpStream, usize, &AtomicBool);

/// A server on this host, for as long as it lives.
struct Server {
    address: SocketAddr,
    export: Arc<Export>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn new(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (export, ended) = (Export::unasked(address), Arc::<AtomicBool>::default());
        let until = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            thread::scope(|scope| {
                for (number, stream) in listener.incoming().enumerate() {
                    if until.load(Ordering::Relaxed) {
                        return;
                    }
                    let (stream, until) = (stream.expect("a connection"), &until);
                    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a limit");
                    scope.spawn(move || behaviour(&stream, number, until));
                }
            });
        });
        Self { address, export: Arc::new(export), ended, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // It waits for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends");
        }
    }
}

/// Reads until the connection ends, or all does, or for so long.
fn listen(mut stream: &TcpStream, ended: &AtomicBool, limit: Duration) {
    let (began, mut bytes) = (Instant::now(), vec![0; TRANSFER]);
    while !ended.load(Ordering::Relaxed) && began.elapsed() < limit {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

fn never_answers(stream: &TcpStream, _: usize, ended: &AtomicBool) {
    listen(stream, ended, Duration::MAX);
}

fn never_reads(_: &TcpStream, _: usize, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(5));
    }
}

fn hangs_up(_: &TcpStream, _: usize, _: &AtomicBool) {}

/// The first connection late, and then never again.
fn hangs_up_late(stream: &TcpStream, number: usize, ended: &AtomicBool) {
    listen(stream, ended, if number == 0 { SILENCE * 4 / 5 } else { Duration::MAX });
}

/// Says JUKEBOX, without attributes, to each call.
fn asks_for_patience(mut stream: &TcpStream, _: usize, ended: &AtomicBool) {
    let mut answer = || {
        let mut word = [0; 4];
        while stream.peek(&mut word).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            if ended.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        stream.set_read_timeout(Some(LATE))?;
        stream.read_exact(&mut word)?;
        let mut call = vec![0; (u32::from_be_bytes(word) & !(1 << 31)) as usize];
        stream.read_exact(&mut call)?;
        let words = [1, 0, 0, 0, 0, 10008, 0, 0].map(u32::to_be_bytes);
        stream.write_all(&[&(36 + (1_u32 << 31)).to_be_bytes(), &call[..4], words.as_flattened()].concat())?;
        stream.set_read_timeout(Some(Duration::from_millis(20)))
    };
    while !ended.load(Ordering::Relaxed) && answer().is_ok() {}
}

const BEHAVIOURS: [(&str, Behaviour); 5] = [
    ("never answers", never_answers),
    ("never reads", never_reads),
    ("hangs up", hangs_up),
    ("hangs up late", hangs_up_late),
    ("asks for patience", asks_for_patience),
];

fn is_given_up(what: &str, call: impl FnOnce(&mut Pipeline) -> io::Result<()>, depth: usize, server: &Server) {
    let client = Client::with_silence(Arc::clone(&server.export), SILENCE).expect("a connection");
    let mut pipeline = Pipeline::new(client, depth, (TRANSFER as u32, TRANSFER as u32));
    pipeline.set_file(nfs_fh3::default(), false);
    let began = Instant::now();
    let error = call(&mut pipeline).expect_err(what);
    let took = began.elapsed();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{what}: {error}");
    assert_eq!(error.raw_os_error(), None, "{what}: it would be tried again: {error}");
    assert!(took >= SILENCE && took < LATE, "{what}: {took:?}: {error}");
}

fn transfers(pipeline: &mut Pipeline, op: Op, depth: usize) -> io::Result<()> {
    for slot in 0..depth {
        let (start, length) = (slot * TRANSFER, TRANSFER);
        pipeline.begin(&Request { slot: slot as u32, op, offset: start as u64, start, length });
    }
    pipeline.run(&mut Memory::Into(&mut vec![0; depth * TRANSFER]), depth, None)
}

#[test]
fn a_server_that_is_silent_is_given_up_when_the_workload_says_so() {
    thread::scope(|scope| {
        for (name, behaviour) in BEHAVIOURS {
            for depth in [1, 64] {
                for op in [Op::Write, Op::Read] {
                    scope.spawn(move || {
                        let what = format!("{op:?} at depth {depth} of a server that {name}");
                        let server = Server::new(behaviour);
                        is_given_up(&what, |pipeline| transfers(pipeline, op, depth), depth, &server);
                    });
                }
            }
            scope.spawn(move || {
                let lookup = |pipeline: &mut Pipeline| pipeline.client.lookup(&nfs_fh3::default(), b"x").map(drop);
                is_given_up(&format!("LOOKUP at a server that {name}"), lookup, 1, &Server::new(behaviour));
            });
        }
    });
}
