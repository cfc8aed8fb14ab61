//! Our own client, asked as an application asks it: tasks that ask one decision after the other over one link.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tollgate_algorithms::{Limit, Mode};
use tollgate_redis::{Command, Hit, Reply, Settings, Store};

use crate::figures::{Counted, Figures, Meter};
use crate::keys::{Keys, client};
use crate::ours::NAMING;
use crate::plain::Way;

/// Everything may stand still for a while on a shared machine, and that is no failure here.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the tasks share.
struct Shared {
    store: Store,
    limit: Limit,
    /// The limit's name.
    name: &'static str,
    keys: Keys,
    counted: Cell<Counted>,
}

/// Asks for all keys, by as many tasks as are to be in flight, on this thread alone.
pub(crate) fn load(way: Way<'_>, keys: Keys, limit: Limit, name: &'static str) -> Result<Figures, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot create a runtime: {error}"))?;
    runtime.block_on(async {
        let settings = Settings { budget: PATIENCE, stall_timeout: PATIENCE, ..Settings::default() };
        let address = way.server.address(way.database).parse();
        let address = address.map_err(|error| format!("{}: {error}", way.server.address(way.database)))?;
        let store = Store::open(address, settings).map_err(|error| error.to_string())?;
        let shared = Rc::new(Shared { store, limit, name, keys, counted: Cell::default() });
        let tasks = LocalSet::new();
        let meter = Meter::begin(way.server)?;
        let started: Vec<_> =
            (0..way.in_flight).map(|_| tasks.spawn_local(ask(Rc::clone(&shared)))).collect();
        tasks.await;
        let figures = meter.end(shared.counted.get());
        for task in started {
            task.await.map_err(|error| format!("a task failed: {error}"))??;
        }
        figures
    })
}

/// One task: a decision after the other until there are no more keys.
async fn ask(shared: Rc<Shared>) -> Result<(), String> {
    while let Some(key) = shared.keys.next() {
        let name = NAMING.name(shared.name, client(key).as_bytes());
        let hits = [Hit { limit: &shared.limit, name: &name, cost: 1, mode: Mode::Enforced }];
        match shared.store.ask(&Command::Charge(&hits)).await {
            Ok(Reply::Decided { granted, .. }) => {
                let mut counted = shared.counted.get();
                counted.add(granted);
                shared.counted.set(counted);
            }
            Ok(Reply::Reset { .. }) => return Err("a charge was answered as a reset".into()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}
