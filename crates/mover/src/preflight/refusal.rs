//! What a refusal says.

use crate::error::MoverError;

/// A request that cannot work: what is wrong, and what to do.
pub(super) fn refused(wrong: &str, hint: &str) -> MoverError {
    MoverError::Request(format!("{wrong}; hint: {hint}"))
}
