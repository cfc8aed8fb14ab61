//! Errors of the argument parser, with passwords removed from what it repeats.

use std::ffi::OsString;

use crate::settings::shown_address;

/// The message, with its colours. Addresses among the arguments are shown without what may be a password.
pub fn rendered(error: &clap::Error, args: impl IntoIterator<Item = OsString>) -> String {
    let mut text = error.render().ansi().to_string();
    for argument in args.into_iter().skip(1) {
        let argument = argument.to_string_lossy();
        let value = argument.split_once('=').filter(|(flag, _)| flag.starts_with('-'));
        let value = value.map_or(argument.as_ref(), |(_, value)| value);
        if value.contains("://") || value.contains('@') {
            text = text.replace(value, &shown_address(value));
        }
    }
    text
}
