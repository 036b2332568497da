//! Flink's filter of compactions, which drops expired state. A value of its states begins with the
//! time of its last use, in milliseconds and big-endian, after as many bytes as Flink says; a list
//! has such a time in each element.
//!
//! As everywhere in this engine, operands of merges are filtered once they are merged; in RocksDB,
//! each operand of a list is filtered. So what a list has expired may go a compaction later.

use crate::border::{invalid, natives};
use crate::callbacks::Callee;
use crate::filters::Filter;
use crate::handles::{find, give_back, make};
use jni::objects::{JObject, JValue};
use jni::{jni_sig, jni_str};
use std::ffi::CStr;
use std::sync::{Arc, OnceLock};
use whitewater::compaction_filter::{CompactionFilter, Decision, OwnedDecision};

const NAME: &CStr = c"FlinkCompactionFilter";

/// The size of a time, in bytes.
const TIME: usize = 8;

/// What kind of state the values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// No value expires.
    Disabled,
    /// A value expires as a whole.
    Value,
    /// The first elements of a list expire.
    List,
}

/// How a list is taken apart.
enum Elements {
    /// It is not: it expires with its first element.
    Whole,
    /// Elements have this many bytes.
    Fixed(usize),
    /// Java makes what knows where elements end.
    Java(Callee),
}

struct Config {
    state: State,
    /// Where the time is in a value. Bytes.
    at: usize,
    /// How long state lives after its last use. Milliseconds.
    ttl: i64,
    /// After how many values Java is asked for the time again.
    ask_after: u64,
    elements: Elements,
}

/// What the filters of a factory have in common. Flink sets it after it has opened the database.
struct Holder(Arc<OnceLock<Config>>);

impl Config {
    /// Whether the time at `at` has expired by `now`; `false` if `value` ends before it does.
    fn is_expired(&self, value: &[u8], at: usize, now: i64) -> bool {
        let bytes = value.get(at..).and_then(|rest| rest.first_chunk::<TIME>());
        bytes.is_some_and(|bytes| {
            let used = i64::from_be_bytes(*bytes);
            used.saturating_add(self.ttl) <= now
        })
    }

    /// Where the first element begins that has not expired; the end if all have.
    fn next_unexpired(&self, list: &[u8], size: usize, now: i64) -> usize {
        let starts = (0..list.len()).step_by(size);
        let mut kept = starts.filter(|at| !self.is_expired(list, at + self.at, now));
        kept.next().unwrap_or(list.len())
    }

    /// What becomes of a value. `next` is asked where the first element of a list begins that has
    /// not expired, and knows no answer where Java fails.
    fn decide(
        &self,
        value: &[u8],
        now: i64,
        next: impl FnOnce() -> Option<usize>,
    ) -> OwnedDecision {
        if self.state == State::Disabled || !self.is_expired(value, self.at, now) {
            return OwnedDecision::Keep;
        }
        let from = match (self.state, &self.elements) {
            (State::List, Elements::Fixed(size)) => Some(self.next_unexpired(value, *size, now)),
            (State::List, Elements::Java(_)) => next(),
            _ => Some(value.len()),
        };
        match from {
            None | Some(0) => OwnedDecision::Keep,
            Some(from) => match value.get(from..) {
                None | Some([]) => OwnedDecision::Remove,
                Some(rest) => OwnedDecision::Change(rest.to_vec()),
            },
        }
    }
}

/// The filter of one compaction.
struct Expiry {
    config: Arc<OnceLock<Config>>,
    clock: Arc<Callee>,
    /// What the clock has said, milliseconds, and for how many values that goes on.
    now: i64,
    left: u64,
    /// What knows where elements of lists end, once a list has expired.
    elements: Option<Callee>,
}

impl Expiry {
    /// Where Java finds the first element that has not expired.
    fn ask(&mut self, makes: &Callee, list: &[u8], ttl: i64) -> Option<usize> {
        if self.elements.is_none() {
            self.elements = makes.call(|env, factory| {
                let name = jni_str!("createListElementFilter");
                let sig = jni_sig!("()Lorg/rocksdb/FlinkCompactionFilter$ListElementFilter;");
                let made = env.call_method(factory, name, sig, &[])?.l()?;
                Ok(Callee::new(env, &made).ok())
            })?;
        }
        let now = self.now;
        let found = self.elements.as_ref()?.call(|env, filter| {
            let list = env.byte_array_from_slice(list)?;
            let args = [JValue::Object(&list), JValue::Long(ttl), JValue::Long(now)];
            let name = jni_str!("nextUnexpiredOffset");
            env.call_method(filter, name, jni_sig!("([BJJ)I"), &args)?
                .i()
        })?;
        usize::try_from(found).ok()
    }
}

impl CompactionFilter for Expiry {
    fn filter(&mut self, _level: u32, _key: &[u8], _value: &[u8]) -> Decision {
        Decision::Keep
    }

