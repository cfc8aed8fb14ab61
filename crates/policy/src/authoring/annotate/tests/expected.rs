//! What stands under `components` afterwards, in the styles that the table needs. Written out, so that it can be read.

/// In a block, two deep.
pub(super) const BLOCK: &str = "components:
  responses:
    TollgateRateLimited:
      description: Rate limit exceeded. Wait for the time in Retry-After before retrying.
      headers:
        Retry-After:
          description: Seconds to wait before retrying.
          schema:
            type: integer
        RateLimit-Policy:
          description: Quota policies that apply to this request, with quota and window.
          schema:
            type: string
        RateLimit:
          description: Remaining quota per policy, and seconds until more is available.
          schema:
            type: string
        X-RateLimit-Limit:
          description: Quota of the limit closest to being exhausted.
          schema:
            type: integer
        X-RateLimit-Remaining:
          description: Remaining quota of that limit.
          schema:
            type: integer
        X-RateLimit-Reset:
          description: Unix time at which the quota is fully restored.
          schema:
            type: integer
      content:
        application/problem+json:
          schema:
            $ref: '#/components/schemas/TollgateProblem'
  schemas:
    TollgateProblem:
      type: object
      description: Problem details (RFC 9457) of a refused request.
      properties:
        type:
          type: string
          description: URI that identifies the problem type.
        title:
          type: string
          description: Short summary of the problem type.
        status:
          type: integer
          description: HTTP status code (429).
        detail:
          type: string
          description: Explanation of this refusal.
        violated-policies:
          type: array
          description: Names of the exceeded limits, as in RateLimit-Policy.
          items:
            type: string
";

/// As minified JSON.
pub(super) const MINIFIED: &str = concat!(
    r##""components":{"responses":{"TollgateRateLimited":{"##,
    r##""description":"Rate limit exceeded. Wait for the time in Retry-After before retrying.","headers":{"##,
    r##""Retry-After":{"description":"Seconds to wait before retrying.","schema":{"type":"integer"}},"##,
    r##""RateLimit-Policy":{"description":"Quota policies that apply to this request, with quota and window.","schema":{"type":"string"}},"##,
    r##""RateLimit":{"description":"Remaining quota per policy, and seconds until more is available.","schema":{"type":"string"}},"##,
    r##""X-RateLimit-Limit":{"description":"Quota of the limit closest to being exhausted.","schema":{"type":"integer"}},"##,
    r##""X-RateLimit-Remaining":{"description":"Remaining quota of that limit.","schema":{"type":"integer"}},"##,
    r##""X-RateLimit-Reset":{"description":"Unix time at which the quota is fully restored.","schema":{"type":"integer"}}},"##,
    r##""content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/TollgateProblem"}}}}},"##,
    r##""schemas":{"TollgateProblem":{"type":"object","description":"Problem details (RFC 9457) of a refused request.","properties":{"##,
    r##""type":{"type":"string","description":"URI that identifies the problem type."},"##,
    r##""title":{"type":"string","description":"Short summary of the problem type."},"##,
    r##""status":{"type":"integer","description":"HTTP status code (429)."},"##,
    r##""detail":{"type":"string","description":"Explanation of this refusal."},"##,
    r##""violated-policies":{"type":"array","description":"Names of the exceeded limits, as in RateLimit-Policy.","##,
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
