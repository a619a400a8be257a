//! Holding the measured thread on a core of its own. Threads inherit the cores of the thread
//! that starts them, so a store is opened while the caller is off the measured core.

#[cfg(target_os = "linux")]
mod cores {
    use std::io;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// The split of the cores; the calling thread may run anywhere again when it is dropped.
    #[derive(Debug)]
    pub(crate) struct Pin {
        before: CpuSet,
        measured: CpuSet,
        others: CpuSet,
    }

    impl Pin {
        /// Chooses the last core for the measured thread.
        ///
        /// # Errors
        /// `Unsupported` if the thread may run on one core only.
        pub(crate) fn new() -> io::Result<Self> {
            let before = sched_getaffinity(None)?;
            let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core)).collect();
            let [others @ .., last] = &allowed[..] else { return Err(one_core()) };
            if others.is_empty() {
                return Err(one_core());
            }
            Ok(Self { before, measured: set_of(&[*last]), others: set_of(others) })
        }

        /// Moves the calling thread, and threads it starts from now on, to the other cores.
        pub(crate) fn leave_core(&self) -> io::Result<()> {
            Ok(sched_setaffinity(None, &self.others)?)
        }

        /// Holds the calling thread on the measured core.
        pub(crate) fn take_core(&self) -> io::Result<()> {
            Ok(sched_setaffinity(None, &self.measured)?)
        }
    }

    impl Drop for Pin {
        fn drop(&mut self) {
            // A thread that stays pinned is slower, not wrong.
            let _ = sched_setaffinity(None, &self.before);
        }
    }

    fn set_of(cores: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        cores.iter().for_each(|core| set.set(*core));
        set
    }

    fn one_core() -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, "only one core may be used")
    }
}

#[cfg(not(target_os = "linux"))]
mod cores {
    use std::io;

    /// Threads cannot be pinned on this system.
    #[derive(Debug)]
    pub(crate) enum Pin {}

    impl Pin {
        /// Always `Unsupported`.
        pub(crate) fn new() -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "threads cannot be pinned on this system"))
        }

        pub(crate) fn leave_core(&self) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn take_core(&self) -> io::Result<()> {
            match *self {}
        }
    }
}

pub(crate) use cores::Pin;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::Pin;

    #[test]
    fn the_measured_thread_and_the_others_share_no_core() {
        let before = sched_getaffinity(None).unwrap();
        let pin = match Pin::new() {
            Ok(pin) => pin,
            Err(error) => return assert_eq!(before.count(), 1, "{error}"),
        };
        pin.leave_core().unwrap();
        let others = sched_getaffinity(None).unwrap();
        pin.take_core().unwrap();
        let measured = sched_getaffinity(None).unwrap();
        assert_eq!((measured.count(), others.count()), (1, before.count() - 1));
        assert_ne!(measured, others);
        drop(pin);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
