//! What a gateway needs besides limits: whose keys, which tiers, which proxies. In a native file, or under `x-tollgate`.

use http::HeaderName;
use http::header::AUTHORIZATION;
use tollgate_algorithms::Micros;

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::tree::Value;
use crate::model::{
    Cors, HeaderNames, JwtSettings, KeyPlace, OrganisationFrom, Priorities, TierFrom, Unmatched,
};
use crate::parse::context::{Context, beside};
use crate::parse::identity::{header, key_place};
use crate::parse::schema_fields::{
    ADDRESSES, HEADER_NAMES, JWT, NAME_CHARS_MAX, ORGANISATIONS, PATH_CHARS_MAX, PROXIES, SEMICOLONS, TIERS,
    UNMATCHED,
};
use crate::parse::security::without_doubles;
use crate::parse::{cors, priorities};
use crate::quantity::{duration, whole};
use crate::template::{Tail, Template};
use tollgate_http::address::Prefixes;
use tollgate_http::query::Semicolons;
use tollgate_http::trusted::{ForwardHeader, HOPS_MAX, TrustedProxies, parse_cidr};

/// How far clocks may be apart, when nothing is said.
const LEEWAY: Micros = Micros::from_secs(30);

/// Everything that is not a limit.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The consumers file, and where it is named.
    pub consumers: Option<(String, Place)>,
    /// Where an API key stands, in place of what security schemes say.
    pub api_key: Vec<KeyPlace>,
    /// From where a tier is known: the first source that knows one counts.
    pub tier_from: Vec<TierFrom>,
    /// Where that is written.
    pub tier_from_at: Option<Place>,
    /// Every tier there is, if they are listed.
    pub tier_names: Vec<String>,
    /// The tier of those of whom nothing else is known.
    pub tier_default: Option<String>,
    /// Which requests are refused first, if anything is said of that.
    pub priorities: Option<Priorities>,
    /// From where an organisation is known, and where that is written: the first source that knows one counts.
    pub organisation_from: Vec<(OrganisationFrom, Place)>,
    /// How tokens are verified.
    pub jwt: Option<JwtSettings>,
    /// Whose word is taken for a client's address.
    pub trusted_proxies: TrustedProxies,
    /// Which addresses are one client.
    pub prefixes: Prefixes,
    /// How many times the limit a wide IPv6 prefix has.
    pub wide_multiple: u64,
    /// Whether nothing is written about the wide prefix: then no limit is refused because so many times it do not fit.
    pub wide_implied: bool,
    /// What happens to a request that no operation names.
    pub unmatched: Unmatched,
    /// Which headers a gateway passes on, by the characters in their names.
    pub header_names: HeaderNames,
    /// What a `;` in a query string means to the upstream.
    pub query_semicolons: Semicolons,
    /// The base path of the servers that a proxy in front takes away, and where it is written.
    pub base_path: Option<(String, Place)>,
    /// Which scripts in browsers may read a refusal.
    pub cors: Option<Cors>,
    /// The namespace of the limits in a shared store, if the file sets one: `serve.store.namespace`.
    pub namespace: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            consumers: None,
            api_key: Vec::new(),
            tier_from: Vec::new(),
            organisation_from: Vec::new(),
            tier_from_at: None,
            tier_names: Vec::new(),
            tier_default: None,
            priorities: None,
            jwt: None,
            trusted_proxies: TrustedProxies::None,
            prefixes: Prefixes::default(),
            wide_multiple: Prefixes::default().usual_multiple(),
            wide_implied: true,
            unmatched: Unmatched::Reject,
            header_names: HeaderNames::Plain,
            query_semicolons: Semicolons::Text,
            base_path: None,
            cors: None,
            namespace: None,
        }
    }
}

/// Reads the settings of a map. Its unknown fields are its owner's business.
pub(crate) fn read<'t>(map: Value<'t>, context: &mut Context<'t>) -> Settings {
    let mut settings = Settings::default();
    let here = context.trees.sources.get(map.tree.file).map_or("", |source| source.name()).to_owned();
    if let Some(value) = map.get("consumers") {
        let file = context.text(value, "consumers", PATH_CHARS_MAX);
        settings.consumers = file.map(|file| (beside(&here, file), value.place()));
    }
    if let Some(value) = map.get("api_key") {
        let list: Vec<_> = if value.is_list() { value.items().collect() } else { vec![value] };
        let places = list.into_iter().filter_map(|item| context.parsed(item, "api_key", key_place));
        settings.api_key = without_doubles(places.collect());
    }
    if let Some(value) = map.get("unmatched")
        && context.word(value, "unmatched", UNMATCHED) == Some("forward")
    {
        settings.unmatched = Unmatched::Forward;
    }
    if let Some(value) = map.get("header_names")
        && context.word(value, "header_names", HEADER_NAMES) == Some("any")
    {
        settings.header_names = HeaderNames::Any;
    }
    if let Some(value) = map.get("query_semicolons") {
        settings.query_semicolons = match context.word(value, "query_semicolons", SEMICOLONS) {
            Some("separator") => Semicolons::Separator,
            Some("dropped") => Semicolons::Dropped,
            _ => Semicolons::Text,
        };
    }
    if let Some(value) = map.get("base_path") {
        let path = context.parsed(value, "base_path", base_path);
        settings.base_path = path.map(|path| (path, value.place()));
    }
    tiers(map, &mut settings, context);
    if let Some(value) = map.get("priorities") {
        settings.priorities = priorities::read(value, &settings.tier_names, context);
    }
    organisations(map, &mut settings, context);
    settings.jwt = map.get("jwt").and_then(|value| jwt(value, &here, context));
    if let Some(value) = map.get("trusted_proxies") {
        settings.trusted_proxies = proxies(value, context).unwrap_or(TrustedProxies::None);
    }
    settings.cors = map.get("cors").and_then(|value| cors::read(value, context));
    if let Some(value) = map.get("addresses") {
        addresses(value, &mut settings, context);
    }
    settings
}

