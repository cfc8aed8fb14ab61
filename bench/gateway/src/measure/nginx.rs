//! How nginx is set up: as its own documentation sets up a proxy with limits, and with nothing on that costs it time.
//! Whether it answers rightly is looked at elsewhere.

use std::fs;

use super::contestant::{Place, Setup, write};
use super::document::Limits;
use crate::process::Start;

/// How nginx is started.
pub(crate) fn start(place: &Place, setup: Setup, port: u16, name: &str) -> Result<Start, String> {
    // Its temporary files need a folder of their own, because several run at once.
    let prefix = place.folder.join(format!("nginx-{port}"));
    fs::create_dir_all(&prefix).map_err(|error| format!("{}: {error}", prefix.display()))?;
    let prefix = prefix.display().to_string();
    let file = write(&place.folder, &format!("nginx-{port}.conf"), &configuration(place, setup, port))?;
    let words = ["nginx", "-p", &prefix, "-e", "stderr", "-c", &file].map(String::from).into();
    Ok(Start { name: name.into(), cores: setup.cores, words, environment: Vec::new() })
}

fn configuration(place: &Place, setup: Setup, port: u16) -> String {
    // By API key, as ours. One limit for all operations, where ours has one each.
    let (zone, limit) = match setup.limits {
        Limits::Generous => ("rate=1000000r/s", "limit_req zone=keys burst=1000000 nodelay;"),
        Limits::None => ("rate=1r/s", ""),
        Limits::Exhausted => ("rate=1r/m", "limit_req zone=keys; limit_req_status 429;"),
    };
    let (workers, upstream) = (setup.workers, place.upstream);
    format!(
        "daemon off;
worker_processes {workers};
worker_rlimit_nofile 20000;
pid nginx.pid;
error_log stderr crit;
events {{ worker_connections 16000; }}
http {{
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  scgi_temp_path scgi;
  uwsgi_temp_path uwsgi;
  keepalive_requests 1000000000;
  limit_req_zone $http_x_api_key zone=keys:10m {zone};
  upstream service {{
    server 127.0.0.1:{upstream};
    keepalive 256;
    keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      {limit}
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
    }}
  }}
}}
"
    )
}
