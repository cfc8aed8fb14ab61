//! Which parameters of a path take several segments. What else parameters are is not judged.

use crate::document::tree::Value;
use crate::parse::context::Context;

/// The names of the path's parameters of which the document says that they take several segments: `x-multi-segment: true`, as
/// in GitHub's document, or `allowReserved: true`.
pub(crate) fn multi_segment<'t>(map: Value<'t>, context: &mut Context<'t>) -> Vec<String> {
    let mut names = Vec::new();
    for parameter in map.get("parameters").into_iter().flat_map(Value::items) {
        // What a `$ref` to nothing means for a request's path is nothing: it is not pointed at here.
        let Some(parameter) = context.look_up(parameter) else { continue };
        let is_true = |field: &str| parameter.get(field).is_some_and(Value::is_true);
        if (is_true("x-multi-segment") || is_true("allowReserved"))
            && parameter.get("in").and_then(Value::text) == Some("path")
        {
            names.extend(parameter.get("name").and_then(Value::text).map(ToOwned::to_owned));
        }
    }
    names
}
