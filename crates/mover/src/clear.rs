//! Takes files that are done and verified off the source.
use crate::Result;
/// Clears.
#[derive(Debug, Default)]
pub struct Clearer;
impl Clearer {
    /// Settles what a crash left aside.
    pub fn recover(&mut self) -> Result<()> {
        Ok(())
    }
    /// One step.
    pub fn step(&mut self) -> Result<bool> {
        Ok(false)
    }
}
