//! Looks for what is to be done: scans, hints, time that has come.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::fs::fstatvfs;

use crate::controllers::worker_count::Tuner;
use crate::error::{MoverError, Result};
use crate::file_version::Kind;
use crate::journal::Doubt;
use crate::journal_entry::Entry;
use crate::mapped_stores::Stores;
use crate::options::Clear;
use crate::order_of_steps;
use crate::path::TreePath;
use crate::purge::{Purger, used_permille};
use crate::scan::{Scanned, Scanner};
use crate::status::{Progress, Totals};
use crate::watch::Hint;

use super::core::Core;
use super::offline;
use super::recheck_safe::{Look, Looked};

/// Between two looks at rates, limits and markers.
const TICK_NS: u64 = 50_000_000;
/// Between two looks at how full the source is.
const FILL_NS: u64 = 500_000_000;
/// Longest wait for a hint while something is on its way, and while nothing is.
const BUSY: Duration = Duration::from_millis(10);
pub(super) const IDLE: Duration = Duration::from_millis(50);
/// So often copies that are missing go again by one mover.
const LOOKS: u32 = 4;
/// Entries that come from the journal at once.
const PAGE: u32 = 8192;

/// The planner's own state.
pub(super) struct Planner<'a> {
    pub(super) core: &'a Core,
    tuner: Option<Tuner>,
    purger: Purger<'a>,
    tick_ns: u64,
    fill_ns: u64,
    scanned_ns: u64,
    /// What is done has been shown to be so since the drain began.
    shown: bool,
    /// Looks at the copies that found some missing.
    looks_in_vain: u32,
    /// All directories at the destination were brought up to date since the mover began; later only those that were touched are.
    pub(super) directories_known: bool,
}

impl<'a> Planner<'a> {
    pub(super) fn new(core: &'a Core, tuner: Option<Tuner>) -> Self {
        let purger =
            Purger::new(&core.from, &core.to, &core.journal, &core.quiescence, &core.options, &core.halt, &core.established);
        Self {
            core,
            tuner,
            purger,
            tick_ns: 0,
            fill_ns: 0,
            scanned_ns: 0,
            shown: false,
            looks_in_vain: 0,
            directories_known: false,
        }
    }

    /// Until everything is done, or the mover is halted.
    pub(super) fn run(mut self) -> Result<()> {
        self.begin()?;
        while !self.core.halted() {
            let heard = self.hear()?;
            self.tick()?;
            if self.core.deadline_passed() {
                break;
            }
            if !heard && self.finish()? {
                break;
            }
        }
        self.leave_source()?;
        self.core.end();
        Ok(())
    }

    /// Leaves nothing set aside at the source, and says what could not be helped.
    fn leave_source(&mut self) -> Result<()> {
        self.purger.give_back_rest()?;
        let mut unreadable = offline::unreadable(&self.core.journal);
        let known = unreadable.len();
        for (path, why) in self.purger.stranded() {
            match self.core.journal.by_path(&path)? {
                Some(entry) => self.core.journal.strand(entry.id, &why)?,
                None => unreadable.push((path.to_string(), why)),
            }
        }
        if unreadable.len() > known {
            offline::keep_unreadable(&self.core.journal, &unreadable)?;
        }
        self.note_clearing().map(|_| ())
    }

    /// What an earlier mover left, and then everything there is.
    fn begin(&mut self) -> Result<()> {
        offline::say_finished(&self.core.journal, false)?;
        order_of_steps::recover(&self.core.carrier, &mut self.purger)?;
        self.note_clearing()?;
        if self.core.quiescence.stores() == Stores::Timed {
            self.queue_known(false)?;
            self.scan(&TreePath::root())?;
        } else {
            // What an earlier mover called done may have been written since. Looked at before its directory has a watch, it might be
            // written once more unseen.
            let before_id = self.core.journal.next_id();
            self.scan(&TreePath::root())?;
            self.core.journal.doubt(&Doubt { before_id, all: true, not_of: None })?;
            self.queue_known(false)?;
        }
        // After the scan: it says what the source still has.
        self.core.carrier.abandon_given_up(|id| self.core.lock().queue.holds(id))?;
        self.look(Look { copies: true, writers: false })?;
        let mut state = self.core.lock();
        if state.progress == Progress::Starting {
            state.progress = Progress::Watching;
        }
        Ok(())
    }

