//! How natives are declared, what comes in from Java and what goes out to it. Errors and panics
//! become `RocksDBException`; nothing unwinds into Java.

use jni::objects::{JByteArray, JObject, JObjectArray, JString, JThrowable, JValue};
use jni::{Env, EnvOutcome, EnvUnowned, Outcome, errors::ErrorPolicy, jni_sig, jni_str};
use std::any::Any;
use std::panic::resume_unwind;
use whitewater::{Error, ErrorKind};

/// Why a native fails.
#[derive(Debug)]
pub(crate) enum Failure {
    Engine(Error),
    /// A call into Java has failed; where it has thrown, the exception waits.
    Java(jni::errors::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Engine(error)
    }
}

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Failure::Java(error)
    }
}

pub(crate) fn invalid(text: &str) -> Failure {
    Error::new(ErrorKind::InvalidArgument, text).into()
}

/// What a native says that is not built.
pub(crate) fn not_implemented(what: &str) -> Failure {
    Error::not_supported(format_args!("Not implemented: {what}")).into()
}

/// Throws what a native fails with.
pub(crate) struct Throw;

impl<T: Default> ErrorPolicy<T, Failure> for Throw {
    type Captures<'l: 'n, 'n> = ();

    fn on_error<'l: 'n, 'n>(
        env: &mut Env<'l>,
        (): &mut (),
        failure: Failure,
    ) -> jni::errors::Result<T> {
        if env.exception_check() {
            return Ok(T::default());
        }
        let error = match failure {
            Failure::Engine(error) => error,
            Failure::Java(error) => Error::new(ErrorKind::Aborted, error),
        };
        throw(env, &error)?;
        Ok(T::default())
    }

    fn on_panic<'l: 'n, 'n>(
        env: &mut Env<'l>,
        (): &mut (),
        panic: Box<dyn Any + Send>,
    ) -> jni::errors::Result<T> {
        let text = (panic.downcast_ref::<&str>().copied())
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = format!("panic: {}", text.unwrap_or("without a message"));
        let failure = Error::new(ErrorKind::Aborted, text).into();
        Self::on_error(env, &mut (), failure)
    }
}

/// Java's `Status.Code`, and the text that RocksDB's errors of the kind begin with.
fn code(kind: ErrorKind) -> i8 {
    match kind {
        ErrorKind::NotFound => 1,
        ErrorKind::Corruption => 2,
        ErrorKind::NotSupported => 3,
        ErrorKind::InvalidArgument => 4,
        ErrorKind::IOError => 5,
        ErrorKind::MergeInProgress => 6,
        ErrorKind::Incomplete => 7,
        ErrorKind::ShutdownInProgress => 8,
        ErrorKind::TimedOut => 9,
        ErrorKind::Aborted => 10,
        ErrorKind::Busy => 11,
        ErrorKind::Expired => 12,
        ErrorKind::TryAgain => 13,
        _ => 0x7f,
    }
}

/// A `Status` for `error`, whose text goes without what the code says.
pub(crate) fn status<'l>(env: &mut Env<'l>, error: &Error) -> Result<JObject<'l>> {
    let text = error.to_string();
    let state = text.split_once(": ").map_or(&*text, |(_, state)| state);
    let state = env.new_string(state)?;
    let (code, none) = (JValue::Byte(code(error.kind())), JValue::Byte(0));
    Ok(env.new_object(
        jni_str!("org/rocksdb/Status"),
        jni_sig!("(BBLjava/lang/String;)V"),
        &[code, none, JValue::Object(&state)],
    )?)
}

fn throw(env: &mut Env<'_>, error: &Error) -> jni::errors::Result<()> {
    let status = match status(env, error) {
        Ok(status) => status,
        Err(Failure::Java(e)) => return Err(e),
        Err(Failure::Engine(_)) => JObject::null(),
    };
    let exception = env.new_object(
        jni_str!("org/rocksdb/RocksDBException"),
        jni_sig!("(Lorg/rocksdb/Status;)V"),
        &[JValue::Object(&status)],
    )?;
    let exception = env.cast_local::<JThrowable>(exception)?;
    // It reports the exception that now waits.
    let _ = env.throw(exception);
    Ok(())
}

/// What a native returns, or nothing after it has thrown. Natives that end well pass here without a
/// look at the thread's environment, which takes longer than many of them.
pub(crate) fn settled<T: Default>(
    env: &mut EnvUnowned<'_>,
    outcome: std::thread::Result<Result<T>>,
) -> T {
    match outcome {
        Ok(Ok(value)) => value,
        Ok(Err(failure)) => env.with_env(|_| Err(failure)).resolve::<Throw>(),
        Err(panic) => env.with_env(|_| resume_unwind(panic)).resolve::<Throw>(),
    }
}

/// [`settled`], for a native that has used its environment.
pub(crate) fn settled_in<'l, T: Default>(
    env: &mut EnvUnowned<'l>,
    outcome: EnvOutcome<'l, T, Failure>,
) -> T {
    let outcome = match outcome.into_outcome() {
        Outcome::Ok(value) => Ok(Ok(value)),
        Outcome::Err(failure) => Ok(Err(failure)),
        Outcome::Panic(panic) => Err(panic),
    };
    settled(env, outcome)
}

