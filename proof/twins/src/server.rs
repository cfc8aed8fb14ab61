//! Servers of every make, and connections to them for scripts. How they are started is in `testing`.

pub use tollgate_testing::make::Make;
pub use tollgate_testing::server::Server;

/// A connection to a server.
///
/// # Errors
/// When there is none to be had.
pub fn connect(server: &Server) -> Result<redis::Connection, String> {
    let address = format!("unix://{}", server.socket().display());
    redis::Client::open(address)
        .and_then(|client| client.get_connection())
        .map_err(|error| format!("cannot connect: {error}"))
}
