//! Objects of Java that the database calls, from any thread.

use crate::border::Result;
use jni::objects::{Global, JObject};
use jni::{Env, JavaVM};

/// An object of Java that lives until this is dropped.
pub(crate) struct Callee {
    vm: JavaVM,
    object: Global<JObject<'static>>,
}

impl Callee {
    pub(crate) fn new(env: &Env<'_>, object: &JObject<'_>) -> Result<Self> {
        Ok(Callee {
            vm: env.get_java_vm()?,
            object: env.new_global_ref(object)?,
        })
    }

    /// What `f` returns, which calls the object. `None` if it throws, which is told on standard
    /// error, as no caller can catch it. A thread of the database is one of Java for the call only,
    /// so that none keeps the JVM from its end.
    pub(crate) fn call<R>(
        &self,
        f: impl FnOnce(&mut Env<'_>, &JObject<'static>) -> jni::errors::Result<R>,
    ) -> Option<R> {
        let called = self.vm.attach_current_thread_for_scope(|env| {
            let result = f(env, &self.object);
            if env.exception_check() {
                env.exception_describe();
                env.exception_clear();
            }
            result
        });
        called.ok()
    }
}
