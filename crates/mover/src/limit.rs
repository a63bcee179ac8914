//! Bytes and files a second, changeable while it runs.
