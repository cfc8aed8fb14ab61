//! Fields by which a browser lets a script of another origin read an answer (the CORS protocol of the Fetch standard). Preflights
//! are answered by the upstream.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    CACHE_CONTROL, CONTENT_TYPE, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue};
use tollgate_http::found::Found;
use tollgate_http::header;
use tollgate_policy::model::{Cors, Origins};

/// Lets scripts of the origins that the policy names read an answer and all of its fields.
pub(crate) fn write(cors: &Cors, request: &HeaderMap, response: &mut HeaderMap) {
    let allowed = match &cors.origins {
        Origins::Any => HeaderValue::from_static("*"),
        Origins::These(origins) => {
            // The same request from elsewhere gets another response.
            response.append(VARY, HeaderValue::from_static("origin"));
            let Found::One(origin) = header::find(request, &ORIGIN) else { return };
            let Some(allowed) = origins.iter().find(|allowed| allowed.as_bytes() == origin) else { return };
            let Ok(allowed) = HeaderValue::from_str(allowed) else { return };
            allowed
        }
    };
    // A browser shows a script few fields by itself, and none of those about limits.
    let mut names = String::new();
    for name in
        response.keys().filter(|name| **name != VARY && **name != CACHE_CONTROL && **name != CONTENT_TYPE)
    {
        if !names.is_empty() {
            names.push_str(", ");
        }
        names.push_str(name.as_str());
    }
    if let Ok(names) = HeaderValue::try_from(names)
        && !names.is_empty()
    {
        response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, names);
    }
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    if cors.credentials {
        response.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
}
