//! The only place of this crate that renames or unlinks.
