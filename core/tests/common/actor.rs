//! Children that play a part: this very test binary, told by an environment variable which. Each
//! binary that uses them has a test `child` that does what [`role`] says.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ROLE: &str = "KIBAN_TEST_ROLE";
const STORE: &str = "KIBAN_TEST_STORE";

/// The part that this process plays, and on which store; `None` in the test run itself.
pub(crate) fn role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, PathBuf::from(std::env::var(STORE).unwrap())))
}

/// Says a line to the parent.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n> {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// A copy of this binary is busy while a child that another test began at that moment still has
/// its descriptor.
fn spawn_patiently(command: &mut Command) -> Child {
    for _ in 0..200 {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            spawned => return spawned.unwrap(),
        }
    }
    command.spawn().unwrap()
}

/// A child in a role, and its lines so far.
pub(crate) struct Actor {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Actor {
    pub(crate) fn new(role: &str, dir: &Path) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), role, dir)
    }

    /// Takes the part in a way of its own: the command runs this binary, or a copy of it.
    pub(crate) fn spawn(mut command: Command, role: &str, dir: &Path) -> Self {
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env(STORE, dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawn_patiently(&mut command);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(|line| line.ok());
        let lines = lines.filter_map(|line| line.strip_prefix("> ").map(str::to_owned));
        Self { child, lines: Box::new(lines) }
    }

    /// The next line it says.
    pub(crate) fn line(&mut self) -> String {
        self.lines.next().expect("the child says no more")
    }

    /// SIGKILL; then what it had said before.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let rest = self.lines.collect();
        self.child.wait().unwrap();
        rest
    }

    /// Waits until it ends by itself, well.
    pub(crate) fn finish(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        let rest = self.lines.collect();
        assert!(self.child.wait().unwrap().success(), "the child failed");
        rest
    }
}
