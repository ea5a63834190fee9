//! Reads a JSON list of texts, writes the list of their token estimates. For `scripts/calibrate_tokens.py`.
use std::io::{Error, Read as _};

fn main() -> Result<(), Error> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let texts: Vec<serde_json::Value> = serde_json::from_str(&input)?;
    let estimates: Vec<u32> =
        texts.iter().map(|text| retentive_core::tokens::estimate(text.as_str().unwrap_or_default())).collect();
    println!("{}", serde_json::Value::from(estimates));
    Ok(())
}
