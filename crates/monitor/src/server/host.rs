//! Which hosts a request may name.
//!
//! A page of a foreign site can have its name resolve to this machine (DNS rebinding) and then
//! read the answers as its own. Its requests name the foreign site as their host. So a request must
//! name this machine (`localhost`), an address, for which no name is resolved, or a name that the
//! program has allowed.

use std::net::{IpAddr, Ipv6Addr};

/// Whether a request may name `host`, which may have a port, if `allowed` are names that the
/// program has allowed.
pub(super) fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let Some(name) = without_port(host) else {
        return false;
    };
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    if let Some(bare) = bare {
        return bare.parse::<Ipv6Addr>().is_ok();
    }
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok()
        || allowed
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name))
}

/// The host without its port; `None` if the port is none.
fn without_port(host: &str) -> Option<&str> {
    let end = host.rfind(']').map_or(0, |end| end + 1);
    match host[end..].rfind(':') {
        None => Some(host),
        Some(colon) => {
            let port = &host[end + colon + 1..];
            port.parse::<u16>().ok()?;
            Some(&host[..end + colon])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_listed_names_are_hosts() {
        let allowed = ["db.example".to_owned()];
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:9000",
            "10.0.0.3",
            "[::1]:9000",
            "[::1]",
            "db.example:1",
            "DB.example",
        ] {
            assert!(is_allowed(host, &allowed), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "db.example.evil:80",
            "localhost:port",
            "localhost:99999",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[::1].evil.example",
            "[evil]",
            "]",
            "::1",
        ] {
            assert!(!is_allowed(host, &allowed), "{host}");
        }
    }
}
