#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::error::Error;

fn analyzer(language: &str) -> Analyzer {
    Analyzer::new(language).unwrap()
}

fn english(text: &str) -> Vec<String> {
    analyzer("english").strings(text)
}

/// Every term of the query is among the terms of the text, and there is one.
fn finds(text: &str, query: &str) -> bool {
    let analyzer = analyzer("english");
    let stored = analyzer.counts(text);
    let query = analyzer.query_terms(query);
    let has = |term: &Term| stored.binary_search_by_key(&term.hash, |(hash, _)| *hash).is_ok();
    !query.is_empty() && query.iter().all(has)
}

#[test]
fn hash_is_frozen() {
    assert_eq!(term_hash(""), 0x2d06_8005_38d3_94c2);
    assert_eq!(term_hash("a"), 0xe6c6_32b6_1e96_4e1f);
    assert_eq!(term_hash("abc"), 0x78af_5f94_892f_3950);
}

#[test]
fn one_analyzer_serves_all_threads() {
    fn assert_shared<T: Send + Sync>(_: &T) {}
    assert_shared(&analyzer("english"));
}

#[test]
fn an_unknown_language_names_the_known_ones() {
    let Err(Error::InvalidInput(message)) = Analyzer::new("English") else { unreachable!() };
    assert!(message.contains("\"English\"") && message.contains("german") && message.contains("none"), "{message}");
}

#[test]
fn prose_is_stemmed_without_stop_words() {
    assert_eq!(english("The user's reports were running, and running!"), ["user", "report", "run", "run"]);
    assert_eq!(english("It's what we'll have; they’ve been there."), Vec::<String>::new());
    assert_eq!(analyzer("none").strings("The Running it's"), ["the", "running", "its"]);
    assert_eq!(analyzer("german").strings("Die Häuser der Straße"), ["haus", "strass"]);
    assert_eq!(analyzer("french").strings("l'homme et les chevaux"), ["homm", "cheval"]);
    assert_eq!(analyzer("russian").strings("я люблю книги"), ["любл", "книг"]);
}

#[test]
fn stop_words_in_any_case_and_contracted() {
    let english = analyzer("english");
    for word in ["the", "The", "IT'S", "we’ll", "I"] {
        assert!(english.is_stop(word), "{word}");
    }
    for word in ["report", "don't", "", "c"] {
        assert!(!english.is_stop(word), "{word}");
    }
    assert!(!analyzer("none").is_stop("the"));
    assert!(english.terms("what was it").is_empty());
}

#[test]
fn identifiers_are_kept_whole_and_in_parts() {
    for (text, expected) in [
        ("C++", vec!["c++", "c"]),
        ("(C#).", vec!["c#", "c"]),
        (".NET,", vec![".net", "net"]),
        ("src/a.rs", vec!["src/a.rs", "src", "a.rs", "rs"]),
        ("\"ORD-1042\"!", vec!["ord-1042", "ord", "1042"]),
        ("foo_bar", vec!["foo_bar", "foo", "bar"]),
        ("getUserName", vec!["getusernam", "get", "user", "name"]),
        ("HTTPServer", vec!["httpserver", "http", "server"]),
        ("x:b", vec!["x:b", "x", "b"]),
        ("v1.2.3", vec!["v1.2.3", "v1", "2", "3"]),
        ("1,000", vec!["1000"]),
        ("1,5", vec!["1", "5"]),
        ("me@example.com", vec!["me@example.com", "example.com", "exampl", "com"]),
        ("wait...what--stop", vec!["wait", "stop"]),
        ("**bold**", vec!["bold"]),
        ("rm -rf", vec!["rm", "rf"]),
        ("'quoted'", vec!["quot"]),
        ("don't", vec!["dont"]),
        ("foo(bar)", vec!["foo", "bar"]),
        ("C++/Rust", vec!["c++/rust", "c++", "c", "rust"]),
    ] {
        assert_eq!(english(text), expected, "{text}");
    }
    let url = english("https://my-site.example.com/docs/a.rs?x=1");
    for part in ["https://my-site.example.com/docs/a.rs?x=1", "my-site.example.com", "doc", "a.rs", "exampl", "x", "1"]
    {
        assert!(url.contains(&part.to_owned()), "{part} in {url:?}");
    }
}

#[test]
fn queries_are_text_never_syntax() {
    for (text, query) in [
        ("please say hi to them", "say \"hi"),
        ("I use python daily", "(python"),
        ("ratio a:b here", "a:b"),
        ("foo bar", "foo AND"),
        ("never run rm -rf", "rm -rf"),
        ("written in C++.", "C++"),
        ("I don't like it", "don't"),
        ("I don’t like it", "dont"),
        ("see src/a.rs, line 3", "src/a.rs"),
        ("2 * 3", "*"),
        ("a -> b", "->"),
        ("great 👍🏽 job", "👍"),
        ("great 👍🏽 job", "👍🏽"),
        ("by 👩‍💻", "💻"),
        ("❤️", "❤"),
        ("in 🇫🇷!", "🇫🇷"),
        ("price 5€", "€"),
        ("Straße", "STRASSE"),
        ("cafe\u{301}", "CAFÉ"),
        ("ΟΔΟΣ", "οδος"),
        ("ﾊﾟｿｺﾝ", "パソコン"),
        ("می‌خواهم", "میخواهم"),
    ] {
        assert!(finds(text, query), "{query} in {text}: {:?}", english(text));
    }
    assert!(!finds("in 🇫🇷", "🇩🇪"));
    assert_eq!(english("... -- ?! () \"\" |"), Vec::<String>::new());
}

