//! Documents before and after, as whole texts, one for each way of writing them. The laws are in `random`.

use super::expected::{BLOCK, MINIFIED, block, part, pretty};
use super::laws;

const HEAD: &str = "openapi: 3.1.0\nx-rate-limit: { algorithm: gcra, capacity: 5, refill_rate: 1 }\n";
const JSON_HEAD: &str =
    r#"{"openapi":"3.0.3","x-rate-limit":{"algorithm":"gcra","capacity":5,"refill_rate":1}"#;
const REF: &str = "$ref: '#/components/responses/TollgateRateLimited'";
const JSON_REF: &str = r##"{"$ref":"#/components/responses/TollgateRateLimited"}"##;

fn becomes(about: &str, before: &str, after: &str) {
    let done = laws(before, about);
    assert_eq!(done.text, after, "{about}:\n{}", done.text);
    assert!(done.skipped.is_empty(), "{about}: {:?}", done.skipped);
}

/// Documents in blocks: what stands after the head, and what stands there afterwards. `COMPONENTS` stands for them.
#[test]
fn blocks_get_lines_like_their_neighbours() {
    let table = [
        (
            "two deep, with comments after the last entry",
            "paths:\n  /a:\n    get: # one\n      responses: # two\n        '200': # three\n          description: ok # four\n        # five\n\n# six\n",
            "paths:\n  /a:\n    get: # one\n      responses: # two\n        '200': # three\n          description: ok # four\n        # five\n        '429':\n          REF\n\n# six\nCOMPONENTS",
        ),
        (
            "neighbours on one line",
            "paths:\n  /a:\n    get:\n      responses:\n        200: {description: ok}\n  /b:\n    get: { responses: { '200': { description: ok } } }\n",
            "paths:\n  /a:\n    get:\n      responses:\n        200: {description: ok}\n        '429': {REF}\n  /b:\n    get: { responses: { '200': { description: ok }, '429': { REF } } }\nCOMPONENTS",
        ),
        (
            "no trailing newline",
            "paths:\n  /a:\n    get:\n      responses:\n        default:\n          description: all",
            "paths:\n  /a:\n    get:\n      responses:\n        default:\n          description: all\n        '429':\n          REF\nCOMPONENTS~",
        ),
        (
            "empty maps, an empty value, and no responses at all",
            "paths:\n  /a:\n    get:\n      responses: {}\n    put: {}\n    post:\n      responses: # soon\n    head:\n      summary: |\n        text\n\n  /b:\n    get: { }\n",
            "paths:\n  /a:\n    get:\n      responses: { '429': { REF } }\n    put: { responses: { '429': { REF } } }\n    post:\n      responses: # soon\n        '429':\n          REF\n    head:\n      summary: |\n        text\n      responses:\n        '429':\n          REF\n\n  /b:\n    get: { responses: { '429': { REF } } }\nCOMPONENTS",
        ),
        (
            "an own 429 is left alone, and 4XX does not count",
            "paths:\n  /a:\n    get:\n      responses:\n        '429': { description: mine }\n    put:\n      responses:\n        4XX: { description: some }\n",
            "paths:\n  /a:\n    get:\n      responses:\n        '429': { description: mine }\n    put:\n      responses:\n        4XX: { description: some }\n        '429': { REF }\nCOMPONENTS",
        ),
        (
            "none and shadow are not limited",
            "paths:\n  /a:\n    get:\n      x-rate-limit: none\n    put:\n      x-rate-limit: { algorithm: gcra, capacity: 1, refill_rate: 1, mode: shadow }\n",
            "paths:\n  /a:\n    get:\n      x-rate-limit: none\n    put:\n      x-rate-limit: { algorithm: gcra, capacity: 1, refill_rate: 1, mode: shadow }\n",
        ),
        (
            "a text that keeps its empty lines",
            "paths:\n  /a:\n    get:\n      responses:\n        '200':\n          description: |+\n            ok\n\n\n...\n",
            "paths:\n  /a:\n    get:\n      responses:\n        '200':\n          description: |+\n            ok\n\n\n        '429':\n          REF\nCOMPONENTS...\n",
        ),
        (
            "double quotes stay double",
            "\"paths\":\n  \"/a\":\n    \"get\":\n      \"responses\":\n        \"200\":\n          \"description\": \"ok\"\n",
            "\"paths\":\n  \"/a\":\n    \"get\":\n      \"responses\":\n        \"200\":\n          \"description\": \"ok\"\n        \"429\":\n          $ref: \"#/components/responses/TollgateRateLimited\"\nCOMPONENTS\"",
        ),
    ];
    for (about, before, after) in table {
        // With a mark at its end the block has no line break there, or double quotes.
        let (after, components) = match (after.strip_suffix('~'), after.strip_suffix('"')) {
            (Some(after), _) => (after, BLOCK.trim_end().to_owned()),
            (_, Some(after)) => (after, BLOCK.replace('\'', "\"")),
            _ => (after, BLOCK.to_owned()),
        };
        let after = after.replace("COMPONENTS", &components).replace("REF", REF);
        becomes(about, &format!("{HEAD}{before}"), &format!("{HEAD}{after}"));
    }
}

