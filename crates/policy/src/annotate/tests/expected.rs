//! What stands under `components` afterwards, in the styles that the table needs. Written out, so that it can be read.

/// In a block, two deep.
pub(super) const BLOCK: &str = "components:
  responses:
    TollgateRateLimited:
      description: This client has used up a limit; Retry-After says when to come back.
      headers:
        Retry-After:
          description: After how many seconds the same request can be allowed.
          schema:
            type: integer
        RateLimit-Policy:
          description: The limits that this request met, with their quotas and windows.
          schema:
            type: string
        RateLimit:
          description: What is left of them, and in how many seconds there is more.
          schema:
            type: string
        X-RateLimit-Limit:
          description: How much the nearest limit allows.
          schema:
            type: integer
        X-RateLimit-Remaining:
          description: How much of it is left.
          schema:
            type: integer
        X-RateLimit-Reset:
          description: When the limit is as good as untouched again, in seconds since 1970.
          schema:
            type: integer
      content:
        application/problem+json:
          schema:
            $ref: '#/components/schemas/TollgateProblem'
  schemas:
    TollgateProblem:
      type: object
      description: Why a request was refused (RFC 9457).
      properties:
        type:
          type: string
          description: Which kind of problem it is, as a URI.
        title:
          type: string
          description: The kind of problem in a few words.
        status:
          type: integer
          description: The status of the response, 429.
        detail:
          type: string
          description: What happened to this request, in a sentence.
        violated-policies:
          type: array
          description: The names of the limits that refused it, as in RateLimit-Policy.
          items:
            type: string
";

/// As minified JSON.
pub(super) const MINIFIED: &str = concat!(
    r##""components":{"responses":{"TollgateRateLimited":{"##,
    r##""description":"This client has used up a limit; Retry-After says when to come back.","headers":{"##,
    r##""Retry-After":{"description":"After how many seconds the same request can be allowed.","schema":{"type":"integer"}},"##,
    r##""RateLimit-Policy":{"description":"The limits that this request met, with their quotas and windows.","schema":{"type":"string"}},"##,
    r##""RateLimit":{"description":"What is left of them, and in how many seconds there is more.","schema":{"type":"string"}},"##,
    r##""X-RateLimit-Limit":{"description":"How much the nearest limit allows.","schema":{"type":"integer"}},"##,
    r##""X-RateLimit-Remaining":{"description":"How much of it is left.","schema":{"type":"integer"}},"##,
    r##""X-RateLimit-Reset":{"description":"When the limit is as good as untouched again, in seconds since 1970.","schema":{"type":"integer"}}},"##,
    r##""content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/TollgateProblem"}}}}},"##,
    r##""schemas":{"TollgateProblem":{"type":"object","description":"Why a request was refused (RFC 9457).","properties":{"##,
    r##""type":{"type":"string","description":"Which kind of problem it is, as a URI."},"##,
    r##""title":{"type":"string","description":"The kind of problem in a few words."},"##,
    r##""status":{"type":"integer","description":"The status of the response, 429."},"##,
    r##""detail":{"type":"string","description":"What happened to this request, in a sentence."},"##,
    r##""violated-policies":{"type":"array","description":"The names of the limits that refused it, as in RateLimit-Policy.","##,
    r##""items":{"type":"string"}}}}}}"##,
);

/// The block with each line so much deeper, and each step of so many spaces.
pub(super) fn block(step: usize) -> String {
    let deeper = |line: &str| {
        let text = line.trim_start();
        format!("{}{text}\n", " ".repeat((line.len() - text.len()) / 2 * step))
    };
    BLOCK.lines().map(deeper).collect()
}

/// A part of the block: `responses` or `schemas`, without the line of its own key if `inner`.
pub(super) fn part(name: &str, inner: bool) -> String {
    let from = BLOCK.find(&format!("  {name}:\n")).unwrap();
    let to = if name == "responses" { BLOCK.find("  schemas:\n").unwrap() } else { BLOCK.len() };
    let text = &BLOCK[from..to];
    if inner { text.split_once('\n').unwrap().1.into() } else { text.into() }
}

/// Minified JSON in lines, with this before each step, in the order in which it is written.
pub(super) fn pretty(minified: &str, step: &str) -> String {
    let (mut out, mut depth, mut quoted) = (String::new(), 0_usize, false);
    for char in minified.chars() {
        quoted ^= char == '"';
        match char {
            '{' if !quoted => {
                depth += 1;
                out += &format!("{{\n{}", step.repeat(depth));
            }
            '}' if !quoted => {
                depth -= 1;
                out += &format!("\n{}}}", step.repeat(depth));
            }
            ',' if !quoted => out += &format!(",\n{}", step.repeat(depth)),
            ':' if !quoted => out += ": ",
            other => out.push(other),
        }
    }
    out
}
