//! Starts the worker threads together, and reports when one ends.

use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use tokio::sync::watch;

/// Threads that run.
#[derive(Debug)]
pub(crate) struct Workers {
    threads: Vec<JoinHandle<Result<(), String>>>,
    ended: watch::Receiver<bool>,
}

/// How a thread says that it serves.
#[derive(Debug)]
pub(crate) struct ReadySignal(Sender<()>);

impl ReadySignal {
    /// It does.
    pub(crate) fn say(self) {
        // Whoever started it waits, or has given up.
        let _ = self.0.send(());
    }
}

/// Says that a thread has ended, in whichever way.
struct EndSignal(watch::Sender<bool>);

impl Drop for EndSignal {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

impl Workers {
    /// Starts a thread for each job and waits until all of them serve. If one ends before that, `stop` has to end the others.
    ///
    /// # Errors
    /// Why a thread could not be started, or why it ended.
    pub(crate) fn start<J>(jobs: impl IntoIterator<Item = J>, stop: impl FnOnce()) -> Result<Self, String>
    where
        J: FnOnce(ReadySignal) -> Result<(), String> + Send + 'static,
    {
        let (end, ended) = watch::channel(false);
        let (say, said) = channel();
        let mut threads = Vec::new();
        let mut unstarted = None;
        for (number, job) in jobs.into_iter().enumerate() {
            let (ends, serves) = (EndSignal(end.clone()), ReadySignal(say.clone()));
            let run = move || {
                let _ends = ends;
                job(serves)
            };
            match Builder::new().name(format!("worker {number}")).spawn(run) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    unstarted = Some(format!("cannot create a worker thread: {error}"));
                    break;
                }
            }
        }
        drop(say);
        // It ends when each thread has said that it serves, or has ended without a word.
        let serving = said.iter().count();
        let workers = Self { threads, ended };
        if unstarted.is_none() && serving == workers.threads.len() {
            return Ok(workers);
        }
        stop();
        let ended = workers.wait();
        Err(unstarted.or(ended.err()).unwrap_or_else(|| "a worker ended during start-up".into()))
    }

    /// Waits until one of them has ended, as none does by itself.
    pub(crate) fn one_ends(&self) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.clone();
        async move {
            // If nobody is left to say it, all have ended.
            drop(ended.wait_for(|ended| *ended).await);
        }
    }

    /// Waits until all have ended.
    ///
    /// # Errors
    /// The first reason of a thread that failed.
    pub(crate) fn wait(self) -> Result<(), String> {
        let mut result = Ok(());
        for thread in self.threads {
            let ended = thread.join().unwrap_or_else(|_| Err("a worker panicked".into()));
            result = result.and(ended);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::Receiver;
    use std::sync::{Condvar, Mutex, PoisonError};

    use super::*;

    type Job = Box<dyn FnOnce(ReadySignal) -> Result<(), String> + Send>;

    /// What threads wait for that are to go on until they are stopped.
    #[derive(Clone, Default)]
    struct StopSignal(Arc<(Mutex<bool>, Condvar)>);

    impl StopSignal {
        fn stop(&self) {
            *self.0.0.lock().unwrap() = true;
            self.0.1.notify_all();
        }

        fn serving(&self) -> Job {
            let stop = self.clone();
            Box::new(move |serves| {
                serves.say();
                let stopped = stop.0.0.lock().unwrap();
                drop(
                    stop.0.1.wait_while(stopped, |stopped| !*stopped).unwrap_or_else(PoisonError::into_inner),
                );
                Ok(())
            })
        }
    }

    #[test]
    fn a_worker_that_does_not_get_as_far_as_serving_stops_the_others_and_is_told() {
        let silent: Job = Box::new(|_| Ok(()));
        let failing: Job = Box::new(|_| Err("no runtime".into()));
        let panicking: Job = Box::new(|_| panic!("on purpose"));
        for (job, why) in [
            (silent, "a worker ended during start-up"),
            (failing, "no runtime"),
            (panicking, "a worker panicked"),
        ] {
            let stop = StopSignal::default();
            let started = Workers::start([stop.serving(), job, stop.serving()], || stop.stop());
            assert_eq!(started.map(drop), Err(why.to_owned()));
        }
    }

    #[tokio::test]
    async fn a_worker_that_ends_later_is_noticed() {
        let (stop, (end, ended)) = (StopSignal::default(), channel::<()>());
        let ending: Job = Box::new(move |serves| {
            serves.say();
            let ended: Receiver<()> = ended;
            ended.recv().map_err(|_| "it lost its listener".to_owned())
        });
        let workers = Workers::start([stop.serving(), ending], || ()).unwrap();
        let noticed = workers.one_ends();
        drop(end);
        noticed.await;
        stop.stop();
        assert_eq!(workers.wait(), Err("it lost its listener".into()));
    }
}
