//! Feeds accelerators: which sample a reader reads next, when an accelerator has a batch, and how long each one computed.
//!
//! An accelerator does nothing but let time pass, so nobody acts for it: when a step of it begins and ends follows from
//! when its samples were read. As in data-parallel training, no accelerator begins a step before all have ended the one
//! before it.

use crate::training::{Deal, Sample, Training};

/// Steps whose ends are kept one by one.
const STEP_ENDS: usize = 1024;

/// What is due for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStep {
    /// It reads a sample; [`Feeding::completed`] is told when it has.
    Read(Sample),
    /// It waits until [`Feeding::completed`] says that something changed, and no longer than until this instant.
    Wait(Option<u64>),
    /// Nothing is left to do.
    Done,
}

/// What is due for a task that writes checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveStep {
    /// It writes its part, which is over at this instant at the latest; [`Feeding::saved`] is told when it has.
    Save(u64),
    /// As [`FeedStep::Wait`].
    Wait(Option<u64>),
    /// No more checkpoint comes.
    Done,
}

/// What became of the accelerators. A block is the steps between two checkpoints, or an epoch where none is written. Times
/// are sums over the accelerators, of all steps but the first of each block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fed {
    /// Of each block and each accelerator: how many steps ended, the first included; how long it computed; and how long
    /// that took in all. Without the first step, from whose end on the time counts to the end of the last one for all.
    pub windows: Vec<[u64; 3]>,
    /// When all had ended each of the first steps of the first epoch, from the beginning of the phase on.
    pub step_ends_ns: Vec<u64>,
    /// Accelerators waited so long for a batch.
    pub starved_ns: u64,
    /// They waited so long for the slowest of them.
    pub uneven_ns: u64,
    /// Readers waited so long, in all steps, for there were enough batches; not while a checkpoint was written.
    pub idle_ns: u64,
}

/// One accelerator, in the epoch in hand.
#[derive(Debug)]
struct Accelerator {
    deal: Deal,
    claimed: u64,
    read: u64,
    /// Steps that it has begun.
    begun: u64,
    begin_ns: u64,
    /// When it ended the first step of the block.
    first_end_ns: u64,
}

/// Readers and accelerators of a phase. Instants must not fall from one call to the next.
#[derive(Debug)]
pub struct Feeding {
    training: Training,
    seed: u64,
    start_ns: u64,
    deadline_ns: u64,
    steps: u64,
    epoch: u32,
    accelerators: Vec<Accelerator>,
    /// Since when each reader waits, and how long checkpoints had taken by then.
    waiting: Vec<Option<(u64, u64)>>,
    /// Steps of the epoch that all have ended, and of them those before the block in hand.
    ended: u64,
    block: u64,
    /// When the last step ended, or the checkpoint after it: when the epoch began, if there was none.
    barrier_ns: u64,
    /// Since when a checkpoint is written, and how long those before it took.
    saving_since_ns: Option<u64>,
    saving_ns: u64,
    /// Checkpoints that were begun, and how many of them each writer has written.
    saves: u64,
    saved: Vec<u64>,
    /// When all will have ended the step in hand; `None` while one has not begun it.
    until_ns: Option<u64>,
    now_ns: u64,
    fed: Fed,
}

impl Feeding {
    /// A phase that begins at `start_ns` and may last `time_ns`.
    #[must_use]
    pub fn new(training: &Training, seed: u64, start_ns: u64, time_ns: Option<u64>) -> Self {
        let accelerator = |number| Accelerator {
            deal: Deal::new(training, number),
            claimed: 0,
            read: 0,
            begun: 0,
            begin_ns: 0,
            first_end_ns: 0,
        };
        Self {
            training: training.clone(),
            seed,
            start_ns,
            deadline_ns: time_ns.map_or(u64::MAX, |time_ns| start_ns.saturating_add(time_ns)),
            steps: training.steps(),
            epoch: 0,
            accelerators: (0..training.accelerators).map(accelerator).collect(),
            waiting: vec![None; training.accelerators as usize * training.readers as usize],
            ended: 0,
            block: 0,
            barrier_ns: start_ns,
            saving_since_ns: None,
            saving_ns: 0,
            saves: 0,
            saved: vec![0; training.saving.map_or(0, |saving| saving.writers as usize)],
            until_ns: None,
            now_ns: start_ns,
            fed: Fed { step_ends_ns: Vec::with_capacity(training.steps().min(STEP_ENDS as u64) as usize), ..Fed::default() },
        }
    }

