//! The targets without libFuzzer: over the corpus that is kept, and over bytes made from it.
use std::path::Path;

/// Changed copies of each input.
const CHANGED: u64 = 40;
/// Inputs of random bytes a target.
const RANDOM: u64 = 400;

fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut chance = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed >> 20
    };
    let mut inputs = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        check(&bytes);
        for _ in 0..CHANGED {
            let mut changed = bytes.clone();
            for _ in 0..=chance() % 4 {
                let at = chance() as usize % (changed.len() + 1);
                if chance() % 3 == 0 {
                    changed.insert(at, chance() as u8);
                } else if let Some(byte) = changed.get_mut(at) {
                    *byte = chance() as u8;
                }
            }
            check(&changed);
        }
        inputs += 1 + CHANGED;
    }
    assert!(inputs > 0, "no corpus in {}", folder.display());
    for _ in 0..RANDOM {
        let bytes: Vec<u8> = (0..chance() % 600).map(|_| chance() as u8).collect();
        check(&bytes);
    }
    println!("counted fuzz_inputs {}", inputs + RANDOM);
}

#[test]
fn analysis_takes_any_text() {
    run("analysis", retentive_fuzz::analysis::check);
}

#[test]
fn filters_answer_or_refuse() {
    run("filters", retentive_fuzz::filters::check);
}

#[test]
fn packing_keeps_to_the_budget_of_any_counter() {
    run("packing", retentive_fuzz::packing::check);
}

#[test]
fn operations_agree_with_a_plain_map() {
    run("operations", retentive_fuzz::operations::check);
}
