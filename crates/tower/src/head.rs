//! A request's head as a guard sees it, and the room that asking takes. Nothing is decided here.

use std::net::IpAddr;

use http::{HeaderMap, Method, Uri};
use tollgate::Verdict;
use tollgate_policy::{BadRequest, Facts, Hits, Policy, Request, Scratch};

use tollgate_algorithms::Micros;

use crate::operations::count_in_query;

/// The head of a request, and who is at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target, as it came.
    pub uri: &'a Uri,
    /// The fields.
    pub headers: &'a HeaderMap,
    /// Who is at the other end of the connection.
    pub peer: IpAddr,
    /// How many operations the body carries, if that was counted: see [`Guard::wants_body`](crate::Guard::wants_body).
    pub body_operations: Option<u64>,
}

/// Room that is used again and again, so that asking hardly allocates. One for each thread, or each connection.
#[derive(Debug, Default)]
pub struct Room {
    pub(crate) target: String,
    pub(crate) scratch: Scratch,
    pub(crate) hits: Hits,
    pub(crate) verdict: Option<Verdict>,
}

impl Room {
    /// What the last request was charged.
    #[must_use]
    pub const fn hits(&self) -> &Hits {
        &self.hits
    }

    /// What the limits said to the last request; the answers are in the order of its charges. `None` if no limit met it.
    #[must_use]
    pub const fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }
}

impl<'a> Head<'a> {
    /// What a policy knows of the request. `reads_query` says whether a limit counts the GraphQL in its query string.
    pub(crate) fn facts(
        &self,
        policy: &Policy,
        (now, reads_query): (Micros, bool),
        (target, scratch): (&'a mut String, &'a mut Scratch),
    ) -> Result<Facts<'a>, BadRequest> {
        let authority = self.uri.authority().map(http::uri::Authority::as_str);
        let target = match self.uri.path_and_query().map(http::uri::PathAndQuery::as_str) {
            // `CONNECT host:port`
            None | Some("") => authority.unwrap_or(""),
            // `GET http://host?query`
            Some(query) if query.starts_with('?') => {
                target.clear();
                target.push('/');
                target.push_str(query);
                target
            }
            Some(path) => path,
        };
        let request = Request {
            method: self.method.as_str(),
            target,
            headers: self.headers,
            authority,
            peer: self.peer,
            now,
        };
        let facts = policy.facts(&request, scratch)?;
        let query_operations = if reads_query { count_in_query(facts.query) } else { 0 };
        Ok(Facts { body_operations: self.body_operations, query_operations, ..facts })
    }

    /// The normalised path, if it is another one than the request's own.
    pub(crate) fn other_path(&self, facts: &Facts<'_>) -> Option<String> {
        let path = self.uri.path();
        // Most are the same text in the same place.
        let same =
            std::ptr::eq(facts.path, path) || facts.path == path || self.uri.path_and_query().is_none();
        (!same).then(|| facts.path.to_owned())
    }
}
