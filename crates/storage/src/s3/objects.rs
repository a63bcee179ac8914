//! What is asked of objects, each by its exact key.

use std::io;

use rusty_s3::S3Action;
use rusty_s3::actions::{CreateMultipartUpload, GetObject, ListObjectsV2};

use super::http_connection::cut_short;
use super::service::{Answer, Ask, Failure, Session, first};

/// Keys that one answer holds at most.
const KEYS_AT_ONCE: usize = 1000;
const RANGE_BEHIND_END: u16 = 416;

/// What one question for keys brought.
pub(super) struct Listed {
    pub(super) keys: Vec<String>,
    /// How many names go on behind a slash.
    pub(super) directories: usize,
    next: Option<String>,
}

impl Session {
    /// Writes a whole object.
    pub(super) fn put(&mut self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let service = self.service.clone();
        let ask = Ask::new(&service.bucket.put_object(Some(&service.credentials), key), bytes);
        Ok(self.ask(&ask, None).map(drop)?)
    }

    /// Reads from an offset; how many bytes, 0 behind the end. Fewer than asked for only at the end of the object.
    pub(super) fn read(&mut self, key: &str, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let service = self.service.clone();
        let mut ask = Ask::new(&service.bucket.get_object(Some(&service.credentials), key), &[]);
        ask.range = Some((offset, into.len() as u64));
        match self.ask(&ask, Some(into)) {
            Ok(answer) => Ok(answer.count),
            Err(failure) if failure.status == RANGE_BEHIND_END => Ok(0),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Bytes of an object; `None` where there is none.
    pub(super) fn size(&mut self, key: &str) -> io::Result<Option<u64>> {
        let service = self.service.clone();
        let ask = Ask::new(&service.bucket.head_object(Some(&service.credentials), key), &[]);
        match self.ask(&ask, None) {
            Ok(answer) => answer.head.length.map(Some).ok_or_else(|| io::Error::other("the service does not tell a length")),
            Err(failure) if failure.status == 404 => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Removes an object; one that is not there is no error, for the service says so of both.
    pub(super) fn remove(&mut self, key: &str) -> io::Result<()> {
        let service = self.service.clone();
        let ask = Ask::new(&service.bucket.delete_object(Some(&service.credentials), key), &[]);
        match self.ask(&ask, None) {
            Err(failure) if failure.status != 404 => Err(failure.into()),
            _ => Ok(()),
        }
    }

    /// Begins an upload; its name.
    pub(super) fn begin_upload(&mut self, key: &str) -> io::Result<String> {
        let service = self.service.clone();
        let ask = Ask::new(&service.bucket.create_multipart_upload(Some(&service.credentials), key), &[]);
        let answer = self.ask(&ask, None)?;
        let begun = CreateMultipartUpload::parse_response(&answer.text).map_err(io::Error::other)?;
        Ok(begun.upload_id().to_owned())
    }

    /// Writes one part of an upload, counted from 1; its tag.
    pub(super) fn put_part(&mut self, key: &str, upload: &str, number: u16, bytes: &[u8]) -> io::Result<String> {
        let service = self.service.clone();
        let ask = Ask::new(&service.bucket.upload_part(Some(&service.credentials), key, number, upload), bytes);
        let answer = self.ask(&ask, None)?;
        answer.head.etag.ok_or_else(|| io::Error::other("the service gives no ETag for a part"))
    }

    /// Makes an object of the parts of an upload, which have so many bytes together.
    pub(super) fn complete_upload(&mut self, key: &str, upload: &str, tags: &[String], bytes: u64) -> io::Result<()> {
        let service = self.service.clone();
        let tags = tags.iter().map(String::as_str);
        let action = service.bucket.complete_multipart_upload(Some(&service.credentials), key, upload, tags);
        let body = action.clone().body().into_bytes();
        let Err(failure) = self.ask(&Ask::new(&action, &body), None) else { return Ok(()) };
        // Where the answer of the first attempt was lost, there is nothing left to complete.
        if failure.status == 404 && self.size(key)? == Some(bytes) {
            return Ok(());
        }
        Err(failure.into())
    }

    /// Gives an upload up, and the space of its parts back.
    pub(super) fn abort_upload(&mut self, key: &str, upload: &str) -> io::Result<()> {
        let service = self.service.clone();
        let ask = Ask::new(&service.bucket.abort_multipart_upload(Some(&service.credentials), key, upload), &[]);
        match self.ask(&ask, None) {
            Err(failure) if failure.status != 404 => Err(failure.into()),
            _ => Ok(()),
        }
    }

    /// Some keys that begin so, from where `after` ended. With `flat`, none behind a further slash.
    pub(super) fn list(&mut self, prefix: &str, flat: bool, after: Option<&Listed>) -> io::Result<Listed> {
        let service = self.service.clone();
        let mut action = service.bucket.list_objects_v2(Some(&service.credentials));
        action.with_prefix(prefix);
        action.with_max_keys(KEYS_AT_ONCE);
        if flat {
            action.with_delimiter("/");
        }
        if let Some(next) = after.and_then(|after| after.next.as_deref()) {
            action.with_continuation_token(next);
        }
        let Answer { text, .. } = self.ask(&Ask::new(&action, &[]), None)?;
        let found = ListObjectsV2::parse_response(&text).map_err(io::Error::other)?;
        Ok(Listed {
            keys: found.contents.into_iter().map(|object| object.key).collect(),
            directories: found.common_prefixes.len(),
            next: found.next_continuation_token,
        })
    }

    /// All keys that begin so.
    pub(super) fn list_all(&mut self, prefix: &str) -> io::Result<Vec<String>> {
        let mut listed = self.list(prefix, false, None)?;
        let mut keys = std::mem::take(&mut listed.keys);
        while !listed.is_last() {
            listed = self.list(prefix, false, Some(&listed))?;
            keys.append(&mut listed.keys);
        }
        Ok(keys)
    }

    /// Key and name of the uploads that nobody completed, of keys that begin so. None where a service cannot tell.
    pub(super) fn uploads(&mut self, prefix: &str) -> io::Result<Vec<(String, String)>> {
        let service = self.service.clone();
        // The bucket itself: an object without a name.
        let mut action = GetObject::new(&service.bucket, Some(&service.credentials), "");
        action.query_mut().insert("prefix", prefix.to_owned());
        action.query_mut().insert("uploads", "");
        let text = match self.ask(&Ask::new(&action, &[]), None) {
            Ok(answer) => answer.text,
            Err(Failure { status: 501, .. }) => return Ok(Vec::new()),
            Err(failure) => return Err(failure.into()),
        };
        let uploads = text.split("<Upload>").skip(1).map(|upload| {
            let part = |name| first(upload, name).map(str::to_owned).ok_or_else(cut_short);
            Ok((part("Key")?, part("UploadId")?))
        });
        uploads.collect()
    }
}

impl Listed {
    /// Whether nothing follows.
    pub(super) const fn is_last(&self) -> bool {
        self.next.is_none()
    }
}