    /// What is due for `reader` now.
    pub fn next(&mut self, reader: u32, now_ns: u64) -> FeedStep {
        let now_ns = self.pass(now_ns);
        let (reader, readers) = (reader as usize, self.training.readers as usize);
        let of = reader / readers;
        let own = &self.accelerators[of];
        let is_last = self.epoch + 1 >= self.training.epochs;
        let all_claimed = own.claimed >= self.steps * u64::from(self.training.batch_samples);
        if self.is_over(now_ns) || (all_claimed && is_last) {
            self.stop_waiting(reader, now_ns);
            return FeedStep::Done;
        }
        let batch = u64::from(self.training.batch_samples);
        let ahead = own.claimed - own.begun * batch;
        if all_claimed || ahead >= batch * u64::from(self.training.prefetch_batches) {
            let saving_ns = self.saving_ns(now_ns);
            self.waiting[reader].get_or_insert((now_ns, saving_ns));
            return FeedStep::Wait(self.next_change_ns());
        }
        self.stop_waiting(reader, now_ns);
        let own = &mut self.accelerators[of];
        own.claimed += 1;
        FeedStep::Read(own.deal.take(&self.training, reader % readers, self.seed))
    }

    /// `reader` has read its sample. Whether others that wait should be asked again.
    pub fn completed(&mut self, reader: u32, now_ns: u64) -> bool {
        let now_ns = self.pass(now_ns);
        let of = reader as usize / self.training.readers as usize;
        self.accelerators[of].read += 1;
        self.begin_where_ready(of..of + 1, now_ns) || now_ns >= self.deadline_ns
    }

    /// What is due now for the task of this number among those that write checkpoints.
    pub fn next_save(&mut self, writer: u32, now_ns: u64) -> SaveStep {
        let now_ns = self.pass(now_ns);
        if self.is_over(now_ns) {
            return SaveStep::Done;
        }
        if self.saved[writer as usize] < self.saves {
            return SaveStep::Save(self.deadline_ns);
        }
        let is_last = self.epoch + 1 >= self.training.epochs;
        let every = self.training.saving.map_or(u64::MAX, |saving| saving.every_steps);
        let comes = (self.ended / every).saturating_add(1).saturating_mul(every) <= self.steps;
        if is_last && !comes { SaveStep::Done } else { SaveStep::Wait(self.next_change_ns()) }
    }

    /// `writer` has written its part. Whether others that wait should be asked again.
    pub fn saved(&mut self, writer: u32, now_ns: u64) -> bool {
        let now_ns = self.pass(now_ns);
        self.saved[writer as usize] += 1;
        if self.saving_since_ns.is_some() && self.saved.iter().all(|&saved| saved == self.saves) {
            self.saving_ns = self.saving_ns(now_ns);
            (self.saving_since_ns, self.barrier_ns) = (None, now_ns);
            self.begin_next(now_ns);
            return true;
        }
        now_ns >= self.deadline_ns
    }

    /// When something changes at the latest, where that is known.
    fn next_change_ns(&self) -> Option<u64> {
        let until_ns = self.until_ns.unwrap_or(u64::MAX).min(self.deadline_ns);
        (until_ns < u64::MAX).then_some(until_ns)
    }

    /// How long checkpoints have taken by now.
    fn saving_ns(&self, now_ns: u64) -> u64 {
        self.saving_ns + self.saving_since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }

