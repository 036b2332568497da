//! How commit protocols and memtables scale on machines that are not at hand.
//!
//! A discrete-event [simulator](sim) of cores, cache lines, run queues, futexes
//! and a disk; [programs](protocols) over it that follow the steps of the
//! commit protocols; [machines](parameters) from files. [`validate`] holds the
//! model against published and measured curves, [`predict`] and
//! [`sensitivity`] say what it says about other machines, [`propose`] what
//! could be changed in the code, and [`report`] writes all of it down in
//! `docs/scaling.md`. [`calibrate`] measures a machine's figures.
//!
//! Nothing in the product uses this crate.

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod cases;
pub mod machine;
pub mod parameters;
pub mod plot;
pub mod predict;
pub mod propose;
pub mod protocols;
pub mod report;
pub mod run;
pub mod sensitivity;
pub mod sim;
pub mod validate;
