//! The application: registers with numbers.

use serde::{Deserialize, Serialize};
use std::fmt;
use whitewater_raft_store::{Application, Cause, Error, SnapshotFiles, State, View};

openraft::declare_raft_types!(
    /// Requests to registers.
    pub Types:
        D = Request,
        R = Answer,
        SnapshotData = SnapshotFiles
);

/// The number of a register that was never written.
pub const ABSENT: u32 = 0;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// Sets a register.
    Write { register: u64, value: u32 },
    /// Sets a register if it has the expected number.
    Swap {
        register: u64,
        expected: u32,
        value: u32,
    },
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Whether the register was set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer(pub bool);

pub struct Registers;

fn number(bytes: Option<Vec<u8>>) -> Result<u32, Cause> {
    match bytes {
        Some(bytes) => Ok(u32::from_be_bytes(bytes.as_slice().try_into()?)),
        None => Ok(ABSENT),
    }
}

impl Application<Types> for Registers {
    fn apply(&self, request: Request, view: &mut View<'_>) -> Result<Answer, Cause> {
        let (register, value) = match request {
            Request::Write { register, value } => (register, value),
            Request::Swap {
                register,
                expected,
                value,
            } => {
                if number(view.get(&register.to_be_bytes())?)? != expected {
                    return Ok(Answer(false));
                }
                (register, value)
            }
        };
        view.put(register.to_be_bytes(), value.to_be_bytes());
        Ok(Answer(true))
    }

    fn no_request(&self) -> Answer {
        Answer(false)
    }
}

/// What a node has in a register.
pub fn read(state: &State, register: u64) -> Result<u32, Error> {
    let bytes = state.get(&register.to_be_bytes())?;
    Ok(number(bytes).expect("a register of four bytes"))
}
