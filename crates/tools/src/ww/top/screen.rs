//! The terminal: taken when this begins and given back however it ends.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;
use std::{panic, process, thread};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::interrupt;

/// How long the wait for keys may take to notice a signal.
const GRACE: Duration = Duration::from_millis(300);

/// The terminal of this process, with a screen of its own.
///
/// It is written to as `/dev/tty` and not as standard output: that is locked while a command runs,
/// so a thread that panics could not give the terminal back.
pub(super) struct Screen {
    pub terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
}

fn tty() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/tty")
}

impl Screen {
    /// Takes the terminal. It is given back when this is dropped, and by a panic of any thread.
    ///
    /// # Errors
    /// There is no terminal, or it refuses.
    pub fn take() -> io::Result<Self> {
        let mut tty = tty()?;
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            give_back();
            hook(what);
        }));
        enable_raw_mode()?;
        // `Terminal::clear` would ask where the cursor is, which not every terminal answers.
        let entered = execute!(tty, EnterAlternateScreen, Clear(ClearType::All));
        let terminal =
            entered.and_then(|()| Terminal::new(CrosstermBackend::new(BufWriter::new(tty))));
        if terminal.is_err() {
            give_back();
        }
        Ok(Screen {
            terminal: terminal?,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Ends the process soon after it was asked to by a signal, if it has not ended by then: the wait
/// for keys does not return once the terminal is gone.
///
/// # Errors
/// The system has no thread.
pub(super) fn end_by_signals() -> io::Result<()> {
    let end = || {
        while !interrupt::requested() {
            thread::sleep(GRACE);
        }
        thread::sleep(GRACE);
        give_back();
        process::exit(0);
    };
    thread::Builder::new()
        .name("ww-end".to_owned())
        .spawn(end)?;
    Ok(())
}

/// Gives the terminal back. There is nobody to tell of a terminal that is gone.
fn give_back() {
    let _ = disable_raw_mode();
    if let Ok(mut tty) = tty() {
        let _ = execute!(tty, LeaveAlternateScreen, Show);
        let _ = tty.flush();
    }
}