#[test]
fn inner_words_of_scripts_without_spaces_are_found() {
    for text in [
        "我昨天在北京的图书馆借了三本书",
        "昨日は東京タワーへ行きました",
        "어제서울타워에갔습니다",
        "เมื่อวานฉันไปเที่ยวเชียงใหม่",
        "ຂ້ອຍຢູ່ວຽງຈັນ",
        "ខ្ញុំរស់នៅភ្នំពេញ",
        "ကျွန်တော်ရန်ကုန်မှာနေတယ်",
    ] {
        let characters: Vec<char> = text.chars().collect();
        for length in [1, 2, 4] {
            for window in characters.windows(length) {
                let query: String = window.iter().collect();
                if !script::continues(window[0]) {
                    assert!(finds(text, &query), "{query:?} in {text}");
                }
            }
        }
    }
    assert!(!finds("北京", "东京"));
}

#[test]
fn words_of_scripts_with_spaces_are_found() {
    for (text, query) in [
        ("Мы встретились в Москве", "Москве"),
        ("ذهبت إلى المكتبة أمس", "المكتبة"),
        ("הלכתי לספרייה אתמול", "לספרייה"),
        ("मैं कल दिल्ली गया", "दिल्ली"),
        ("Πήγα στην Αθήνα", "ΑΘΉΝΑ"),
        ("我用Python写代码", "python"),
        ("我的iPhone手机", "手机"),
        ("我的iPhone手机", "iphone"),
        ("2024年5月", "2024"),
        ("2024年5月", "年"),
    ] {
        assert!(finds(text, query), "{query} in {text}: {:?}", english(text));
    }
}

#[test]
fn queries_leave_out_single_characters_of_runs() {
    let analyzer = analyzer("english");
    assert_eq!(analyzer.query_terms("东京塔").len(), 2);
    assert_eq!(analyzer.query_terms("塔").len(), 1);
    assert_eq!(analyzer.strings("东京塔"), ["东", "东京", "京", "京塔", "塔"]);
}

#[test]
fn spans_point_into_the_text() {
    let text = "Ｈéllo, the user's src/a.rs 东京 ﾊﾟ 👍🏽!";
    let spans: Vec<&str> = analyzer("english").terms(text).iter().map(|term| &text[term.start..term.end]).collect();
    assert_eq!(spans, ["Ｈéllo", "user's", "src/a.rs", "src", "a.rs", "rs", "东", "东京", "京", "ﾊﾟ", "👍🏽", "👍"]);
}

#[test]
fn hostile_texts_take_linear_time() {
    let analyzer = analyzer("english");
    for unit in ["y", "a.", "/", "\u{301}", "👩‍", "aB", "'", "1,000", "ｶﾞ", "东"] {
        assert!(analyzer.terms(&unit.repeat(40_000)).len() < 300_000, "{unit}");
    }
}

fn languages() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "arabic",
        "danish",
        "dutch",
        "english",
        "finnish",
        "french",
        "german",
        "greek",
        "hungarian",
        "italian",
        "none",
        "norwegian",
        "portuguese",
        "romanian",
        "russian",
        "spanish",
        "swedish",
        "tamil",
        "turkish",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_text_gives_valid_spans_and_matching_counts(text in "\\PC{0,60}", language in languages()) {
        let analyzer = analyzer(language);
        let terms = analyzer.terms(&text);
        prop_assert!(terms.iter().all(|term| term.start < term.end && text.get(term.start..term.end).is_some()));
        prop_assert_eq!(terms.len(), analyzer.strings(&text).len());
        let counts = analyzer.counts(&text);
        prop_assert!(counts.is_sorted_by(|a, b| a.0 < b.0));
        prop_assert_eq!(counts.iter().map(|(_, tf)| *tf as usize).sum::<usize>(), terms.len());
        prop_assert!(analyzer.query_terms(&text).iter().all(|term| counts.iter().any(|(hash, _)| *hash == term.hash)));
    }

    #[test]
    fn words_of_any_script_never_panic(
        text in "[a-zäöüßéèçñøåæœşğıİа-яёα-ωςάأ-يا-هـًஅ-ஹா-ௌ்'’ ]{0,40}", language in languages(),
    ) {
        let _ = analyzer(language).counts(&text);
    }
}

/// `cargo test --release -p retentive-core speed_of_analysis -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn speed_of_analysis() {
    let analyzer = analyzer("english");
    for (name, text) in [
        (
            "30 words",
            "Hey Mel! I went to a support group yesterday and it was so powerful. The stories were inspiring and I was so happy and thankful for all the support from my friends there",
        ),
        ("30 Chinese characters", "我昨天在北京的图书馆借了三本书，今天打算去上海看望我的老朋友小王。"),
        ("30 Russian words", &"Вчера мы встретились с друзьями в парке и говорили о книгах. ".repeat(3)),
    ] {
        let start = Instant::now();
        for _ in 0..20_000 {
            std::hint::black_box(analyzer.counts(std::hint::black_box(text)));
        }
        println!("{name}: {:?}", start.elapsed() / 20_000);
    }
}
