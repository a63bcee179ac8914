//! How a file becomes an object: in one request, or in parts.

use std::io::{self, ErrorKind};

use super::service::Session;
use super::spec::LEAST_PART_BYTES;
use crate::error::{Result, StorageError};
use crate::target::BucketSpec;

/// S3 takes no more parts of an object.
const PARTS_MOST: u64 = 10_000;

/// What of a file goes into one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Bytes of a request, but for the last one.
    pub(super) part_bytes: usize,
    /// All of the file is in one request.
    pub(super) whole: bool,
    /// A transfer is a request: nothing is gathered.
    pub(super) direct: bool,
}

impl Plan {
    /// For a file of so many bytes that is written in transfers of one size.
    pub(super) fn new(spec: &BucketSpec, transfer_size: usize, file_bytes: u64) -> Result<Self> {
        let transfer = transfer_size as u64;
        let part = if transfer >= LEAST_PART_BYTES { transfer } else { spec.part_bytes };
        let whole = file_bytes <= part;
        if file_bytes.div_ceil(part) > PARTS_MOST {
            let text = format!("an object of S3 has at most {PARTS_MOST} parts; give part or transfer_size more bytes");
            return Err(StorageError::Unsupported(text));
        }
        let direct = transfer == if whole { file_bytes } else { part };
        Ok(Self { part_bytes: part as usize, whole, direct })
    }

    /// For a file of unknown size.
    pub(super) fn unknown(spec: &BucketSpec) -> Self {
        Self { part_bytes: spec.part_bytes as usize, whole: false, direct: false }
    }
}

/// An object that is being written, from its first byte to its last.
pub(super) struct Upload {
    pub(super) key: String,
    pub(super) plan: Plan,
    /// Where the next byte goes.
    pub(super) at: u64,
    /// Not sent yet.
    pub(super) gathered: Vec<u8>,
    /// The service's name for it; `None` where there are no parts yet.
    pub(super) id: Option<String>,
    /// Of the parts that have been written, by number − 1. Empty: not there yet.
    pub(super) tags: Vec<String>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The object is there.
    Whole,
    /// There will be none.
    Failed,
}

/// A write that is not where the one before it ended.
fn out_of_order() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "an object is written from its first byte to its last and at no other place")
}

impl Upload {
    pub(super) const fn new(key: String, plan: Plan) -> Self {
        Self { key, plan, at: 0, gathered: Vec::new(), id: None, tags: Vec::new(), state: State::Open }
    }

    /// Before the first byte of a file in parts.
    pub(super) fn open(&mut self, session: &mut Session) -> io::Result<()> {
        if self.plan.whole { Ok(()) } else { self.begun(session).map(drop) }
    }

    /// Whether a write at `offset` begins the object anew: a next pass over the file, and not the first part once more.
    pub(super) fn begins_anew(&self, offset: u64) -> bool {
        offset == 0 && self.at > 0 && self.tags.first().is_none_or(|tag| !tag.is_empty())
    }

    /// Finishes the object that was, and begins the next one.
    pub(super) fn begin_anew(&mut self, session: &mut Session) -> io::Result<()> {
        self.finish(session)?;
        *self = Self::new(std::mem::take(&mut self.key), self.plan);
        self.open(session)
    }

    /// Takes a transfer that is a request of its own: a part with this number, or (`None`) the whole object. Parts may
    /// come in any order, and again where they failed.
    pub(super) fn take_direct(&mut self, offset: u64, length: usize) -> io::Result<Option<u16>> {
        let (part, end) = (self.plan.part_bytes as u64, offset + length as u64);
        let fits = offset.is_multiple_of(part) && offset / part < PARTS_MOST && (offset == 0 || !self.plan.whole);
        if !fits || self.state != State::Open {
            return Err(out_of_order());
        }
        self.at = self.at.max(end);
        if self.plan.whole {
            return Ok(None);
        }
        let number = (offset / part) as usize + 1;
        self.tags.resize(self.tags.len().max(number), String::new());
        Ok(Some(number as u16))
    }

