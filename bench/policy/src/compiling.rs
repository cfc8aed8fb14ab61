//! An OpenAPI document of 10 MB, as YAML and as JSON, becomes a policy.

use std::fmt::Write;

use tollgate_policy::Policy;

use crate::stopwatch::Times;

const BYTES: usize = 10_000_000;
const ROUNDS: usize = 7;

fn yaml() -> String {
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: Large, version: '1' }\npaths:\n");
    let mut number = 0;
    while text.len() < BYTES {
        write!(
            text,
            "  /api/v1/resource-{number}/{{id}}/items/{{item}}:
    get:
      operationId: get{number}
      summary: Reads an item of a resource
      description: \"Longer words: what it does, for whom, and what comes back.\"
      tags: [reading, cheap]
      parameters:
        - name: id
          in: path
          required: true
          schema: {{ type: string, maxLength: 64 }}
        - name: item
          in: path
          required: true
          schema:
            type: integer
      x-rate-limit:
        algorithm: token_bucket
        capacity: 5
        refill_rate: 0.1
        consumer_key: api_key
      responses:
        '200':
          description: the item
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Item'
        '404': {{ description: not here }}
"
        )
        .ok();
        number += 1;
    }
    text
}

fn json() -> String {
    let mut text = String::from(
        "{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"Large\", \"version\": \"1\"}, \"paths\": {\n",
    );
    let mut number = 0;
    while text.len() < BYTES {
        let comma = if number == 0 { "" } else { ",\n" };
        write!(
            text,
            "{comma}  \"/api/v1/resource-{number}/{{id}}/items/{{item}}\": {{
    \"get\": {{
      \"operationId\": \"get{number}\",
      \"description\": \"Longer words: what it does, for whom, and what comes back.\",
      \"tags\": [\"reading\", \"cheap\"],
      \"parameters\": [
        {{\"name\": \"id\", \"in\": \"path\", \"required\": true, \"schema\": {{\"type\": \"string\", \"maxLength\": 64}}}},
        {{\"name\": \"item\", \"in\": \"path\", \"required\": true, \"schema\": {{\"type\": \"integer\"}}}}
      ],
      \"x-rate-limit\": {{\"algorithm\": \"token_bucket\", \"capacity\": 5, \"refill_rate\": 0.1}},
      \"responses\": {{\"200\": {{\"description\": \"the item\"}}, \"404\": {{\"description\": \"not here\"}}}}
    }}
  }}"
        )
        .ok();
        number += 1;
    }
    text.push_str("\n}}\n");
    text
}

/// The table.
pub(crate) fn table() -> String {
    let mut out = String::from("| document | operations | compiled in |\n|---|---|---|\n");
    for (kind, text) in [("YAML", yaml()), ("JSON", json())] {
        let operations = Policy::parse("large", &text).map_or(0, |policy| policy.operations().len());
        let times = Times::of(ROUNDS, || Policy::parse("large", &text).is_ok());
        let bytes = text.len();
        writeln!(out, "| {kind}, {bytes} bytes | {operations} | {} |", times.milliseconds()).ok();
    }
    out
}
