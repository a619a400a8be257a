//! The floors of the workspace: each package may name those below it, never one above.
//!
//! ```text
//! formats <- indexes <- core <- experiments <- benches <- cli
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Folder and package of every floor, lowest first.
const FLOORS: [(&str, &str); 6] = [
    ("formats", "kiban-formats"),
    ("indexes", "kiban-indexes"),
    ("core", "kiban"),
    ("experiments", "kiban-experiments"),
    ("benches", "kiban-benches"),
    ("cli", "kiban-cli"),
];

/// The only package of ours that an experiment may name: it stands where an outsider stands.
const PUBLIC_FACE: &str = "kiban";

/// What `cargo metadata` says of one package, as far as the rules need it.
#[derive(Clone)]
struct Package {
    name: String,
    /// Path of the package's folder from the workspace root, `/` between the parts.
    folder: String,
    edges: Vec<Edge>,
}

/// One dependency: normal, build or dev.
#[derive(Clone)]
struct Edge {
    to: String,
    dev: bool,
    /// Named by a path, so it is a package of ours or lies outside the workspace.
    local: bool,
}

fn floor_of(name: &str) -> Option<usize> {
    FLOORS.iter().position(|&(_, package)| package == name)
}

/// Every broken rule as one sentence; empty if the workspace stands as it should.
fn broken_rules(packages: &[Package]) -> Vec<String> {
    let mut broken = Vec::new();
    for (folder, name) in FLOORS {
        match packages.iter().find(|package| package.name == name) {
            None => broken.push(format!("package `{name}` is missing")),
            Some(package) if package.folder != folder => {
                broken.push(format!("package `{name}` lies in `{}`, not in `{folder}`", package.folder));
            }
            Some(_) => {}
        }
    }
    for package in packages {
        match floor_of(&package.name) {
            None => broken.push(format!("package `{}` has no floor", package.name)),
            Some(floor) => {
                broken.extend(package.edges.iter().filter_map(|edge| broken_edge(package, floor, edge)))
            }
        }
    }
    broken
}

fn broken_edge(package: &Package, floor: usize, edge: &Edge) -> Option<String> {
    let from = &package.name;
    let Some(target) = floor_of(&edge.to) else {
        return edge.local.then(|| format!("`{from}` depends on `{}`, outside the workspace", edge.to));
    };
    // A package may name itself for its own tests, to switch its features on.
    let itself = target == floor && edge.dev && from == PUBLIC_FACE;
    if target >= floor && !itself {
        return Some(format!("`{from}` depends on `{}`, which is not below it", edge.to));
    }
    if from == "kiban-experiments" && edge.to != PUBLIC_FACE {
        return Some(format!("`{from}` depends on `{}`; an experiment names only `{PUBLIC_FACE}`", edge.to));
    }
    None
}

/// The packages of the workspace, from the text that `cargo metadata --no-deps` prints.
fn parse(metadata: &Value) -> Vec<Package> {
    let root = Path::new(text(&metadata["workspace_root"]));
    array(&metadata["packages"])
        .iter()
        .map(|package| {
            let manifest = Path::new(text(&package["manifest_path"]));
            let folder = manifest.parent().unwrap().strip_prefix(root).unwrap();
            let parts: Vec<_> = folder.iter().map(|part| part.to_str().unwrap()).collect();
            Package {
                name: text(&package["name"]).to_owned(),
                folder: parts.join("/"),
                edges: array(&package["dependencies"]).iter().map(parse_edge).collect(),
            }
        })
        .collect()
}

fn parse_edge(dependency: &Value) -> Edge {
    Edge {
        to: text(&dependency["name"]).to_owned(),
        dev: dependency["kind"].as_str() == Some("dev"),
        local: dependency["path"].is_string(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a string was expected, found {value}"))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("an array was expected, found {value}"))
}

/// This workspace as cargo sees it.
fn workspace() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    parse(&serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn every_edge_of_the_workspace_runs_downwards() {
    let packages = workspace();
    // The reading itself works: the program does depend on the engine.
    let cli = packages.iter().find(|package| package.name == "kiban-cli").unwrap();
    assert!(cli.edges.iter().any(|edge| edge.to == "kiban" && edge.local), "edges are not read");
    assert_eq!(broken_rules(&packages), Vec::<String>::new());
}

/// A workspace without fault, for the tests of the rules themselves.
fn sound() -> Vec<Package> {
    FLOORS
        .iter()
        .map(|&(folder, name)| Package { name: name.into(), folder: folder.into(), edges: Vec::new() })
        .collect()
}

/// The rules broken by `sound()` with one more edge.
fn with_edge(from: &str, to: &str, dev: bool, local: bool) -> Vec<String> {
    let mut packages = sound();
    let package = packages.iter_mut().find(|package| package.name == from).unwrap();
    package.edges.push(Edge { to: to.into(), dev, local });
    broken_rules(&packages)
}

#[test]
fn an_edge_upwards_is_refused_also_from_tests() {
    for dev in [false, true] {
        assert_eq!(
            with_edge("kiban-formats", "kiban", dev, true),
            ["`kiban-formats` depends on `kiban`, which is not below it"]
        );
        assert_eq!(with_edge("kiban-indexes", "kiban-cli", dev, true).len(), 1);
    }
    assert!(with_edge("kiban", "kiban-formats", false, true).is_empty());
    assert!(with_edge("kiban-cli", "serde", false, false).is_empty());
}

#[test]
fn only_the_engine_may_name_itself_and_only_for_tests() {
    assert!(with_edge("kiban", "kiban", true, true).is_empty());
    assert_eq!(with_edge("kiban", "kiban", false, true).len(), 1);
    assert_eq!(with_edge("kiban-formats", "kiban-formats", true, true).len(), 1);
}

#[test]
fn an_experiment_names_only_the_public_crate() {
    assert!(with_edge("kiban-experiments", "kiban", false, true).is_empty());
    assert_eq!(with_edge("kiban-experiments", "kiban-formats", false, true).len(), 1);
}

#[test]
fn a_path_out_of_the_workspace_is_refused() {
    assert_eq!(with_edge("kiban", "somewhere-else", false, true).len(), 1);
}

#[test]
fn a_strange_a_missing_and_a_moved_package_are_refused() {
    let mut extra = sound();
    extra.push(Package { name: "core".into(), folder: "other".into(), edges: Vec::new() });
    assert_eq!(broken_rules(&extra), ["package `core` has no floor"]);

    let mut missing = sound();
    missing.remove(1);
    assert_eq!(broken_rules(&missing), ["package `kiban-indexes` is missing"]);

    let mut moved = sound();
    moved[2].folder = "engine".into();
    assert_eq!(broken_rules(&moved), ["package `kiban` lies in `engine`, not in `core`"]);
}
