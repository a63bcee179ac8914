//! A storage around another one.

use std::io;

use tonnage_workload::CachePolicy;

use crate::api::{CacheState, Facts, Lane, Names, NamesRequest, Note, OpenRequest, SnapshotRequest, Snapshots, Space, Storage};
use crate::error::Result;
use crate::fs::watch::Watch;
use crate::object_placement::Placement;

/// Writes each call of [`Storage`] twice: as one that a wrapper may change, and as what the wrapper's own storage does.
macro_rules! calls {
    ($(fn $call:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        /// A storage around another one: it states the calls that it changes, and all others are the inner one's. Whatever
        /// implements it is a [`Storage`].
        pub trait Wrapper: Send + Sync {
            /// The storage that is wrapped.
            fn inner(&self) -> &dyn Storage;
            $(
                #[doc = concat!("See [`Storage::", stringify!($call), "`].")]
                fn $call(&self $(, $argument: $kind)*) $(-> $answer)? {
                    self.inner().$call($($argument),*)
                }
            )*
        }

        impl<W: Wrapper> Storage for W {
            $(
                fn $call(&self $(, $argument: $kind)*) $(-> $answer)? {
                    Wrapper::$call(self $(, $argument)*)
                }
            )*
        }
    };
}

calls! {
    fn lane(request: &OpenRequest) -> Result<Lane>;
    fn names(request: &NamesRequest) -> Result<Box<dyn Names>>;
    fn length(file: u32) -> Result<u64>;
    fn prepare_write(files: &[u32]) -> Result<()>;
    fn settle(files: &[u32], cache: CachePolicy) -> Result<CacheState>;
    fn tasks_at(processes: &[u32]);
    fn watch(file: u32) -> Option<Watch>;
    fn snapshots(request: &SnapshotRequest) -> Result<Box<dyn Snapshots>>;
    fn space() -> Vec<Space>;
    fn cut_short();
    fn clear() -> Result<()>;
    fn finish() -> Result<Vec<Note>>;
    fn keep_named(keep: bool);
    fn placement() -> Result<Option<Placement>>;
    fn explain(error: &io::Error) -> Option<String>;
    fn facts() -> Facts;
}