#[test]
fn four_spaces_a_document_mark_and_both_kinds_of_line_break() {
    let before = "paths:\n    /a:\n        get:\n            responses:\n                '200':\n                    description: ok\n";
    let after = format!("{before}                '429':\n                    {REF}\n{}", block(4));
    let (before, after) = (format!("---\n{HEAD}{before}"), format!("---\n{HEAD}{after}"));
    becomes("four spaces", &before, &after);
    becomes("CRLF", &before.replace('\n', "\r\n"), &after.replace('\n', "\r\n"));
    becomes("a byte order mark", &format!("\u{feff}{before}"), &format!("\u{feff}{after}"));
}

#[test]
fn components_are_extended_where_they_are() {
    let get = "paths:\n  /a:\n    get:\n      responses:\n        '200':\n          description: ok\n";
    let got = format!("{get}        '429':\n          {REF}\n");
    let schema = "    A:\n      type: string\n";
    let response = "    B:\n      description: b\n";
    let (responses, schemas) = (part("responses", true), part("schemas", true));
    let (whole_responses, whole_schemas) = (part("responses", false), part("schemas", false));
    let table = [
        (
            "schemas only",
            format!("components:\n  schemas:\n{schema}"),
            format!("components:\n  schemas:\n{schema}{schemas}{whole_responses}"),
        ),
        (
            "responses only",
            format!("components:\n  responses:\n{response}"),
            format!("components:\n  responses:\n{response}{responses}{whole_schemas}"),
        ),
        (
            "both",
            format!("components:\n  responses:\n{response}  schemas:\n{schema}"),
            format!("components:\n  responses:\n{response}{responses}  schemas:\n{schema}{schemas}"),
        ),
        ("empty", "components:\n".to_owned(), BLOCK.to_owned()),
        ("empty parts", "components:\n  responses:\n  schemas:\n".to_owned(), BLOCK.to_owned()),
    ];
    for (about, before, after) in table {
        becomes(about, &format!("{HEAD}{get}{before}"), &format!("{HEAD}{got}{after}"));
        becomes(about, &format!("{HEAD}{before}{get}"), &format!("{HEAD}{after}{got}"));
    }
}

#[test]
fn json_gets_commas_and_its_own_indentation() {
    let (ok, empty) = (r#"{"200":{"description":"ok"}"#, r#""put":{"responses":{}},"head":{}"#);
    let before = format!(r#"{JSON_HEAD},"paths":{{"/a":{{"get":{{"responses":{ok}}}}}}}}}}}"#);
    let after = format!(
        r#"{JSON_HEAD},"paths":{{"/a":{{"get":{{"responses":{ok},"429":{JSON_REF}}}}}}}}},{MINIFIED}}}"#
    );
    becomes("minified", &before, &after);
    for step in ["  ", "    ", "\t"] {
        becomes("pretty", &pretty(&before, step), &pretty(&after, step));
    }
    let before = format!(r#"{JSON_HEAD},"paths":{{"/a":{{{empty}}}}}}}"#);
    let filled =
        format!(r#""put":{{"responses":{{"429":{JSON_REF}}}}},"head":{{"responses":{{"429":{JSON_REF}}}}}"#);
    let after = format!(r#"{JSON_HEAD},"paths":{{"/a":{{{filled}}}}},{MINIFIED}}}"#);
    becomes("minified and empty", &before, &after);
    let lines =
        pretty(&before, "  ").replace("{\n          \n        }", "{}").replace("{\n        \n      }", "{}");
    assert_eq!(lines.matches("{}").count(), 2, "{lines}");
    becomes("pretty and empty", &lines, &pretty(&after, "  "));
}

#[test]
fn json_on_lines_with_neighbours_on_one() {
    let head = "{\n  \"openapi\": \"3.1.0\",\n  \"x-rate-limit\": { \"algorithm\": \"gcra\", \"capacity\": 5, \"refill_rate\": 1 },\n";
    let paths = "  \"paths\": {\n    \"/a\": {\n      \"get\": {\n        \"responses\": {\n          \"200\": {\"description\": \"ok\"}";
    let new = ",\n          \"429\": {\"$ref\": \"#/components/responses/TollgateRateLimited\"}";
    let end = "\n        }\n      }\n    }\n  }";
    let components = pretty(&format!("{{{MINIFIED}}}"), "  ");
    let components = components.strip_prefix("{").unwrap();
    becomes("JSON", &format!("{head}{paths}{end}\n}}\n"), &format!("{head}{paths}{new}{end},{components}\n"));
}
