//! Files change as editors, people and Kubernetes change them, and the policy in force follows. No sleeping.

mod support;
mod under_load;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;
use support::{PATIENCE, World, policy};

#[tokio::test]
async fn a_written_file_is_loaded_and_limits_keep_their_state() {
    let mut world = World::with(&policy(5, "")).await.run();
    assert_eq!(world.granted("/reports", 3), 3);
    // Not whole at once: should half of it be seen, that is refused.
    fs::write(world.at("policy.yaml"), policy(5, "more")).unwrap();
    world.until_generation(2).await;
    // Three of five are used: two are left.
    assert_eq!(world.granted("/reports", 9), 2);
    assert_eq!(world.granted("/more", 9), 5);
    let line = world.line("reloaded").await;
    assert_eq!(line["generation"], 2, "{line}");
    assert!(line["changed"].as_str().unwrap().contains("limits more ("), "{line}");
    assert_eq!(world.metrics.reloads.ok.get(), 1);
}

#[tokio::test]
async fn a_link_that_kubernetes_swaps_is_followed_again_and_again() {
    let world = World::empty();
    let folder = world.at("");
    let put = |version: u64| {
        let next = folder.join(format!("..{version}"));
        fs::create_dir(&next).unwrap();
        fs::write(next.join("policy.yaml"), policy(version, "")).unwrap();
        symlink(format!("..{version}"), folder.join("..data_tmp")).unwrap();
        fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
    };
    put(1);
    symlink("..data/policy.yaml", folder.join("policy.yaml")).unwrap();
    let mut world = world.start().await.run();
    for version in 2..5 {
        put(version);
        fs::remove_dir_all(folder.join(format!("..{}", version - 1))).unwrap();
        world.until_generation(version).await;
        assert_eq!(world.limit(), version);
    }
    assert_eq!(world.metrics.reloads.failed.get(), 0);
}

/// Where no events come through, nothing but the file itself says that somebody is still writing it.
#[tokio::test]
async fn a_file_that_is_being_written_is_not_loaded_by_a_look_at_it() {
    let mut world = World::with(&policy(5, "")).await.run_by_poll(DEBOUNCE);
    for limit in 6..36 {
        world.write("policy.yaml", &policy(limit, ""));
        let early = timeout(DEBOUNCE / 8, world.until_generation(2)).await;
        assert!(early.is_err(), "{limit} was not the last");
    }
    world.until_generation(2).await;
    assert_eq!((world.limit(), world.metrics.reloads.ok.get()), (35, 1));
}

#[tokio::test]
async fn an_editor_may_put_another_file_in_its_place() {
    let mut world = World::with(&policy(5, "")).await.run();
    // Written beside it, and renamed over it.
    world.write(".policy.yaml.swp", &policy(6, ""));
    fs::rename(world.at(".policy.yaml.swp"), world.at("policy.yaml")).unwrap();
    world.until_generation(2).await;
    // Renamed away, and written anew.
    fs::rename(world.at("policy.yaml"), world.at("policy.yaml~")).unwrap();
    world.write("policy.yaml", &policy(7, ""));
    world.until_generation(3).await;
    assert_eq!((world.limit(), world.metrics.reloads.failed.get()), (7, 0));
}

#[tokio::test]
async fn a_link_in_the_path_may_lead_elsewhere() {
    let world = World::empty();
    for release in ["1", "2"] {
        fs::create_dir_all(world.at("releases").join(release)).unwrap();
        let limit = release.parse().unwrap();
        fs::write(world.at("releases").join(release).join("policy.yaml"), policy(limit, "")).unwrap();
    }
    symlink("releases/1", world.at("current")).unwrap();
    let mut world = world.start_at("current/policy.yaml").await.run();
    symlink("releases/2", world.at("next")).unwrap();
    fs::rename(world.at("next"), world.at("current")).unwrap();
    world.until_generation(2).await;
    assert_eq!(world.limit(), 2);
    // What it leads to now is watched, too.
    fs::write(world.at("releases/2/policy.yaml"), policy(3, "")).unwrap();
    world.until_generation(3).await;
    assert_eq!(world.limit(), 3);
}

#[tokio::test]
async fn a_bad_document_keeps_the_old_one_in_force_and_the_next_good_one_recovers() {
    let mut world = World::with(&policy(5, "")).await.run();
    let bad = policy(5, "").replace("fixed_window", "fixed_windows");
    world.write("policy.yaml", &bad);
    let refused = world.until(|outcome| outcome.refused.is_some()).await;
    assert_eq!((refused.generation, world.limit()), (1, 5));
    let why = refused.refused.unwrap();
    let file = world.at("policy.yaml").display().to_string();
    assert!(why.starts_with(&format!("{file}:4:")) && why.contains("`fixed_windows`"), "{why}");
    let line = world.line("not reloaded: the previous policy stays in force").await;
    assert_eq!((&line["level"], &line["why"]), (&"ERROR".into(), &why.into()));
    assert_eq!(world.metrics.reloads.failed.get(), 1);
    world.write("policy.yaml", &policy(6, ""));
    let good = world.until_generation(2).await;
    assert_eq!((good.refused, world.limit()), (None, 6));
}

