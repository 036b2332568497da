//! Random identifiers for databases and their sessions.

use whitewater_concurrent::system;

/// A random UUID; in a simulation it depends only on the seed.
pub(crate) fn new_uuid() -> uuid::Uuid {
    let simulated = system::random();
    simulated.map_or_else(uuid::Uuid::new_v4, |bits| {
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    })
}

/// 20 base-36 characters that differ for every opening of a database.
pub(crate) fn new_session_id() -> String {
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut random = new_uuid().as_u128();
    (0..20)
        .map(|_| {
            let digit = DIGITS[(random % 36) as usize];
            random /= 36;
            char::from(digit)
        })
        .collect()
}
