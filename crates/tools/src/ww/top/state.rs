//! What is shown, and what keys change of it.

use std::collections::VecDeque;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use whitewater_monitor::api::{Event, Overview, Point, WritePath};

use super::follow::{News, Told};

/// The most points and events that are kept: as many as a monitor keeps.
const POINTS: usize = 600;
const EVENTS: usize = 1000;
/// How many lines a page is.
const PAGE: usize = 10;

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Overview,
    WritePath,
    Levels,
    Events,
}

impl View {
    /// All views, in the order of their keys.
    pub const ALL: [View; 4] = [View::Overview, View::WritePath, View::Levels, View::Events];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            View::Overview => "Overview",
            View::WritePath => "Write path",
            View::Levels => "Levels",
            View::Events => "Events",
        }
    }
}

/// What a key asks for beside a change of what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    Quit,
    /// Whether to pause.
    Pause(bool),
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct State {
    /// What is watched, as the user has named it.
    pub place: String,
    pub view: View,
    pub paused: bool,
    /// The first line of the view that is shown.
    pub scroll: usize,
    /// The last figures.
    pub figures: Option<(Overview, WritePath)>,
    /// The rates of the last intervals, oldest first.
    pub points: VecDeque<Point>,
    /// The last events, oldest first.
    pub events: VecDeque<Event>,
    /// Why there are no newer figures.
    pub silence: Option<String>,
    /// Why the files cannot be followed.
    pub lost: Option<String>,
}

impl State {
    /// Nothing is known yet of `place`.
    pub fn new(place: String) -> Self {
        State {
            place,
            view: View::Overview,
            paused: false,
            scroll: 0,
            figures: None,
            points: VecDeque::new(),
            events: VecDeque::new(),
            silence: None,
            lost: None,
        }
    }

    /// Takes what was told.
    pub fn take(&mut self, told: Told) {
        match told {
            Told::Followed(followed) => self.lost = followed.err(),
            Told::Answered(Err(why)) => self.silence = Some(why),
            Told::Answered(Ok(news)) => self.take_news(*news),
        }
    }

    fn take_news(&mut self, news: News) {
        self.silence = None;
        if news.whole {
            self.points.clear();
            self.events.clear();
        }
        self.points.extend(news.points);
        self.events.extend(news.events);
        let older = self.points.len().saturating_sub(POINTS);
        self.points.drain(..older);
        let older = self.events.len().saturating_sub(EVENTS);
        self.events.drain(..older);
        self.figures = Some((news.overview, news.write_path));
    }

    /// Does what a key is for.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        if key.kind == KeyEventKind::Release {
            return Wish::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Wish::Quit,
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Quit,
            KeyCode::Char('p' | ' ') => {
                self.paused = !self.paused;
                return Wish::Pause(self.paused);
            }
            KeyCode::Right | KeyCode::Tab => self.turn(1),
            KeyCode::Left | KeyCode::BackTab => self.turn(View::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='4') => {
                let at = digit as usize - '1' as usize;
                self.view = View::ALL[at];
                self.scroll = 0;
            }
            KeyCode::Down => self.scroll = self.scroll.saturating_add(1),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(PAGE),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            KeyCode::Home => self.scroll = 0,
            _ => {}
        }
        Wish::Nothing
    }

    /// Goes `by` views on.
    fn turn(&mut self, by: usize) {
        let at = View::ALL.iter().position(|view| *view == self.view);
        self.view = View::ALL[(at.unwrap_or(0) + by) % View::ALL.len()];
        self.scroll = 0;
    }
}
