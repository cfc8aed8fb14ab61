//! Settings from flags. `cli` defines the flags.

use super::setting::Setting;
use super::source::{GivenSetting, SettingProblem, SettingSource};
use crate::cli::ServeArgs;

/// What flags say, in the order of the help.
pub(super) fn read(args: &ServeArgs, problems: &mut Vec<SettingProblem>) -> Vec<GivenSetting> {
    let all: [(&'static str, &str, &[String]); 8] = [
        ("--policy", "policy", args.policy.as_slice()),
        ("--upstream", "upstream.url", args.upstream.as_slice()),
        ("--listen", "listen", &args.listen),
        ("--grpc", "grpc.listen", args.grpc.as_slice()),
        ("--grpc-limits", "grpc.limits", &args.grpc_limits),
        ("--resp", "resp.listen", args.resp.as_slice()),
        ("--api", "api.listen", args.api.as_slice()),
        ("--store", "store.url", args.store.as_slice()),
    ];
    let settings = Setting::all();
    let mut said = Vec::new();
    for (flag, path, texts) in all {
        let Some(setting) = settings.iter().find(|setting| setting.path == path && !texts.is_empty()) else {
            continue;
        };
        let mut items = Vec::new();
        for text in texts {
            match setting.parse_item(text) {
                Ok(item) => items.push(item),
                Err(why) => problems.push(SettingProblem::value(flag, ' ', text, &why)),
            }
        }
        let value = if items.len() == texts.len() {
            let whole = setting.list(items);
            whole.map_err(|why| problems.push(SettingProblem::error(format!("{flag} {why}")))).ok()
        } else {
            None
        };
        said.push(GivenSetting { path: path.into(), value, given: SettingSource::Flag(flag) });
    }
    said
}
