//! The gRPC endpoint, for Envoy: what is in `envoy`, or an explanation if the command was built without it.

#[cfg(feature = "envoy")]
pub(crate) use super::envoy::{Endpoint, LimitsFiles};

#[cfg(not(feature = "envoy"))]
pub(crate) use disabled::{Endpoint, LimitsFiles};

#[cfg(not(feature = "envoy"))]
mod disabled {
    //! Without the feature `envoy`, the settings of the endpoint are an error.

    use std::sync::Arc;

    use crate::doors::listener::{Connection, Context, Handler};
    use crate::reload::FileHashes;

    const WHY: &str =
        "this `tollgate` was built without the gRPC endpoint: build it with the feature `envoy`";

    /// No files.
    #[derive(Debug)]
    pub(crate) struct LimitsFiles;

    impl LimitsFiles {
        /// # Errors
        /// Always.
        pub(crate) fn load(_: &[String], _: &mut FileHashes) -> Result<Self, String> {
            Err(WHY.into())
        }

        /// # Errors
        /// Never.
        #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with the feature")]
        pub(crate) const fn reload(&self, _: &mut FileHashes) -> Result<bool, String> {
            Ok(false)
        }
    }

    /// Answers nobody.
    #[derive(Debug)]
    pub(crate) struct Endpoint;

    impl Endpoint {
        /// # Errors
        /// Always.
        pub(crate) fn new(_: &Arc<Context>) -> Result<Self, String> {
            Err(WHY.into())
        }
    }

    impl Handler for Endpoint {
        async fn serve(self: Arc<Self>, _: Connection) {}
    }
}
