//! The series and heat of a simulated phase, and its stalls: what the engine's supervisor samples.

use tonnage_records::{BUCKETS, Event, FileError, LatencyRecorder, PhaseFiles, SeriesRow, Silence, Tagged, bucket_of};

/// Intervals without a completion that are still kept one by one.
const LONG_SILENCE: u64 = 10_000;

/// Counters of one task.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    bytes: u64,
    operations: u64,
    latency_sum_ns: u64,
}

struct Watched {
    /// Its latencies are the trial's.
    works: bool,
    interval: Counts,
    operations: u64,
    latency_sum_ns: u64,
    progress_ns: u64,
}

/// Collects completions, which come in the order of time.
pub(crate) struct Sampler {
    files: Option<PhaseFiles>,
    first_task: u32,
    start_ns: u64,
    interval_ns: u64,
    /// Of the running interval, on the run's clock.
    interval_start_ns: u64,
    watched: Vec<Watched>,
    heat: Box<[u64; BUCKETS]>,
    events: Vec<Event>,
}

impl Sampler {
    pub fn new(files: Option<PhaseFiles>, first_task: u32, tasks: u32, start_ns: u64, interval_ns: u64) -> Self {
        let watched =
            || Watched { works: true, interval: Counts::default(), operations: 0, latency_sum_ns: 0, progress_ns: start_ns };
        Self {
            files,
            first_task,
            start_ns,
            interval_ns,
            interval_start_ns: start_ns,
            watched: (0..tasks).map(|_| watched()).collect(),
            heat: Box::new([0; BUCKETS]),
            events: Vec::new(),
        }
    }

    /// When the running interval ends.
    #[inline]
    pub fn interval_end_ns(&self) -> u64 {
        self.interval_start_ns.saturating_add(self.interval_ns)
    }

    /// Counts an operation of the `index`th task here that ended at `now_ns`, inside the running interval.
    #[inline]
    pub fn count(&mut self, index: usize, now_ns: u64, latency_ns: u64, bytes: u64) {
        let watched = &mut self.watched[index];
        let silence = Silence {
            operations: watched.operations,
            latency_sum_ns: watched.latency_sum_ns,
            opened_ns: self.start_ns,
            progress_ns: watched.progress_ns,
            now_ns,
        };
        self.events.extend(silence.stall(self.first_task + index as u32));
        watched.progress_ns = now_ns;
        watched.operations += 1;
        watched.latency_sum_ns += latency_ns;
        watched.interval.bytes += bytes;
        watched.interval.operations += 1;
        watched.interval.latency_sum_ns += latency_ns;
        self.heat[bucket_of(latency_ns)] += u64::from(watched.works);
    }

    /// Keeps an event.
    pub fn happened(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The task's latencies are not the trial's.
    pub fn keep_apart(&mut self, index: usize) {
        self.watched[index].works = false;
    }

    /// The task had nothing in flight until now: its silence ends here.
    pub fn wake(&mut self, index: usize, now_ns: u64) {
        self.watched[index].progress_ns = now_ns;
    }

    /// Ends the intervals that are over at `now_ns`. A very long silence is one row of zeros, not a million.
    #[cold]
    pub fn advance_to(&mut self, now_ns: u64) -> Result<(), FileError> {
        while self.interval_end_ns() <= now_ns {
            let whole = (now_ns - self.interval_start_ns) / self.interval_ns;
            let count = if whole > LONG_SILENCE { whole } else { 1 };
            self.end_interval(self.interval_start_ns + count * self.interval_ns)?;
        }
        Ok(())
    }

    /// Ends the running interval at `end_ns` and begins the next one.
    fn end_interval(&mut self, end_ns: u64) -> Result<(), FileError> {
        let (from, to) = (self.interval_start_ns - self.start_ns, end_ns - self.start_ns);
        self.interval_start_ns = end_ns;
        let heat = std::mem::replace(&mut *self.heat, [0; BUCKETS]);
        for (index, watched) in self.watched.iter_mut().enumerate() {
            let Counts { bytes, operations, latency_sum_ns } = std::mem::take(&mut watched.interval);
            if let Some(files) = &mut self.files {
                let task = self.first_task + index as u32;
                files.series(SeriesRow { start_ns: from, end_ns: to, task, bytes, operations, latency_sum_ns })?;
            }
        }
        let Some(files) = &mut self.files else { return Ok(()) };
        heat.iter().enumerate().try_for_each(|(bucket, &count)| files.heat(from, to, bucket, count))
    }

    /// Keeps the operations of a task one by one: their ends, relative to the start line, and their latencies.
    pub fn keep(&mut self, task: u32, log: &[(u64, u64)]) -> Result<(), FileError> {
        let Some(files) = &mut self.files else { return Ok(()) };
        log.iter().try_for_each(|&(end_ns, latency_ns)| files.operation(task, end_ns, latency_ns))
    }

    /// What the files take of one kind of operation of a phase that mixes.
    pub fn part(&mut self, op: &str, latencies: &LatencyRecorder) {
        if let Some(files) = &mut self.files {
            files.part(op, latencies);
        }
    }

    /// Ends the last interval at `end_ns`, finishes the files, and gives back the stalls.
    pub fn finish(mut self, end_ns: u64, histograms: &[(Tagged, &LatencyRecorder)]) -> Result<Vec<Event>, FileError> {
        self.advance_to(end_ns)?;
        if end_ns > self.interval_start_ns {
            self.end_interval(end_ns)?;
        }
        if let Some(files) = self.files {
            files.finish(histograms)?;
        }
        Ok(self.events)
    }
}
