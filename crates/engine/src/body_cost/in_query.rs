//! GraphQL in a query string: `?query={…}`. Many servers execute it even if the request has a body, some instead of the body.

use tollgate_http::found::Lookup;
use tollgate_http::query::{self, Semicolons};

use super::graphql;

/// Parameters that name an operation which is kept elsewhere, so that its size cannot be told.
const STORED: [&str; 3] = ["extensions", "documentId", "queryId"];

/// How many operations a query string carries: 0 if it carries none, and [`u64::MAX`] if that cannot be told.
pub(crate) fn count_in_query(query: Option<&str>, semicolons: Semicolons) -> u64 {
    let Some(query) = query else { return 0 };
    let mut room = Vec::new();
    match query::find_as(semicolons, query, "query", &mut room) {
        Lookup::One(text) => {
            let text = std::str::from_utf8(text).ok();
            text.and_then(graphql::count_document).unwrap_or(u64::MAX)
        }
        Lookup::Missing => {
            let is_missing = |name: &&str| {
                matches!(query::find_as(semicolons, query, name, &mut Vec::new()), Lookup::Missing)
            };
            if STORED.iter().all(is_missing) { 0 } else { u64::MAX }
        }
        Lookup::Empty | Lookup::Repeated | Lookup::Malformed => u64::MAX,
    }
}

#[test]
fn a_query_string_is_read_as_servers_read_it() {
    let table = [
        (None, 0),
        (Some(""), 0),
        (Some("page=2&variables={}&operationName=a"), 0),
        (Some("query={a,b,c}"), 3),
        (Some("page=2&qu%65ry=%7Ba+b%7D"), 2),
        (Some("query=query+A{a}+query+B{b+c}&operationName=A"), 3),
        (Some("query="), u64::MAX),
        (Some("query"), u64::MAX),
        (Some("query=search+words"), u64::MAX),
        (Some("query={a}&query={a,b}"), u64::MAX),
        (Some("query=%FF"), u64::MAX),
        (Some("query={a}&br%oken=1"), u64::MAX),
        (Some("extensions=%7B%22persistedQuery%22:%7B%7D%7D"), u64::MAX),
        (Some("documentId=5"), u64::MAX),
    ];
    for (query, wanted) in table {
        assert_eq!(count_in_query(query, Semicolons::Text), wanted, "{query:?}");
    }
    assert_eq!(count_in_query(Some("a=1;query={a,b}"), Semicolons::Separator), 2);
}