    /// Whether the time was up before all was done.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.epoch < self.training.epochs && self.now_ns >= self.deadline_ns
    }

    /// What became of the accelerators; after the last sample was read, or when all were told to stop, `now_ns`. Without a
    /// stop, steps whose batches have been read are counted to their end.
    #[must_use]
    pub fn finish(mut self, now_ns: u64, stopped: bool) -> Fed {
        let end_ns = if stopped { now_ns } else { u64::MAX };
        self.pass(end_ns.min(self.deadline_ns).max(self.now_ns));
        if self.epoch < self.training.epochs {
            self.close_block();
        }
        self.fed
    }

    /// Lets the time come to `now_ns`, or stay where it is: threads that are asked one after the other may have looked at
    /// the clock in another order.
    fn pass(&mut self, now_ns: u64) -> u64 {
        let now_ns = now_ns.max(self.now_ns);
        while let Some(until_ns) = self.until_ns.filter(|&until_ns| until_ns <= now_ns.min(self.deadline_ns)) {
            self.end_step(until_ns);
        }
        self.now_ns = now_ns;
        now_ns
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.epoch >= self.training.epochs || now_ns >= self.deadline_ns
    }

    /// All end the step in hand at `until_ns`; then a checkpoint is written, or those that have a batch begin the next one.
    fn end_step(&mut self, until_ns: u64) {
        for own in &mut self.accelerators {
            let end_ns = own.begin_ns + self.training.compute_ns;
            if self.ended == self.block {
                own.first_end_ns = end_ns;
            } else {
                self.fed.starved_ns += own.begin_ns - self.barrier_ns;
                self.fed.uneven_ns += until_ns - end_ns;
            }
        }
        (self.barrier_ns, self.until_ns) = (until_ns, None);
        self.ended += 1;
        if self.epoch == 0 && self.fed.step_ends_ns.len() < STEP_ENDS {
            self.fed.step_ends_ns.push(until_ns - self.start_ns);
        }
        if self.training.saving.is_some_and(|saving| self.ended.is_multiple_of(saving.every_steps)) {
            self.close_block();
            self.saves += 1;
            self.saving_since_ns = Some(until_ns);
        } else {
            self.begin_next(until_ns);
        }
    }

    /// A step, or the next epoch, begins.
    fn begin_next(&mut self, now_ns: u64) {
        if self.ended == self.steps {
            self.close_block();
            self.epoch += 1;
            (self.ended, self.block) = (0, 0);
            for own in &mut self.accelerators {
                (own.claimed, own.read, own.begun) = (0, 0, 0);
            }
        } else {
            self.begin_where_ready(0..self.accelerators.len(), now_ns);
        }
    }

    /// Each of these accelerators that waits for a batch and has it begins a step; whether one has.
    fn begin_where_ready(&mut self, those: std::ops::Range<usize>, now_ns: u64) -> bool {
        let (batch, ended) = (u64::from(self.training.batch_samples), self.ended);
        if self.saving_since_ns.is_some() {
            return false;
        }
        let mut any = false;
        for own in &mut self.accelerators[those] {
            if own.begun == ended && own.read >= (ended + 1) * batch {
                (own.begun, own.begin_ns, any) = (ended + 1, now_ns, true);
            }
        }
        if any && self.accelerators.iter().all(|own| own.begun > ended) {
            let last_ns = self.accelerators.iter().map(|own| own.begin_ns).max().unwrap_or(now_ns);
            self.until_ns = Some(last_ns.saturating_add(self.training.compute_ns));
        }
        any
    }

    /// Counts the steps since the epoch began, or since the last checkpoint. A block without any counts where it is the
    /// only one of its epoch.
    fn close_block(&mut self) {
        let ended = self.ended - self.block;
        if ended == 0 && self.block > 0 {
            return;
        }
        let window = |own: &Accelerator| match ended {
            0 => [0, 0, 0],
            _ => [ended, (ended - 1) * self.training.compute_ns, self.barrier_ns - own.first_end_ns],
        };
        self.fed.windows.extend(self.accelerators.iter().map(window));
        self.block = self.ended;
    }

    fn stop_waiting(&mut self, reader: usize, now_ns: u64) {
        if let Some((since_ns, saving_ns)) = self.waiting[reader].take() {
            self.fed.idle_ns += (now_ns - since_ns).saturating_sub(self.saving_ns(now_ns) - saving_ns);
        }
    }
}