/// One source or a list of them, in their order.
fn sources<'t, T: PartialEq>(
    from: Value<'t>,
    context: &mut Context<'t>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<(T, Place)> {
    let items: Vec<_> = if from.is_list() { from.items().collect() } else { vec![from] };
    if items.is_empty() {
        context.error("empty", from.place(), "there is no source in this list");
    }
    let mut found: Vec<(T, Place)> = Vec::new();
    for item in items {
        let Some(source) = context.parsed(item, "from", &parse) else { continue };
        if let Some((_, first)) = found.iter().find(|(known, _)| *known == source) {
            let finding = Diagnostic::error("unreachable-key", item.place(), "this source is there twice");
            context.findings.push(finding.also(*first, "it stands here").help("remove one of the two"));
        } else {
            found.push((source, item.place()));
        }
    }
    found
}

fn organisations<'t>(map: Value<'t>, settings: &mut Settings, context: &mut Context<'t>) {
    let Some(value) = map.get("organisations") else { return };
    let Some(organisations) = context.map(value, "`organisations`") else { return };
    context.unknown_fields(organisations, &[ORGANISATIONS], "`organisations`");
    let Some(from) = organisations.get("from") else {
        let finding = Diagnostic::error("missing-field", value.place(), "`organisations` has no `from`");
        context.findings.push(finding.help("add it, such as `from: [consumers, 'jwt:org']`"));
        return;
    };
    settings.organisation_from = sources(from, context, |text| match text.split_once(':') {
        None if text == "consumers" => Ok(OrganisationFrom::Consumers),
        Some(("jwt", claim)) if !claim.is_empty() => Ok(OrganisationFrom::Jwt(claim.into())),
        _ => Err("is no source of organisations: write `consumers` or `jwt:CLAIM`".into()),
    });
}

/// A base path, without a slash at its end.
fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    match Template::parse(path, Tail::Refused) {
        Ok(template) if template.parameters() == 0 => Ok(path.to_owned()),
        Ok(_) => Err("has a parameter in it: write the path that the proxy takes away".to_owned()),
        Err(error) => Err(format!("is no base path: {error}")),
    }
}

fn tiers<'t>(map: Value<'t>, settings: &mut Settings, context: &mut Context<'t>) {
    let Some(value) = map.get("tiers") else { return };
    let Some(tiers) = context.map(value, "`tiers`") else { return };
    context.unknown_fields(tiers, &[TIERS], "`tiers`");
    if let Some(from) = tiers.get("from") {
        settings.tier_from_at = Some(from.place());
        let sources = sources(from, context, |text| match text.split_once(':') {
            None if text == "consumers" => Ok(TierFrom::Consumers),
            Some(("jwt", claim)) if !claim.is_empty() => Ok(TierFrom::Jwt(claim.into())),
            Some(("header", name)) => Ok(TierFrom::Header(header(name)?)),
            _ => Err("is no source of tiers: write `consumers`, `jwt:CLAIM` or `header:NAME`".into()),
        });
        let mut headers = sources.iter().filter(|(source, _)| matches!(source, TierFrom::Header(_)));
        if let (Some((_, first)), Some((_, second))) = (headers.next(), headers.next()) {
            let message = "tiers are read from one header at most";
            let finding = Diagnostic::error("tiers", *second, message).also(*first, "this is one already");
            context
                .findings
                .push(finding.help("keep the header that your proxies set, and remove the other"));
        }
        settings.tier_from = sources.into_iter().map(|(source, _)| source).collect();
    }
    if let Some(names) = tiers.get("names") {
        let names = context.texts(names, "names", NAME_CHARS_MAX);
        settings.tier_names = names.into_iter().map(|(name, _)| name.to_owned()).collect();
    }
    if let Some(value) = tiers.get("default")
        && let Some(name) = context.text(value, "default", NAME_CHARS_MAX)
    {
        let names = &settings.tier_names;
        if !names.is_empty() && !names.iter().any(|known| known == name) {
            let message = format!("the tier `{}` is not among `names`", tollgate_http::text::shown(name));
            context.error("unknown-tier", value.place(), message);
        }
        settings.tier_default = Some(name.into());
    }
}

