//! A login limit: five failed attempts per account, then one a minute. A successful login costs nothing.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::post};
use tollgate::{Clock, Limit, Limiter, Micros, NamedLimit};
use tower::ServiceExt;

/// The body is `account:password`, to keep the example short.
async fn login(State(logins): State<NamedLimit>, body: String) -> Response {
    let (account, password) = body.split_once(':').unwrap_or_default();
    // Charged before the password is looked at, so that nobody can try two at once.
    if let Err(refusal) = tollgate_tower::check(&logins, account).await {
        return refusal.into_response();
    }
    if password != "correct horse" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    // Whoever knows the password may begin anew.
    match logins.limiter().reset(&logins, account).await {
        Ok(_) => format!("welcome, {account}").into_response(),
        Err(error) => tollgate_tower::ErrorResponse::from(error).into_response(),
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The clock stands still, so that what is printed is always the same. A service of your own has `Limiter::new()`.
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).build()?;
    let logins = limiter.limit("logins", Limit::per_minute(1).burst(5)?);
    let app: Router = Router::new().route("/login", post(login)).with_state(logins);

    let right = "ada:correct horse";
    for body in ["ada:a", "ada:b", right, "ada:c", "ada:d", "ada:e", "ada:f", "ada:g", right, "bob:a"] {
        let response = app.clone().oneshot(Request::post("/login").body(Body::from(body))?).await?;
        let wait = response.headers().get("retry-after").map(|wait| wait.to_str()).transpose()?;
        println!(
            "{body}: {} {}",
            response.status(),
            wait.map(|wait| format!("in {wait} s")).unwrap_or_default()
        );
    }
    Ok(())
}
