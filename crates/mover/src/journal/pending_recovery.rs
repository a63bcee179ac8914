//! What a journal that was begun has yet to learn of what an earlier one of the same mover left at the destination.

use super::Journal;
use crate::error::Result;

pub(super) const KEY: &str = "owed";

/// What is still to be done. Kept until it is, so that it is done whenever the mover is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// The manifest is to be read, then the temporaries are to be swept.
    Manifest,
    /// The temporaries are to be swept.
    Sweep,
    /// Nothing.
    Nothing,
}

impl Owed {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Sweep => "sweep",
            Self::Nothing => "nothing",
        }
    }
}

impl Journal {
    /// What is owed now. A journal from before this was kept owes nothing.
    pub fn owed(&self) -> Result<Owed> {
        let kept = self.get(KEY)?;
        Ok([Owed::Manifest, Owed::Sweep].into_iter().find(|owed| kept.as_deref() == Some(owed.text())).unwrap_or(Owed::Nothing))
    }

    /// Keeps what is owed from now on.
    pub fn owe(&self, owed: Owed) -> Result<()> {
        self.set(KEY, owed.text())
    }

    /// The first number of this journal. Those below are of earlier ones.
    pub fn first_id(&self) -> Result<i64> {
        Ok(self.get("first_id")?.and_then(|first| first.parse().ok()).unwrap_or(i64::MIN))
    }
}