    /// Takes as many of `bytes` as the part has room for; how many. The part is to be sent when it is full.
    pub(super) fn gather(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.plan.part_bytes - self.gathered.len());
        if offset != self.at || self.state != State::Open || taken == 0 {
            return Err(out_of_order());
        }
        self.gathered.extend_from_slice(&bytes[..taken]);
        self.at += taken as u64;
        Ok(taken)
    }

    /// Whether what was gathered is a part to be sent.
    pub(super) const fn is_full(&self) -> bool {
        !self.plan.whole && self.gathered.len() == self.plan.part_bytes
    }

    /// The number of the part that was gathered, whose tag will come.
    pub(super) fn next_number(&mut self) -> u16 {
        self.tags.push(String::new());
        self.tags.len() as u16
    }

    /// A part has been written.
    pub(super) fn landed(&mut self, number: u16, tag: String) {
        if let Some(place) = self.tags.get_mut(usize::from(number) - 1) {
            *place = tag;
        }
    }

    /// A request for the whole object has ended: it is there, or nothing is.
    pub(super) const fn whole_landed(&mut self, written: bool) {
        if written {
            self.state = State::Whole;
        } else {
            self.at = 0;
        }
    }

    /// Writes bytes at an offset by requests that are waited for. Where one fails, nothing of the bytes was taken.
    pub(super) fn write(&mut self, session: &mut Session, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.begins_anew(offset) {
            session.patiently(|session| self.begin_anew(session))?;
        }
        if self.plan.direct { self.write_direct(session, offset, bytes) } else { self.write_gathered(session, offset, bytes) }
    }

    fn write_direct(&mut self, session: &mut Session, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(number) = self.take_direct(offset, bytes.len())? {
            let tag = session.put_part(&self.key, self.id.as_deref().unwrap_or_default(), number, bytes)?;
            self.landed(number, tag);
            return Ok(());
        }
        let written = session.put(&self.key, bytes);
        self.whole_landed(written.is_ok());
        written
    }

    fn write_gathered(&mut self, session: &mut Session, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = self.gather(offset, bytes)?;
            if self.is_full()
                && let Err(error) = self.send_gathered(session)
            {
                self.gathered.truncate(self.gathered.len() - taken);
                self.at -= taken as u64;
                return Err(error);
            }
            (offset, bytes) = (offset + taken as u64, &bytes[taken..]);
        }
        Ok(())
    }

    /// The service's name for the upload, which begins now if it did not before.
    pub(super) fn begun(&mut self, session: &mut Session) -> io::Result<&str> {
        if self.id.is_none() {
            self.id = Some(session.begin_upload(&self.key)?);
        }
        Ok(self.id.as_deref().unwrap_or_default())
    }

    fn send_gathered(&mut self, session: &mut Session) -> io::Result<()> {
        self.begun(session)?;
        let number = self.tags.len() as u16 + 1;
        let tag = session.put_part(&self.key, self.id.as_deref().unwrap_or_default(), number, &self.gathered)?;
        self.tags.push(tag);
        self.gathered.clear();
        Ok(())
    }

    /// Makes the object of what was written. Nothing where a part is missing, which was told when it failed.
    pub(super) fn finish(&mut self, session: &mut Session) -> io::Result<()> {
        if self.state != State::Open {
            return Ok(());
        }
        let missing = self.tags.iter().any(String::is_empty) || self.plan.direct && self.at == 0;
        let finished = if missing { Ok(()) } else { self.complete(session) };
        self.state = if finished.is_ok() && !missing { State::Whole } else { State::Failed };
        self.abort(session);
        finished
    }

    fn complete(&mut self, session: &mut Session) -> io::Result<()> {
        if self.tags.is_empty() {
            // Fewer bytes than a part, where a limit ended the phase: the upload that was begun is for nothing.
            return session.put(&self.key, &self.gathered);
        }
        if !self.gathered.is_empty() {
            self.send_gathered(session)?;
        }
        session.complete_upload(&self.key, self.id.as_deref().unwrap_or_default(), &self.tags, self.at)?;
        self.id = None;
        Ok(())
    }

    /// Gives the parts back. Where this fails, the run's end tries again.
    pub(super) fn abort(&mut self, session: &mut Session) {
        if let Some(id) = self.id.take() {
            let _ = session.abort_upload(&self.key, &id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> BucketSpec {
        let (bucket, prefix, endpoint, region) = ("b".into(), "p".into(), "http://127.0.0.1:1".into(), "r".into());
        BucketSpec { bucket, prefix, endpoint, region, part_bytes: 8 << 20, path_style: true, profile: None }
    }

    #[test]
    fn a_transfer_is_a_request_where_it_is_a_part_or_the_file() {
        let plan = |transfer, file| {
            let Plan { part_bytes, whole, direct } = Plan::new(&spec(), transfer, file).unwrap();
            (part_bytes >> 20, whole, direct)
        };
        assert_eq!(plan(4096, 4096), (8, true, true), "one small object");
        assert_eq!(plan(4096, 1 << 20), (8, true, false));
        assert_eq!(plan(1 << 20, 64 << 20), (8, false, false));
        assert_eq!(plan(8 << 20, 64 << 20), (8, false, true));
        assert_eq!(plan(5 << 20, 20 << 20), (5, false, true));
        assert_eq!(plan(64 << 20, 64 << 20), (64, true, true));
        assert!(Plan::new(&spec(), 4096, 80_001 << 20).is_err(), "10001 parts");
    }

    #[test]
    fn bytes_come_in_their_order_or_not_at_all() {
        let mut upload = Upload::new("k".into(), Plan { part_bytes: 10, whole: false, direct: false });
        assert_eq!(upload.gather(0, &[1; 7]).unwrap(), 7);
        assert!(upload.gather(8, &[1]).is_err() && upload.gather(3, &[1]).is_err());
        assert_eq!(upload.gather(7, &[2; 7]).unwrap(), 3);
        assert!(upload.is_full());
        assert_eq!((upload.next_number(), upload.next_number()), (1, 2));
        upload.landed(2, "two".into());
        assert_eq!(upload.tags, ["", "two"]);
    }

    #[test]
    fn a_part_that_failed_may_come_again_and_a_next_pass_is_another_object() {
        let mut upload = Upload::new("k".into(), Plan { part_bytes: 10, whole: false, direct: true });
        assert_eq!(upload.take_direct(10, 10).unwrap(), Some(2));
        assert_eq!(upload.take_direct(0, 10).unwrap(), Some(1));
        assert!(upload.take_direct(5, 10).is_err());
        upload.landed(2, "two".into());
        assert!(!upload.begins_anew(0), "the first part failed and comes again");
        upload.landed(1, "one".into());
        assert!(upload.begins_anew(0) && !upload.begins_anew(10));
    }
}
