//! Integration tests of the monitor, in one binary.

mod access;
mod client;
mod exposition;
mod figures;
mod hostile;
mod pages;