fn jwt<'t>(value: Value<'t>, here: &str, context: &mut Context<'t>) -> Option<JwtSettings> {
    let map = context.map(value, "`jwt`")?;
    context.unknown_fields(map, &[JWT], "`jwt`");
    let Some(jwks) = map.get("jwks") else {
        let finding =
            Diagnostic::error("missing-field", map.place(), "`jwt` has no `jwks`: nothing could be verified");
        context.findings.push(finding.help("name the file with the keys, such as `jwks: jwks.json`"));
        return None;
    };
    let jwks_at = jwks.place();
    let jwks = beside(here, context.text(jwks, "jwks", PATH_CHARS_MAX)?);
    let mut text = |field: &str| map.get(field).and_then(|value| context.text(value, field, PATH_CHARS_MAX));
    let (issuer, audience) = (text("issuer").map(Into::into), text("audience").map(Into::into));
    let leeway = map.get("leeway").map_or(Some(LEEWAY), |value| context.parsed(value, "leeway", duration))?;
    let header: HeaderName = match map.get("header") {
        None => AUTHORIZATION,
        Some(value) => context.parsed(value, "header", header)?,
    };
    Some(JwtSettings { jwks, jwks_at, issuer, audience, leeway, header })
}

fn proxies<'t>(value: Value<'t>, context: &mut Context<'t>) -> Option<TrustedProxies> {
    let map = context.map(value, "`trusted_proxies`")?;
    context.unknown_fields(map, &[PROXIES], "`trusted_proxies`");
    let Some(named) = map.get("header") else {
        let finding = Diagnostic::error("missing-field", map.place(), "`trusted_proxies` names no `header`");
        let help = "name the one header that your proxies set, such as `header: X-Forwarded-For`";
        context.findings.push(finding.help(help));
        return None;
    };
    let header = context.parsed(named, "header", ForwardHeader::named)?;
    let built = match (map.get("networks"), map.get("hops")) {
        (Some(networks), None) => {
            let list: Vec<_> = if networks.is_list() { networks.items().collect() } else { vec![networks] };
            let count = list.len();
            let cidrs: Vec<_> =
                list.into_iter().filter_map(|item| context.parsed(item, "networks", parse_cidr)).collect();
            if cidrs.len() != count {
                return None;
            }
            TrustedProxies::networks(&cidrs, header)
        }
        (None, Some(hops)) => {
            let most = u64::from(HOPS_MAX);
            let count = context.parsed(hops, "hops", |text| match whole(text)? {
                count if count <= most => Ok(u8::try_from(count).unwrap_or(u8::MAX)),
                _ => Err(format!("is more than the {most} hops that are looked at")),
            })?;
            TrustedProxies::hops(count, header)
        }
        _ => Err("`trusted_proxies` needs either `networks` or `hops`, and not both".to_owned()),
    };
    built.map_err(|why| context.error("trusted-proxies", map.place(), why)).ok()
}

fn addresses<'t>(value: Value<'t>, settings: &mut Settings, context: &mut Context<'t>) {
    let Some(map) = context.map(value, "`addresses`") else { return };
    context.unknown_fields(map, &[ADDRESSES], "`addresses`");
    let most = |text: &str| match whole(text)? {
        bits @ 0..=128 => Ok(u8::try_from(bits).unwrap_or(u8::MAX)),
        _ => Err("is more bits than an address has".to_owned()),
    };
    let mut bits = |field: &str| map.get(field).and_then(|value| context.parsed(value, field, most));
    let ipv4 = bits("ipv4_prefix").unwrap_or(settings.prefixes.ipv4());
    let ipv6 = bits("ipv6_prefix").unwrap_or(settings.prefixes.ipv6());
    let (wide_at, multiple_at) = (map.get("ipv6_wide_prefix"), map.get("ipv6_wide_multiple"));
    let wide = match wide_at {
        None => Prefixes::usual_wide(ipv6),
        Some(value) => context
            .parsed(value, "ipv6_wide_prefix", |text| match text {
                "none" => Ok(None),
                _ => most(text).map(Some),
            })
            .flatten(),
    };
    let multiple = multiple_at.and_then(|value| context.parsed(value, "ipv6_wide_multiple", whole));
    settings.wide_implied = wide_at.is_none() && multiple_at.is_none();
    let built = Prefixes::new(ipv4, ipv6, wide);
    match built {
        Ok(prefixes) => settings.prefixes = prefixes,
        Err(error) => context.error("addresses", map.place(), error.to_string()),
    }
    settings.wide_multiple = multiple.unwrap_or_else(|| settings.prefixes.usual_multiple());
    // Whether a multiple can be reached is told by good prefixes only.
    let checked = multiple.filter(|multiple| built.is_ok() || *multiple == 0);
    if let Some(Err(why)) = checked.map(|multiple| settings.prefixes.check_multiple(multiple)) {
        context.error("addresses", multiple_at.unwrap_or(map).place(), why);
    }
}