    fn filter_owned(&mut self, _level: u32, _key: &[u8], value: &[u8]) -> Option<OwnedDecision> {
        let shared = self.config.clone();
        let Some(config) = shared.get() else {
            return Some(OwnedDecision::Keep);
        };
        if self.left == 0 {
            let now = self.clock.call(|env, clock| {
                env.call_method(clock, jni_str!("currentTimestamp"), jni_sig!("()J"), &[])?
                    .j()
            });
            // Without a time, nothing has expired.
            self.now = now.unwrap_or(i64::MIN);
            self.left = config.ask_after.max(1);
        }
        self.left -= 1;
        let now = self.now;
        Some(config.decide(value, now, || match &config.elements {
            Elements::Java(makes) => self.ask(makes, value, config.ttl),
            _ => None,
        }))
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

natives! {
    fn Java_org_rocksdb_FlinkCompactionFilter_createNewFlinkCompactionFilterConfigHolder<'l>(
        _env,
    ) -> i64 {
        make(Holder(Arc::default()))
    }
    fn Java_org_rocksdb_FlinkCompactionFilter_disposeFlinkCompactionFilterConfigHolder<'l>(
        _env, holder: i64,
    ) -> () {
        give_back(holder);
        Ok(())
    }
    fn Java_org_rocksdb_FlinkCompactionFilter_configureFlinkCompactionFilter<'l>(
        env, holder: i64, state: i32, at: i32, ttl: i64, ask_after: i64, element_size: i32,
        factory: JObject<'l>,
    ) -> bool {
        let state = match state {
            0 => State::Disabled,
            1 => State::Value,
            2 => State::List,
            _ => return Err(invalid("there is no such type of state")),
        };
        let elements = match usize::try_from(element_size) {
            Ok(size) if size > 0 => Elements::Fixed(size),
            _ if factory.is_null() => Elements::Whole,
            _ => Elements::Java(Callee::new(env, &factory)?),
        };
        let at = usize::try_from(at).map_err(|_| invalid("an offset is negative"))?;
        let ask_after = u64::try_from(ask_after).unwrap_or(0);
        let config = Config { state, at, ttl, ask_after, elements };
        Ok(find::<Holder>(holder)?.0.set(config).is_ok())
    }
    // What RocksDB tells the logger, level debug, is not told here.
    fn Java_org_rocksdb_FlinkCompactionFilter_createNewFlinkCompactionFilter0<'l>(
        env, holder: i64, clock: JObject<'l>, _logger: i64,
    ) -> i64 {
        let config = find::<Holder>(holder)?.0.clone();
        let clock = Arc::new(Callee::new(env, &clock)?);
        let start = move || -> Box<dyn CompactionFilter> {
            let (config, clock) = (config.clone(), clock.clone());
            Box::new(Expiry { config, clock, now: i64::MIN, left: 0, elements: None })
        };
        make(Filter { name: NAME, start: Arc::new(start) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(state: State, at: usize, elements: Elements) -> Config {
        Config {
            state,
            at,
            ttl: 10,
            ask_after: 1,
            elements,
        }
    }

    /// An element that was last used at `time`.
    fn element(time: i64) -> Vec<u8> {
        [&time.to_be_bytes()[..], b"river"].concat()
    }

    fn decided(config: &Config, value: &[u8], now: i64) -> OwnedDecision {
        config.decide(value, now, || None)
    }

    #[test]
    fn a_value_expires_when_its_time_to_live_is_over() {
        let value = config(State::Value, 0, Elements::Whole);
        assert_eq!(decided(&value, &element(5), 14), OwnedDecision::Keep);
        assert_eq!(decided(&value, &element(5), 15), OwnedDecision::Remove);
        assert_eq!(
            decided(&value, &element(i64::MAX), i64::MAX - 1),
            OwnedDecision::Keep
        );
        let disabled = config(State::Disabled, 0, Elements::Whole);
        assert_eq!(decided(&disabled, &element(5), 15), OwnedDecision::Keep);
    }

    #[test]
    fn a_value_that_is_too_short_for_a_time_is_kept() {
        let map = config(State::Value, 1, Elements::Whole);
        assert_eq!(decided(&map, &5i64.to_be_bytes(), 99), OwnedDecision::Keep);
        let entry = [&[0][..], &element(5)].concat();
        assert_eq!(decided(&map, &entry, 15), OwnedDecision::Remove);
    }

    #[test]
    fn a_list_loses_its_first_elements_as_they_expire() {
        let list = config(State::List, 0, Elements::Fixed(13));
        let value = [element(1), element(2), element(9)].concat();
        assert_eq!(decided(&list, &value, 10), OwnedDecision::Keep);
        let rest = OwnedDecision::Change(element(9));
        assert_eq!(decided(&list, &value, 12), rest);
        assert_eq!(decided(&list, &value, 19), OwnedDecision::Remove);
        // What follows the last whole element is kept.
        let torn = [&element(1)[..], b"torn"].concat();
        assert_eq!(
            decided(&list, &torn, 99),
            OwnedDecision::Change(b"torn".to_vec())
        );
    }
}
