//! What a refusal says.

use rustix::io::Errno;

use crate::error::MoverError;

/// A request that cannot work: what is wrong, and what to do.
pub(super) fn refused(wrong: &str, hint: &str) -> MoverError {
    MoverError::Request(format!("{wrong}; hint: {hint}"))
}

/// The system's words, without the number that Rust adds.
pub(super) fn words(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
