//! `ww top`: what a database does, in a terminal.
//!
//! * [`source`]: what is watched, a monitor or a directory; [`client`] asks a monitor.
//! * [`follow`]: the thread that asks at intervals.
//! * [`state`]: what is shown, and what keys change of it.
//! * [`draw`]: the state as text. Nothing else is looked at there, so tests can draw any state.
//! * [`screen`]: the terminal, which is given back however the command ends.

mod client;
mod draw;
mod follow;
mod screen;
mod source;
mod state;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Duration;

use clap::Args;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event};
use ratatui::layout::Rect;

use super::failure::{Failure, Result};
use super::serve::seconds;
use super::session::Session;
use crate::interrupt;
use follow::{Asker, Told};
use screen::Screen;
use source::Source;
use state::{State, View, Wish};

/// How long a key may wait. Milliseconds.
const TICK: Duration = Duration::from_millis(100);
/// The width of the text of `--once`. Columns.
const WIDTH: u16 = 110;

/// Shows in a terminal what a database does: writes, reads, stalls, levels, jobs, memory, events.
///
/// A URL is that of a monitor: of a program that serves one with the crate whitewater-monitor, of
/// db_bench --monitor, or of ww serve. A path is that of a database that another process may have
/// open: it is opened as a secondary instance, which follows the other process by reading its
/// files. So tables, levels and written entries are seen; reads, stalls and times are known to the
/// process alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys:
  q, Esc, Ctrl-C       quit
  p, space             pause, and go on
  right, left, Tab     the next view, the one before; 1 to 4 choose one
  up, down, PageUp, PageDown, Home
                       scroll

Examples:
  ww top http://127.0.0.1:9187/
  ww top http://127.0.0.1:9187/db/1 --interval 5
  ww top /data/db")]
pub struct Top {
    /// The URL of a monitor, or the database's directory, instead of --db.
    #[arg(value_name = "URL|PATH")]
    place: Option<PathBuf>,
    /// How often figures are asked for, and files of another process looked at, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    interval: f64,
    /// Print all views once, as text, after an interval.
    #[arg(long)]
    once: bool,
}

impl Top {
    /// Runs the command, until it is ended.
    ///
    /// # Errors
    /// The URL is wrong, nobody answers there, the database cannot be opened, or there is no
    /// terminal.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let place = session.directory(self.place.as_deref())?;
        let interval = Duration::from_secs_f64(self.interval);
        let (news, told) = mpsc::channel();
        let source = Source::of(session, &place, interval, news.clone())?;
        let state = State::new(place.display().to_string());
        let mut asker = Asker::new(source.client.clone(), source.id);
        if self.once {
            // Rates are known from the second reading on.
            std::thread::sleep(interval + TICK);
            return print(session, state, &mut asker);
        }
        // What is wrong from the beginning is said on standard error.
        let first = asker.ask().map_err(Failure::Other)?;
        let _ = news.send(Told::Answered(Ok(Box::new(first))));
        interrupt::listen("").map_err(|e| Failure::Other(e.to_string()))?;
        let pauses =
            follow::start(asker, interval, news).map_err(|e| Failure::Other(e.to_string()))?;
        show(state, &told, &pauses)
    }
}

/// Prints all views.
fn print(session: &mut Session<'_>, mut state: State, asker: &mut Asker) -> Result<()> {
    let news = asker.ask().map_err(Failure::Other)?;
    state.take(Told::Answered(Ok(Box::new(news))));
    for view in View::ALL {
        state.view = view;
        let area = Rect::new(0, 0, WIDTH, draw::height(&state, WIDTH));
        let mut buffer = Buffer::empty(area);
        draw::draw(&state, area, &mut buffer);
        for row in buffer.content().chunks(usize::from(WIDTH)) {
            let line: String = row.iter().map(|cell| cell.symbol()).collect();
            session.line(line.trim_end())?;
        }
    }
    Ok(())
}

/// Shows what is told until a key or a signal ends it.
fn show(mut state: State, told: &Receiver<Told>, pauses: &Sender<bool>) -> Result<()> {
    let failed = |e: std::io::Error| Failure::io(Path::new("terminal"), &e);
    let mut screen = Screen::take().map_err(failed)?;
    screen::end_by_signals().map_err(failed)?;
    let mut stale = true;
    while !interrupt::requested() {
        loop {
            match told.try_recv() {
                Ok(told) => state.take(told),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    return Err(Failure::Other("the thread that asks has ended".to_owned()));
                }
            }
            stale = true;
        }
        if stale {
            let draw = |frame: &mut ratatui::Frame<'_>| {
                let area = frame.area();
                let most = draw::draw(&state, area, frame.buffer_mut());
                state.scroll = state.scroll.min(most);
            };
            screen.terminal.draw(draw).map_err(failed)?;
        }
        stale = event::poll(TICK).map_err(failed)?;
        if !stale {
            continue;
        }
        if let Event::Key(key) = event::read().map_err(failed)? {
            match state.key(key) {
                Wish::Nothing => {}
                Wish::Quit => break,
                Wish::Pause(paused) => {
                    // If the thread has ended, its news have, too.
                    let _ = pauses.send(paused);
                }
            }
        }
    }
    Ok(())
}
