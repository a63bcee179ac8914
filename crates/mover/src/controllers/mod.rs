//! What is measured goes in, what to do next comes out: neither part knows a clock, a thread or a process, so that tests run both in
//! virtual time.
//!
//! | part | what it does |
//! |---|---|
//! | `window` | cuts a counter into stretches of time, whose rates can be compared |
//! | `usual_level` | what such rates usually are, and for how many windows in a row something held |
//! | [`worker_count`] | how many workers: steps up and down, each compared with the one before |
//! | [`throttle`] | how fast beside an application: backs off at once, comes back step by step |

pub mod throttle;
mod usual_level;
mod window;
pub mod worker_count;
