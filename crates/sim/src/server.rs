//! A server that collapses under concurrency, in virtual time: processor sharing, or first in, first out.
//!
//! Up to `k` requests progress at full speed. Beyond that the total speed is that of `k` requests, divided by
//! `1 + collapse·(n/k − 1)`: switching and memory pressure make the server slower as more work is in it.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// How requests share the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// All requests progress, each more slowly.
    Sharing,
    /// `k` requests progress; the others wait for their turn.
    Fifo,
}

/// A request in progress: the amount of service at which it is finished, and its number.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Job {
    finish: f64,
    id: usize,
}

impl Eq for Job {}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Job {
    fn cmp(&self, other: &Self) -> Ordering {
        self.finish.total_cmp(&other.finish).then(self.id.cmp(&other.id))
    }
}

/// The server. Times are in seconds.
#[derive(Debug)]
pub struct Server {
    discipline: Discipline,
    capacity: f64,
    collapse: f64,
    now: f64,
    /// The service that a request has had that was there from the beginning.
    service: f64,
    running: BinaryHeap<Reverse<Job>>,
    waiting: VecDeque<(usize, f64)>,
}

impl Server {
    /// An idle server that works on `capacity` requests at full speed.
    #[must_use]
    pub fn new(discipline: Discipline, capacity: f64, collapse: f64) -> Self {
        Self {
            discipline,
            capacity,
            collapse,
            now: 0.0,
            service: 0.0,
            running: BinaryHeap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Requests in the server, including those whose clients have gone.
    #[must_use]
    pub fn len(&self) -> usize {
        self.running.len() + self.waiting.len()
    }

    /// Whether the server is idle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes the number of requests that it works on at full speed.
    pub fn set_capacity(&mut self, now: f64, capacity: f64) {
        self.advance(now);
        self.capacity = capacity;
        self.admit();
    }

    /// A request arrives that takes `work` seconds at full speed.
    pub fn arrive(&mut self, now: f64, id: usize, work: f64) {
        self.advance(now);
        self.waiting.push_back((id, work));
        self.admit();
    }

    /// When the next request is finished, if nothing else happens.
    #[must_use]
    pub fn next_finish(&self) -> Option<f64> {
        let Reverse(job) = self.running.peek()?;
        Some(self.now + (job.finish - self.service).max(0.0) / self.speed())
    }

    /// Takes out the request that is finished now.
    pub fn finish(&mut self, now: f64) -> Option<usize> {
        self.advance(now);
        let Reverse(job) = self.running.pop()?;
        // Rounding may leave the service a hair below what this request needed.
        self.service = self.service.max(job.finish);
        self.admit();
        Some(job.id)
    }

    fn admit(&mut self) {
        while self.discipline == Discipline::Sharing || (self.running.len() as f64) < self.capacity {
            let Some((id, work)) = self.waiting.pop_front() else { return };
            self.running.push(Reverse(Job { finish: self.service + work, id }));
        }
    }

    fn advance(&mut self, now: f64) {
        self.service += (now - self.now).max(0.0) * self.speed();
        self.now = self.now.max(now);
    }

    /// How fast each running request progresses.
    fn speed(&self) -> f64 {
        let load = self.len() as f64 / self.capacity;
        if load <= 1.0 {
            return 1.0;
        }
        let total = 1.0 / (1.0 + self.collapse * (load - 1.0));
        match self.discipline {
            Discipline::Sharing => total / load,
            Discipline::Fifo => total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Discipline, Server};

    fn finishes(discipline: Discipline, count: usize) -> Vec<f64> {
        let mut server = Server::new(discipline, 2.0, 0.5);
        (0..count).for_each(|id| server.arrive(0.0, id, 1.0));
        let next = |server: &mut Server| {
            let at = server.next_finish()?;
            server.finish(at);
            Some((at * 1_000.0).round() / 1_000.0)
        };
        std::iter::from_fn(|| next(&mut server)).collect()
    }

    #[test]
    fn up_to_its_capacity_every_request_has_full_speed() {
        assert_eq!(finishes(Discipline::Sharing, 2), [1.0, 1.0]);
        assert_eq!(finishes(Discipline::Fifo, 2), [1.0, 1.0]);
    }

    #[test]
    fn beyond_it_the_total_speed_falls() {
        // Four on two: half the speed each, divided by 1 + ½·(4/2 − 1).
        assert_eq!(finishes(Discipline::Sharing, 4), [3.0, 3.0, 3.0, 3.0]);
        // Two at full speed divided by 1.5; then one leaves and 3 are left, divided by 1.25 for no time; then two.
        assert_eq!(finishes(Discipline::Fifo, 4), [1.5, 1.5, 2.5, 2.5]);
    }
}
