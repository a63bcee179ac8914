//! Which bucket, and who asks.

use std::io::Read;
use std::path::{Path, PathBuf};

use rusty_s3::Credentials;

use crate::error::{Result, StorageError};
use crate::target::BucketSpec;

/// The smallest part of an upload that S3 takes, but for the last one.
pub const LEAST_PART_BYTES: u64 = 5 << 20;
/// Nobody keeps more in a credentials file.
const FILE_BYTES_MOST: u64 = 1 << 20;

impl BucketSpec {
    pub(super) fn check(&self) -> Result<()> {
        let refused = |text: &str| Err(StorageError::Unsupported(text.to_owned()));
        if self.part_bytes < LEAST_PART_BYTES {
            return refused("S3 takes no parts below 5 MiB; give a larger part");
        }
        if self.bucket.is_empty() {
            return refused("a storage of kind s3 needs a bucket");
        }
        Ok(())
    }
}

/// The keys that requests are signed with.
///
/// # Errors
/// One line that says where they were looked for, and holds nothing of what was found there.
pub(super) fn credentials(profile: Option<&str>) -> Result<Credentials> {
    if profile.is_none()
        && let Some(found) = Credentials::from_env()
    {
        return Ok(found);
    }
    let variable = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let profile = profile.map(str::to_owned).or_else(|| variable("AWS_PROFILE")).unwrap_or_else(|| "default".to_owned());
    let file = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
    let file = file.or_else(|| std::env::home_dir().map(|home| home.join(".aws/credentials"))).unwrap_or_default();
    read_text(&file).ok().and_then(|text| in_profile(&text, &profile)).ok_or_else(|| {
        StorageError::Unsupported(format!(
            "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give profile {profile} both in {}",
            file.display()
        ))
    })
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MOST).read_to_string(&mut text)?;
    Ok(text)
}

/// The keys under `[profile]`.
fn in_profile(text: &str, profile: &str) -> Option<Credentials> {
    let mut here = false;
    let (mut key, mut secret, mut token) = (None, None, None);
    for session in text.lines().map(str::trim) {
        if let Some(name) = session.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            here = name.trim() == profile;
        } else if here && let Some((name, value)) = session.split_once('=') {
            let place = match name.trim() {
                "aws_access_key_id" => &mut key,
                "aws_secret_access_key" => &mut secret,
                "aws_session_token" => &mut token,
                _ => continue,
            };
            *place = Some(value.trim()).filter(|value| !value.is_empty());
        }
    }
    Some(match token {
        Some(token) => Credentials::new_with_token(key?, secret?, token),
        None => Credentials::new(key?, secret?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_profile_and_of_no_other() {
        let text = "[default]\naws_access_key_id = one\naws_secret_access_key=a=b\n# [lab]\n[lab]\naws_access_key_id=two\n\
                    aws_secret_access_key = c\naws_session_token = t\n[half]\naws_access_key_id=three\n";
        let found = in_profile(text, "default").unwrap();
        assert_eq!((found.key(), found.secret(), found.token()), ("one", "a=b", None));
        let found = in_profile(text, "lab").unwrap();
        assert_eq!((found.key(), found.secret(), found.token()), ("two", "c", Some("t")));
        assert!(in_profile(text, "half").is_none(), "a key without its secret");
        assert!(in_profile(text, "none").is_none());
    }
}