/// Declares natives, some of them under several names. Java passes the class, or the object, in
/// between, which has a name after `@` where it is of use. Natives that name their environment
/// `_env` have none.
macro_rules! natives {
    (@one $name:ident $l:lifetime (_env $(, $arg:ident: $ty:ty)* $(,)?) [$ret:ty] $body:block) => {
        #[unsafe(no_mangle)]
        pub extern "system" fn $name<$l>(
            mut env: jni::EnvUnowned<$l>, _this: jni::objects::JObject<$l> $(, $arg: $ty)*
        ) -> $ret {
            let native = || -> $crate::border::Result<$ret> { $body };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(native));
            $crate::border::settled(&mut env, outcome)
        }
    };
    (@one $name:ident $l:lifetime ($env:ident $(, $arg:ident: $ty:ty)* $(,)?) $($rest:tt)+) => {
        $crate::border::natives!(@one $name $l ($env @ _this $(, $arg: $ty)*) $($rest)+);
    };
    (
        @one $name:ident $l:lifetime ($env:ident @ $this:ident $(, $arg:ident: $ty:ty)* $(,)?)
        [$ret:ty] $body:block
    ) => {
        #[unsafe(no_mangle)]
        pub extern "system" fn $name<$l>(
            mut env: jni::EnvUnowned<$l>, $this: jni::objects::JObject<$l> $(, $arg: $ty)*
        ) -> $ret {
            let outcome = env.with_env(|$env| -> $crate::border::Result<$ret> { $body });
            $crate::border::settled_in(&mut env, outcome)
        }
    };
    (@each [$($name:ident)+] $l:lifetime $args:tt [$ret:ty] $body:block) => {
        $($crate::border::natives!(@one $name $l $args [$ret] $body);)+
    };
    ($(fn $($name:ident)+ <$l:lifetime> $args:tt -> $ret:ty $body:block)*) => {
        $($crate::border::natives!(@each [$($name)+] $l $args [$ret] $body);)*
    };
}
pub(crate) use natives;

/// `len` bytes of an array from `offset` on.
pub(crate) fn part(
    env: &Env<'_>,
    array: &JByteArray<'_>,
    offset: i32,
    len: i32,
) -> Result<Vec<u8>> {
    let len = usize::try_from(len).map_err(|_| invalid("a length is negative"))?;
    let mut bytes = vec![0i8; len];
    array.get_region(env, offset, &mut bytes)?;
    Ok(bytes.into_iter().map(|byte| byte as u8).collect())
}

/// The bytes of an array.
pub(crate) fn bytes(env: &Env<'_>, array: &JByteArray<'_>) -> Result<Vec<u8>> {
    Ok(env.convert_byte_array(array)?)
}

/// The bytes of an array that may be null.
pub(crate) fn bytes_given(env: &Env<'_>, array: &JByteArray<'_>) -> Result<Option<Vec<u8>>> {
    (!array.is_null()).then(|| bytes(env, array)).transpose()
}

/// How much is copied into an array at a time. Bytes.
const PIECE: usize = 256;

/// Copies as much of `value` as fits into an array, and returns the length of the value.
pub(crate) fn put_part(
    env: &Env<'_>,
    (array, offset, len): (&JByteArray<'_>, i32, i32),
    value: &[u8],
) -> Result<i32> {
    let fits = value.len().min(usize::try_from(len).unwrap_or(0));
    let mut at = offset;
    // Java's bytes have a sign. Pieces need no memory of their own.
    for piece in value[..fits].chunks(PIECE) {
        let mut signed = [0i8; PIECE];
        let signed = &mut signed[..piece.len()];
        for (to, from) in signed.iter_mut().zip(piece) {
            *to = *from as i8;
        }
        array.set_region(env, at, signed)?;
        at += int(piece.len())?;
    }
    int(value.len())
}

/// A length as Java has it.
pub(crate) fn int(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| invalid("more than an array of Java can have"))
}

/// A value as an array, null if there is none.
pub(crate) fn array<'l>(
    env: &mut Env<'l>,
    value: Option<impl AsRef<[u8]>>,
) -> Result<JByteArray<'l>> {
    match value {
        Some(value) => Ok(env.byte_array_from_slice(value.as_ref())?),
        None => Ok(JByteArray::null()),
    }
}

pub(crate) fn text(env: &Env<'_>, text: &JString<'_>) -> Result<String> {
    Ok(text.try_to_string(env)?)
}

/// The arrays of bytes of an array.
pub(crate) fn byte_arrays(
    env: &mut Env<'_>,
    arrays: &JObjectArray<'_, JByteArray<'_>>,
) -> Result<Vec<Vec<u8>>> {
    let len = arrays.len(env)?;
    let each = (0..len).map(|at| {
        let array = arrays.get_element(env, at)?;
        let found = bytes(env, &array);
        env.delete_local_ref(array);
        found
    });
    each.collect()
}

/// The texts of an array.
pub(crate) fn texts(
    env: &mut Env<'_>,
    list: &JObjectArray<'_, JString<'_>>,
) -> Result<Vec<String>> {
    let len = list.len(env)?;
    let each = (0..len).map(|at| {
        let element = list.get_element(env, at)?;
        let found = text(env, &element);
        env.delete_local_ref(element);
        found
    });
    each.collect()
}

/// The numbers of an array.
pub(crate) fn longs(env: &Env<'_>, array: &jni::objects::JLongArray<'_>) -> Result<Vec<i64>> {
    let mut numbers = vec![0; array.len(env)?];
    array.get_region(env, 0, &mut numbers)?;
    Ok(numbers)
}

/// An array of numbers.
pub(crate) fn long_array<'l>(
    env: &mut Env<'l>,
    numbers: &[i64],
) -> Result<jni::objects::JLongArray<'l>> {
    let array = env.new_long_array(numbers.len())?;
    array.set_region(env, 0, numbers)?;
    Ok(array)
}
