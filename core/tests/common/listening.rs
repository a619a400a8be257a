//! Stores in memory with a listener, and listeners that stay at a known place.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiban::storage::Storage;
use kiban::{Db, Event, Settings};

use super::memory::dir;

/// A gate stays shut for longer, so that what waits for it to open has failed by then.
pub(crate) const LONG: Duration = Duration::from_secs(10);

pub(crate) fn open_listening(
    storage: impl Storage + 'static,
    settings: Settings,
    listener: impl Fn(&Event) + Send + Sync + 'static,
) -> Db {
    let builder = Db::builder(dir()).storage(Arc::new(storage)).settings(settings);
    builder.on_event(Arc::new(listener)).open().unwrap()
}

/// A place where a listener stays until it is let go.
pub(crate) struct Gate {
    reached: Receiver<()>,
    open: Sender<()>,
}

impl Gate {
    /// What the listener calls, and the gate.
    pub(crate) fn new() -> (impl Fn() + Send + Sync, Self) {
        let (reach, reached) = channel();
        let (open, opened) = channel::<()>();
        let (reach, opened) = (Mutex::new(reach), Mutex::new(opened));
        let pass = move || {
            let _ = reach.lock().unwrap().send(());
            let _ = opened.lock().unwrap().recv_timeout(3 * LONG);
        };
        (pass, Self { reached, open })
    }

    /// Until the listener is there.
    pub(crate) fn wait(&self) {
        self.reached.recv_timeout(LONG).expect("nobody came to the gate");
    }

    /// Lets the listener go.
    pub(crate) fn open(&self) {
        self.open.send(()).unwrap();
    }
}
