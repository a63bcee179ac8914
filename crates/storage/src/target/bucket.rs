//! Which bucket of S3.

use serde::{Deserialize, Serialize};

/// Which objects are meant. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSpec {
    /// Name of the bucket, which is there.
    pub bucket: String,
    /// The run's own keys are below this and a slash.
    pub prefix: String,
    /// Such as `http://127.0.0.1:7070`.
    pub endpoint: String,
    /// As the service calls it.
    pub region: String,
    /// Bytes of a part of an upload.
    pub part_bytes: u64,
    /// The bucket is named in the path, not in the host.
    pub path_style: bool,
    /// Whose keys are taken from AWS's credentials file; `None`: those of the environment, else of its default profile.
    #[serde(default)]
    pub profile: Option<String>,
}