#[tokio::test]
async fn consumers_alone_may_change() {
    let world = World::empty();
    let tiers = "tiers: { from: consumers, names: [free, gold], default: free }\nconsumers: consumers.csv\n";
    world.write("policy.yaml", &format!("{}{tiers}", policy(5, "")));
    let head = "key_sha256,consumer,tier\n";
    let ada = |tier: &str| format!("{},ada,{tier}\n", "a".repeat(64));
    world.write("consumers.csv", &format!("{head}{}", ada("free")));
    let mut world = world.start().await.run();
    let bob = format!("{},bob,gold\n", "b".repeat(64));
    world.write("consumers.csv", &format!("{head}{}{bob}", ada("free")));
    world.until_generation(2).await;
    let directory = world.live.load().limits.directory().map(|directory| directory.consumers().len());
    assert_eq!(directory, Some(2));
    let line = world.line("reloaded").await;
    assert_eq!(line["changed"], "1 consumers became 2");
    world.write("consumers.csv", &format!("{head}{}", ada("silver")));
    let refused = world.until(|outcome| outcome.refused.is_some()).await.refused.unwrap();
    assert!(refused.contains("consumers.csv:2"), "{refused}");
}

#[tokio::test]
async fn a_file_that_was_deleted_is_loaded_when_it_is_back() {
    let mut world = World::with(&policy(5, "")).await.run();
    fs::remove_file(world.at("policy.yaml")).unwrap();
    let refused = world.until(|outcome| outcome.refused.is_some()).await.refused.unwrap();
    assert!(refused.ends_with("cannot be read: there is no such file"), "{refused}");
    assert_eq!(world.limit(), 5);
    world.write("policy.yaml", &policy(5, ""));
    world.until(|outcome| outcome.refused.is_none() && outcome.generation == 2).await;
}

#[tokio::test]
async fn a_folder_that_was_deleted_is_watched_when_it_is_back() {
    let world = World::empty();
    fs::create_dir(world.at("sub")).unwrap();
    world.write("sub/policy.yaml", &policy(5, ""));
    let mut world = world.start_at("sub/policy.yaml").await.run();
    fs::remove_dir_all(world.at("sub")).unwrap();
    world.until(|outcome| outcome.refused.is_some()).await;
    fs::create_dir(world.at("sub")).unwrap();
    world.write("sub/policy.yaml", &policy(6, ""));
    world.until_generation(2).await;
    world.write("sub/policy.yaml", &policy(7, ""));
    world.until_generation(3).await;
    assert_eq!(world.limit(), 7);
}

#[tokio::test]
async fn what_changed_between_loading_and_watching_is_noticed() {
    let world = World::with(&policy(5, "")).await;
    world.write("policy.yaml", &policy(6, ""));
    let mut world = world.run();
    world.until_generation(2).await;
    assert_eq!(world.limit(), 6);
}

#[tokio::test]
async fn a_poll_alone_notices() {
    let mut world = World::with(&policy(5, "")).await.run_by_poll(DEBOUNCE);
    world.write("policy.yaml", &policy(6, ""));
    world.until_generation(2).await;
    assert_eq!((world.limit(), world.metrics.reloads.watching.get()), (6, 0));
}

#[tokio::test]
async fn what_holds_the_same_is_not_loaded_again() {
    let mut world = World::with(&policy(5, "")).await.run();
    // Touched, and then changed: had the touch been a change, there would be two attempts.
    world.write("policy.yaml", &policy(5, ""));
    world.write("unrelated.yaml", "x");
    world.write("policy.yaml", &policy(6, ""));
    assert_eq!(world.until_generation(2).await.attempts, 1);
    assert_eq!(world.metrics.reloads.watching.get(), 1);
}

#[tokio::test]
async fn a_hang_up_loads_though_nothing_changed() {
    // The only test that catches the signal, and the process survives it from here on.
    let asked = hang_ups().unwrap();
    let mut world = World::with(&policy(5, "")).await.run_asked(asked);
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", "HUP", &std::process::id().to_string()]).status().unwrap();
    assert!(sent.success());
    world.until_generation(2).await;
    assert_eq!(world.line("reloaded").await["changed"], "no limit, operation or setting");
}

#[tokio::test]
async fn keys_of_tokens_are_among_the_files() {
    let world = World::empty();
    let key = r#"{"keys":[{"kty":"oct","kid":"1","alg":"HS256","k":"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"}]}"#;
    world.write("policy.yaml", &format!("{}jwt: {{ jwks: keys.json }}\n", policy(5, "")));
    world.write("keys.json", key);
    let mut world = world.start().await.run();
    world.write("keys.json", &key.replace("\"1\"", "\"2\""));
    world.until_generation(2).await;
    world.write("keys.json", "no keys");
    let refused = world.until(|outcome| outcome.refused.is_some()).await.refused.unwrap();
    assert!(refused.contains("keys.json gives no keys"), "{refused}");
}

#[tokio::test]
async fn a_folder_where_something_happens_all_the_time_is_read_all_the_same() {
    let (happened, mut events) = mpsc::channel(1);
    let busy = async { while happened.send(()).await.is_ok() {} };
    tokio::select! {
        settled = timeout(PATIENCE, settle(&mut events)) => assert!(settled.is_ok()),
        () = busy => panic!("somebody listens"),
    }
}

#[tokio::test]
async fn of_many_errors_the_first_are_told_and_the_others_counted() {
    let world = World::empty();
    let routes =
        (0..7).map(|route| format!("  - path: /{route}\n    rate_limit: {{ algorithm: none{route} }}\n"));
    world.write("policy.yaml", &format!("tollgate: 1\nroutes:\n{}", routes.collect::<String>()));
    let refused = load(&world.at("policy.yaml").display().to_string()).expect_err("nothing in it is right");
    let said = refused.sentence();
    assert!(
        said.contains("`none4`") && !said.contains("`none5`") && said.ends_with("; and 2 more"),
        "{said}"
    );
}

#[tokio::test]
async fn it_ends_when_it_is_told_to() {
    let world = World::with(&policy(5, "")).await.run();
    let (stop, running) = world.into_parts();
    stop.send(()).unwrap();
    timeout(PATIENCE, running).await.expect("it ends").unwrap();
}
