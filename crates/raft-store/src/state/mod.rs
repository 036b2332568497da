//! The state machine of a group: what the application keeps, how it changes, and its snapshots.
//!
//! * `application`, [`Application`]: what a program supplies; [`View`], what it sees and changes.
//! * `family`: the column family that has the state, how it is exported and replaced.
//! * `machine`, [`StateMachine`]: openraft's traits over both.
//!
//! The state of a group has a column family of its own, so that its snapshot is an export of that:
//! hard links to tables that exist anyway, without those of other groups, which a checkpoint of
//! the database would have in it. The family has the last applied log id as well, which changes
//! together with the state. Nothing here is synced but the switch to a received snapshot: what a
//! power cut takes back is applied again from the log, which is purged only behind it, in the one
//! order in which the database logs all writes.

mod application;
mod family;
mod machine;

pub use self::application::{Application, View};
pub(crate) use self::family::Applied;
pub use self::family::State;
pub use self::machine::{SnapshotBuilder, StateMachine};
