//! The shape of the `jwt` module in a build without the feature `jwt`. No token is ever read: a document that needs tokens is
//! rejected while it is compiled.

use std::borrow::Cow;
use std::convert::Infallible;

use tollgate_algorithms::Micros;

/// Why a document that needs tokens is rejected.
pub(crate) const UNAVAILABLE: &str =
    "this build cannot read tokens; enable the feature `jwt` of `tollgate-policy`";

/// Key sets cannot be read in this build, so there are none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JwtKeys(Infallible);

impl JwtKeys {
    pub(crate) fn from_jwks(_: &str) -> Result<Self, String> {
        Err(UNAVAILABLE.to_owned())
    }
}

/// As in a build with the feature; never constructed, because there are no keys.
#[derive(Clone, Debug)]
pub(crate) struct JwtRules {
    pub(crate) keys: JwtKeys,
    #[expect(dead_code, reason = "written by the code that both builds share")]
    pub(crate) issuer: Option<String>,
    #[expect(dead_code, reason = "written by the code that both builds share")]
    pub(crate) audience: Option<String>,
    #[expect(dead_code, reason = "written by the code that both builds share")]
    pub(crate) leeway_s: u64,
    #[expect(dead_code, reason = "written by the code that both builds share")]
    pub(crate) require_exp: bool,
}

impl JwtRules {
    pub(crate) const fn verify(&self, _: &[u8], _: Micros) -> Result<Claims, Infallible> {
        match self.keys.0 {}
    }
}

/// Claims of a token; there are none in this build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claims(Infallible);

impl Claims {
    pub(crate) const fn get(&self, _: &str) -> Option<ClaimValue> {
        match self.0 {}
    }
}

/// A claim's value; there are none in this build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimValue(Infallible);

impl ClaimValue {
    pub(crate) const fn text(&self) -> Cow<'static, str> {
        match self.0 {}
    }
}

pub(crate) const fn read_unverified(_: &[u8]) -> Option<Claims> {
    None
}