    /// Queues what the journal has to be carried over; `say` it in the log, of what is not there yet.
    fn queue_known(&self, say: bool) -> Result<()> {
        let mut after = 0;
        loop {
            let page = self.core.journal.queued(after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id;
            self.core.queue(page, say);
        }
    }

    /// Follows hints; whether there were any.
    fn hear(&mut self) -> Result<bool> {
        let idle = self.core.lock().queue.is_empty();
        let hints = self.core.watch.next(if idle { IDLE } else { BUSY });
        let heard = !hints.is_empty();
        let asked = self.core.scan_asked();
        let mut everything = asked || self.core.now_ns() >= self.scanned_ns + self.core.options.rescan_ns;
        everything |= self.follow(hints)?;
        if asked {
            self.hear_out()?;
            self.scan_as_asked()?;
        } else if everything {
            self.scan(&TreePath::root())?;
        }
        Ok(heard)
    }

    /// Follows all hints that there are, so that what was written until now is known; whether everything must be scanned.
    fn hear_out(&mut self) -> Result<bool> {
        let mut everything = false;
        while !self.core.halted() {
            let hints = self.core.watch.next(Duration::ZERO);
            if hints.is_empty() {
                break;
            }
            everything |= self.follow(hints)?;
        }
        Ok(everything)
    }

    /// Looks where hints say; whether everything must be scanned.
    fn follow(&mut self, hints: Vec<Hint>) -> Result<bool> {
        let (mut names, mut written, mut everything) = (Vec::new(), Vec::new(), false);
        for hint in hints {
            match hint {
                Hint::Name(path) => names.push(path),
                Hint::Written(path) => {
                    names.push(path.clone());
                    written.push(path);
                }
                Hint::Directory(path) => self.scan(&path)?,
                Hint::Overflow => everything = true,
            }
        }
        if !names.is_empty() {
            self.scanner(|scanner, sink| scanner.look(&names, sink))?;
        }
        if !written.is_empty() && self.core.quiescence.stores() != Stores::Timed {
            let flies = |id| self.core.lock().queue.flies(id);
            self.core.queue(self.core.journal.written(&written, flies)?, true);
        }
        Ok(everything)
    }

    /// Scans everything, and queues what may have been written without any sign of it. Who asked is told after that.
    fn scan_as_asked(&mut self) -> Result<()> {
        self.core.lock().scanning = true;
        let scanned = self.scanner(|scanner, sink| scanner.scan(&TreePath::root(), sink))?;
        self.doubt(true)?;
        self.look(Look { copies: false, writers: self.core.quiescence.stores() == Stores::Closed })?;
        self.renew_directories()?;
        self.scanned_ns = self.core.now_ns();
        self.core.told_by_scan(&scanned, true)
    }

    /// Queues what is done and may have been written without any sign of it, `again`: also what was compared before; how many.
    fn doubt(&mut self, again: bool) -> Result<u64> {
        let (core, stores) = (self.core, self.core.quiescence.stores());
        let missed = stores == Stores::Closed && core.watch.missed();
        let root = rustix::process::geteuid();
        let not_of = (again && !root.is_root()).then_some(root.as_raw());
        let all = missed || again && stores == Stores::Unseen;
        if !all && not_of.is_none() {
            return Ok(0);
        }
        if missed {
            let flying = core.lock().queue.all_flying();
            core.journal.doubt_once_done(flying.into_iter());
        }
        let doubted = core.journal.doubt(&Doubt { before_id: i64::MAX, all, not_of })?;
        if doubted > 0 {
            self.queue_known(true)?;
        }
        Ok(doubted)
    }

    fn scan(&mut self, below: &TreePath) -> Result<()> {
        self.scan_counting(below).map(|_| ())
    }

    /// Scans; what was queued by it, and what could not be read.
    fn scan_counting(&mut self, below: &TreePath) -> Result<Scanned> {
        let mut scanned = self.scanner(|scanner, sink| scanner.scan(below, sink))?;
        if below.is_root() {
            scanned.queued += self.renew_directories()?;
            self.scanned_ns = self.core.now_ns();
            self.core.told_by_scan(&scanned, false)?;
        }
        Ok(scanned)
    }

    fn scanner(&self, look: impl FnOnce(&Scanner<'_>, &mut dyn FnMut(Vec<Entry>)) -> Result<Scanned>) -> Result<Scanned> {
        let core = self.core;
        core.established.check_state()?;
        let scanner =
            Scanner { from: &core.from, rules: &core.rules, journal: &core.journal, watch: Some(&core.watch), halt: &core.halt };
        look(&scanner, &mut |entries| core.queue(entries, true))
    }

    /// Looks whether all that is called safe still is; whether any of it goes again.
    fn look(&mut self, look: Look) -> Result<bool> {
        let Looked { missing: again, doubted } = self.core.look(look)?;
        if look.writers {
            // Who closed a file before the look has given a hint by now.
            self.core.lock().rescan |= self.hear_out()?;
        }
        if again.is_empty() {
            return Ok(doubted > 0);
        }
        if self.looks_in_vain == LOOKS {
            let why = "its copy at the destination is removed or changed each time; hint: end who does that, then resume";
            again.iter().try_for_each(|entry| self.core.journal.failed(entry.id, why))?;
            return Ok(doubted > 0);
        }
        self.looks_in_vain += 1;
        self.core.queue(again, true);
        Ok(true)
    }

    /// What happens by the clock.
    fn tick(&mut self) -> Result<()> {
        let now_ns = self.core.now_ns();
        if self.core.lock().queue.wake(now_ns) > 0 {
            self.core.wakeup.notify_all();
        }
        if now_ns < self.tick_ns {
            return Ok(());
        }
        self.tick_ns = now_ns + TICK_NS;
        self.core.established.check(&self.core.from, &self.core.to)?;
        self.measure(now_ns);
        self.release_markers()?;
        if now_ns >= self.fill_ns {
            self.fill_ns = now_ns + FILL_NS;
            self.core.look_at_fill()?;
        }
        self.purger.set_unread(offline::unreadable(&self.core.journal).len());
        self.purger.step()?;
        self.note_clearing().map(|_| ())
    }

    /// What the user must know of what stayed at the source; whether some of that goes again.
    fn note_clearing(&mut self) -> Result<bool> {
        let mut notes = self.purger.notes();
        notes.extend(self.core.carrier.notes());
        if !notes.is_empty() {
            let mut state = self.core.lock();
            for note in notes {
                state.note(note);
            }
        }
        let fresh = self.purger.fresh()?;
        let any = !fresh.is_empty();
        self.core.queue(fresh, true);
        Ok(any)
    }

    /// Rates, and from them the number of workers and what will not fit.
    fn measure(&mut self, now_ns: u64) {
        let core = self.core;
        let bytes = core.counters.copied_bytes.load(Ordering::Relaxed);
        let files = core.counters.done.load(Ordering::Relaxed);
        let mut state = core.lock();
        // A copy that fails again and again brings nothing nearer to its end.
        state.rates.mark(now_ns, core.counters.kept_bytes(), files);
        let held = state.queue.ready() == 0 && state.large.is_empty()
            || core.limiter.gentle().is_some()
            || core.limiter.asked() != (None, None);
        if let Some(deadline_ns) = state.deadline_ns {
            let left = core.journal.totals().pending();
            state.will_not_fit = beyond(left, state.rates.now(), deadline_ns.saturating_sub(now_ns));
        }
        drop(state);
        if let Some(tuner) = &mut self.tuner {
            let workers = tuner.sample(now_ns, bytes, files, held);
            if core.counters.workers.swap(workers, Ordering::Relaxed) < workers {
                core.wakeup.notify_all();
            }
        }
    }

    /// Lets markers go whose sets are whole. The scan of the set is the truth of what belongs to it.
    fn release_markers(&mut self) -> Result<()> {
        let directories = self.core.lock().sets.directories();
        for directory in directories {
            let waiting = self.core.lock().sets.of(&directory).len() as u64;
            let below = self.core.journal.below(&directory)?;
            let (mut missing, mut failed) = (below.pending().files.saturating_sub(waiting), below.failed().files);
            if missing + failed == 0 {
                let scanned = self.scan_counting(&directory)?;
                (missing, failed) = (scanned.queued, scanned.unreadable.len() as u64);
            }
            if missing + failed == 0 {
                self.core.release(&directory);
            } else {
                self.core.say_of_set(&directory, missing, failed)?;
            }
        }
        Ok(())
    }

    /// Whether the drain is over: nothing is on its way, and a last scan finds nothing.
    fn finish(&mut self) -> Result<bool> {
        {
            let mut state = self.core.lock();
            if state.drain_ns.is_none() {
                return Ok(false);
            }
            state.progress = Progress::Draining;
            if !state.queue.is_empty() {
                return Ok(false);
            }
        }
        self.hear_out()?;
        let queued = self.scan_counting(&TreePath::root())?.queued;
        // The application has ended: what is compared from now on stays so.
        let again = !std::mem::replace(&mut self.shown, true);
        let doubted = self.doubt(again)?;
        let core = self.core;
        core.established.check(&core.from, &core.to)?;
        let writers = again && core.quiescence.stores() == Stores::Closed;
        if queued + doubted > 0 || self.look(Look { copies: true, writers })? || !core.lock().queue.is_empty() || core.halted() {
            return Ok(false);
        }
        self.purger.set_unread(offline::unreadable(&core.journal).len());
        self.purger.finish(|| core.halted() || core.deadline_passed())?;
        let back = self.purger.give_back_rest()?;
        if self.note_clearing()? || back {
            return Ok(false);
        }
        core.established.check(&core.from, &core.to)?;
        // What was cleared in between counts on its copy.
        let cleared = core.options.clear != Clear::Never;
        if cleared && self.look(Look { copies: true, writers: false })? || core.halted() {
            return Ok(false);
        }
        self.purger.close();
        // What could not be removed at the start is tried once more.
        if !core.carrier.sweep()? {
            core.lock()
                .note("temporaries of an earlier mover may be left at the destination; hint: resume to remove them".to_owned());
        }
        self.finish_directories()?;
        offline::say_finished(&self.core.journal, true)?;
        self.core.lock().progress = Progress::Finished;
        Ok(true)
    }
}

impl Core {
    /// Puts what was found where it can go from; `say`: with a line in the log for each that was not there yet.
    pub(super) fn queue(&self, entries: Vec<Entry>, say: bool) {
        let now_ns = self.now_ns();
        let mut state = self.lock();
        if say {
            // Before anybody can take it.
            let found = entries.iter().filter(|entry| entry.version.kind != Kind::Directory && !state.queue.holds(entry.id));
            self.log.enqueue(found.map(|entry| &entry.path));
        }
        for entry in entries {
            let key = self.rules.key(&entry);
            if entry.version.kind == Kind::File
                && let Some(directory) = self.rules.marker(&entry.path)
            {
                state.sets.wait(directory, entry.id, key);
                state.queue.keep(entry.id, key, now_ns, u64::MAX, "waits for its set".to_owned());
            } else {
                state.queue.push(entry.id, key);
            }
        }
        drop(state);
        self.wakeup.notify_all();
    }

    fn release(&self, directory: &TreePath) {
        let mut state = self.lock();
        for (id, key) in state.sets.release(directory) {
            state.queue.release(id, key);
        }
        drop(state);
        self.wakeup.notify_all();
    }

    /// Says what the markers of `directory` wait for. At the end of a drain, with nothing else left, they are given up.
    fn say_of_set(&self, directory: &TreePath, missing: u64, failed: u64) -> Result<()> {
        let now_ns = self.now_ns();
        let reason = match failed {
            0 => format!("waits for {missing} more of its set"),
            _ => format!("its set is not whole: {failed} of it failed; mend that, then resume"),
        };
        let mut left_out = Vec::new();
        {
            let mut state = self.lock();
            let give_up = state.drain_ns.is_some() && missing == 0 && failed > 0;
            let markers = if give_up { state.sets.release(directory) } else { state.sets.of(directory) };
            for (id, key) in markers {
                if give_up {
                    state.queue.land(id);
                    left_out.push(id);
                } else {
                    state.queue.keep(id, key, now_ns, u64::MAX, reason.clone());
                }
            }
        }
        left_out.into_iter().try_for_each(|id| self.journal.failed(id, &reason))
    }

    fn scan_asked(&self) -> bool {
        std::mem::take(&mut self.lock().rescan)
    }

    fn deadline_passed(&self) -> bool {
        let now_ns = self.now_ns();
        self.lock().deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns)
    }

    fn look_at_fill(&self) -> Result<()> {
        let found = fstatvfs(self.from.root()).map_err(|error| MoverError::path("look at", self.from.path(), error))?;
        self.lock().source_used_permille = used_permille(found.f_blocks, found.f_bfree, found.f_bavail);
        Ok(())
    }
}

/// What does not get through in `left_ns` at the present rate.
fn beyond(pending: Totals, rate: Option<(u64, f64)>, left_ns: u64) -> Totals {
    let Some((bytes_per_s, files_per_s)) = rate else { return pending };
    let seconds = left_ns as f64 / 1e9;
    let bytes = pending.bytes.saturating_sub((bytes_per_s as f64 * seconds) as u64);
    let files = match (pending.bytes, bytes) {
        (0, _) => pending.files.saturating_sub((files_per_s * seconds) as u64),
        (_, 0) => 0,
        (all, bytes) => (pending.files as f64 * bytes as f64 / all as f64).ceil() as u64,
    };
    Totals { files, bytes }
}
