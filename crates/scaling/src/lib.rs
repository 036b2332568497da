//! A model of how commit protocols and memtables scale on machines that are not
//! available.
//!
//! It consists of a discrete-event [simulator](sim) of cores, cache lines, run queues,
//! futexes and a disk, of [programs](protocols) for it that follow the steps of the
//! commit protocols, and of [machines](parameters) that are read from files.
//! [`validate`] compares the model with published and measured curves. [`predict`] and
//! [`sensitivity`] apply it to other machines, [`propose`] tries changes of the code in
//! it. [`reads`] predicts how reads scale, and [`report`] writes all results to
//! `docs/scaling.md`. [`calibrate`] measures a machine's figures.
//!
//! The product does not use this crate.

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod cases;
pub mod machine;
pub mod parameters;
pub mod plot;
pub mod predict;
pub mod propose;
pub mod protocols;
pub mod reads;
pub mod report;
pub mod run;
pub mod sensitivity;
pub mod sim;
pub mod validate;
