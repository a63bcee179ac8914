//! A reader of a file that grows.

use crate::tail::{ReadShare, Tail};

/// Which transfers a reader reads: `first`, and each `stride`th after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    first: u64,
    stride: u64,
}

impl Share {
    /// That of reader `reader` (from 0) of `readers`.
    #[must_use]
    pub fn of(follow: ReadShare, reader: u32, readers: u32) -> Self {
        match follow {
            ReadShare::Whole => Self { first: 0, stride: 1 },
            ReadShare::Share => Self { first: reader.into(), stride: readers.into() },
        }
    }

    /// How many of the file's first `transfers` are its own.
    #[must_use]
    pub const fn among(self, transfers: u64) -> u64 {
        transfers.saturating_sub(self.first).div_ceil(self.stride)
    }
}

/// What a reader does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowStep {
    /// Reads this transfer, or what there is of it, with so many of its own written and not read.
    Read {
        /// The transfer's number in the file.
        number: u64,
        /// Transfers of its share that are written and that it has not read.
        behind: u64,
    },
    /// It was given its time after the writer's end, and has not read all.
    GiveUp {
        /// The transfer that it did not read.
        number: u64,
        /// How many it did not.
        behind: u64,
    },
    /// It has read all that was written, and no more will be.
    Done,
}

/// One reader's way through its share.
#[derive(Debug, Clone)]
pub struct TailReader {
    share: Share,
    /// Transfers of its share in the whole file.
    all: u64,
    done: u64,
    /// How long after the writer's end it may read.
    grace: u64,
}

impl TailReader {
    /// Reader `reader` (from 0) of `readers` of `tail`; `grace` is the tail's, in the unit of the instants.
    #[must_use]
    pub fn new(tail: &Tail, reader: u32, readers: u32, grace: u64) -> Self {
        let share = Share::of(tail.follow, reader, readers);
        Self { share, all: share.among(tail.transfers()), done: 0, grace }
    }

    /// What is next at `now`, where the writer has written `written` transfers, and has ended at `ended` if it has. The end
    /// is to be looked at before what is written: what there is after the end, there was at that end.
    #[must_use]
    pub fn next(&self, written: u64, ended: Option<u64>, now: u64) -> FollowStep {
        let behind = self.behind(written);
        if self.done == self.all || ended.is_some() && behind == 0 {
            return FollowStep::Done;
        }
        let number = self.next_number();
        if ended.is_some_and(|ended| now.saturating_sub(ended) > self.grace) {
            return FollowStep::GiveUp { number, behind };
        }
        FollowStep::Read { number, behind }
    }

    /// Transfers of its share, of the first `written` of the file, that it has not read.
    #[must_use]
    pub const fn behind(&self, written: u64) -> u64 {
        self.share.among(written).saturating_sub(self.done)
    }

    /// The transfer that it reads next.
    #[must_use]
    pub const fn next_number(&self) -> u64 {
        self.share.first + self.done * self.share.stride
    }

    /// It has read a transfer.
    pub const fn completed(&mut self) {
        self.done += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_disjoint_and_make_up_the_file() {
        for readers in [1, 3, 8] {
            let shares: Vec<Share> = (0..readers).map(|reader| Share::of(ReadShare::Share, reader, readers)).collect();
            for transfers in 0..30 {
                assert_eq!(shares.iter().map(|share| share.among(transfers)).sum::<u64>(), transfers);
            }
        }
        assert_eq!(Share::of(ReadShare::Whole, 3, 8).among(17), 17);
    }
}
