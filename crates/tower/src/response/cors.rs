//! CORS headers for the gateway's own responses, so that scripts of other origins can read them. The upstream answers preflights.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    CACHE_CONTROL, CONTENT_TYPE, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue};
use tollgate_http::found::Lookup;
use tollgate_http::header;
use tollgate_policy::model::{Cors, Origins};

/// Allows scripts from the policy's origins to read a response and all of its headers.
pub(crate) fn write(cors: &Cors, request: &HeaderMap, response: &mut HeaderMap) {
    let allowed = match &cors.origins {
        Origins::Any => HeaderValue::from_static("*"),
        Origins::These(origins) => {
            // The response depends on the origin.
            response.append(VARY, HeaderValue::from_static("origin"));
            let Lookup::One(origin) = header::find(request, &ORIGIN) else { return };
            let Some(allowed) = origins.iter().find(|allowed| allowed.as_bytes() == origin) else { return };
            let Ok(allowed) = HeaderValue::from_str(allowed) else { return };
            allowed
        }
    };
    // By default, scripts see only a few headers, none of them about limits.
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
