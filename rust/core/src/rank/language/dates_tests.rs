#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::super::periods::{date, month, year};
use super::super::{ENGLISH, GERMAN, SPANISH};
use super::*;

/// Thursday, 11 May 2023.
fn today() -> i32 {
    on(2023, 5, 11)
}

fn on(year: i32, month: i32, day: i32) -> i32 {
    date(year, month, day).unwrap()
}

fn day(year: i32, month: i32, day: i32) -> Period {
    Period::day(on(year, month, day))
}

fn between(from: (i32, i32), to: (i32, i32)) -> Period {
    Period { first: on(2023, from.0, from.1), last: on(2023, to.0, to.1) }
}

fn read(text: &str, sense: Sense, language: &Language) -> Vec<Period> {
    found(text, sense, Some(language)).periods
}

fn found(text: &str, sense: Sense, language: Option<&Language>) -> Times {
    times(text, &super::super::words::words(text), today(), sense, language)
}

fn said(text: &str) -> Vec<Period> {
    read(text, Sense::Said, &ENGLISH)
}

fn check(language: &Language, cases: &[(&str, Period)]) {
    for (text, period) in cases {
        assert_eq!(read(text, Sense::Said, language), [*period], "{text}");
    }
}

#[test]
fn english_dates_of_the_calendar() {
    check(
        &ENGLISH,
        &[
            ("we met on 8 May 2023", day(2023, 5, 8)),
            ("May 8th, 2022 was the day", day(2022, 5, 8)),
            ("the 3rd of June", day(2023, 6, 3)),
            ("on march 5", day(2023, 3, 5)),
            ("in July 2021", month(2021, 7)),
            ("I moved in March", month(2023, 3)),
            ("we leave in August", month(2023, 8)),
            ("what happened in 2019?", year(2019)),
            ("on 2023-05-08 at noon", day(2023, 5, 8)),
        ],
    );
}

#[test]
fn english_times_told_from_today() {
    check(
        &ENGLISH,
        &[
            ("I saw her yesterday", day(2023, 5, 10)),
            ("the day before yesterday", day(2023, 5, 9)),
            ("tomorrow we fly", day(2023, 5, 12)),
            ("last night was fun", day(2023, 5, 10)),
            ("this morning", day(2023, 5, 11)),
            ("last Friday", day(2023, 5, 5)),
            ("next Monday", day(2023, 5, 15)),
            ("last week", between((5, 1), (5, 7))),
            ("this weekend", between((5, 13), (5, 14))),
            ("next month", month(2023, 6)),
            ("last year", year(2022)),
            ("two days ago", day(2023, 5, 9)),
            ("three weeks ago", between((4, 17), (4, 23))),
            ("a couple of weeks ago", between((4, 24), (4, 30))),
            ("4 years ago", year(2019)),
            ("in two weeks", between((5, 22), (5, 28))),
            ("the past two weeks", between((4, 27), (5, 11))),
            ("in the last month", between((4, 11), (5, 11))),
            ("the past week", between((5, 4), (5, 11))),
            ("the last weekend", between((5, 6), (5, 7))),
            ("last summer", Period { first: on(2022, 6, 1), last: on(2022, 8, 31) }),
            ("last March", month(2023, 3)),
        ],
    );
}

#[test]
fn a_time_may_be_told_from_another_one() {
    check(
        &ENGLISH,
        &[
            ("the week before 16 November 2022", Period { first: on(2022, 11, 9), last: on(2022, 11, 15) }),
            ("the Sunday before October 25, 2022", day(2022, 10, 23)),
            ("two weeks before August 11, 2022", Period { first: on(2022, 7, 25), last: on(2022, 7, 31) }),
            ("last weekend before April 10, 2023", between((4, 8), (4, 9))),
            ("the day after 2023-04-10", day(2023, 4, 11)),
        ],
    );
}

#[test]
fn a_weekday_alone_may_be_the_last_or_the_coming_one() {
    assert_eq!(said("see you on Friday"), [day(2023, 5, 5), day(2023, 5, 12)]);
    assert_eq!(said("it is Thursday"), [day(2023, 5, 4), day(2023, 5, 11), day(2023, 5, 18)]);
}

#[test]
fn a_question_without_a_year_means_the_last_or_the_coming_one() {
    assert_eq!(read("what did we do in July?", Sense::Asked, &ENGLISH), [month(2022, 7), month(2023, 7)]);
    assert_eq!(read("who came in May?", Sense::Asked, &ENGLISH), [month(2023, 5)]);
}

#[test]
fn verbs_habits_and_spans_are_no_dates() {
    for text in [
        "",
        "May I come in?",
        "what may be wrong with it",
        "MAY WE COME",
        "how do soldiers march",
        "March on!",
        "who will last longer",
        "what is my weekly budget",
        "how long is a year",
        "I second that, 3 times",
        "I run on Tuesdays",
        "every Friday we swim",
        "a day has hours",
        "12345 people",
    ] {
        assert_eq!(said(text), [], "{text}");
    }
}

#[test]
fn a_time_that_no_day_can_be_told_from_is_named() {
    let names = |text: &str| {
        let times = found(text, Sense::Asked, Some(&ENGLISH));
        (times.names_date, times.names_time)
    };
    assert_eq!(names("How many days ago did I call?"), (true, true));
    assert_eq!(names("I lived there for three years"), (false, true));
    assert_eq!(names("yesterday"), (true, true));
    assert_eq!(names("the days were long"), (false, false));
}

#[test]
fn german_dates() {
    check(
        &GERMAN,
        &[
            ("am 8. Mai 2023", day(2023, 5, 8)),
            ("der 3. Juni", day(2023, 6, 3)),
            ("am 8.5.2023 um zehn", day(2023, 5, 8)),
            ("im März", month(2023, 3)),
            ("vorgestern war es kalt", day(2023, 5, 9)),
            ("gestern Abend", day(2023, 5, 10)),
            ("heute Morgen", day(2023, 5, 11)),
            ("morgen fliegen wir", day(2023, 5, 12)),
            ("letzten Freitag", day(2023, 5, 5)),
            ("nächste Woche", between((5, 15), (5, 21))),
            ("vergangenen Monat", month(2023, 4)),
            ("vor zwei Wochen", between((4, 24), (4, 30))),
            ("vor ein paar Tagen", day(2023, 5, 8)),
            ("vor einem Jahr", year(2022)),
            ("in drei Tagen", day(2023, 5, 14)),
            ("die letzten zwei Wochen", between((4, 27), (5, 11))),
            ("letzten Sommer", Period { first: on(2022, 6, 1), last: on(2022, 8, 31) }),
            ("die Woche vor dem 16. November 2022", Period { first: on(2022, 11, 9), last: on(2022, 11, 15) }),
        ],
    );
    for text in ["Guten Morgen!", "jeden Freitag", "vor dem Haus", "ein Jahr lang", "am Morgen trinke ich Tee"] {
        assert_eq!(read(text, Sense::Said, &GERMAN), [], "{text}");
    }
}

#[test]
fn spanish_dates() {
    check(
        &SPANISH,
        &[
            ("el 8 de mayo de 2023", day(2023, 5, 8)),
            ("el 3 de junio", day(2023, 6, 3)),
            ("en marzo", month(2023, 3)),
            ("anteayer hizo frío", day(2023, 5, 9)),
            ("ayer por la mañana", day(2023, 5, 10)),
            ("esta mañana", day(2023, 5, 11)),
            ("mañana volamos", day(2023, 5, 12)),
            ("pasado mañana", day(2023, 5, 13)),
            ("el viernes pasado", day(2023, 5, 5)),
            ("el próximo lunes", day(2023, 5, 15)),
            ("la semana pasada", between((5, 1), (5, 7))),
            ("el mes que viene", month(2023, 6)),
            ("el año pasado", year(2022)),
            ("este fin de semana", between((5, 13), (5, 14))),
            ("el fin de semana pasado", between((5, 6), (5, 7))),
            ("hace dos semanas", between((4, 24), (4, 30))),
            ("hace un par de semanas", between((4, 24), (4, 30))),
            ("dentro de tres días", day(2023, 5, 14)),
            ("el último mes", between((4, 11), (5, 11))),
            ("las últimas dos semanas", between((4, 27), (5, 11))),
            ("la semana antes del 16 de noviembre de 2022", Period { first: on(2022, 11, 9), last: on(2022, 11, 15) }),
        ],
    );
    for text in ["por la mañana", "los viernes nado", "un año entero", "en la mesa"] {
        assert_eq!(read(text, Sense::Said, &SPANISH), [], "{text}");
    }
}

#[test]
fn without_a_language_words_say_nothing() {
    let times = found("yesterday, in May, on 2023-05-08", Sense::Said, None);
    assert_eq!(times.periods, [day(2023, 5, 8)]);
}

#[test]
fn a_long_text_keeps_so_many_periods_and_no_more() {
    let text: String = (1900..2099).fold(String::new(), |text, year| text + &year.to_string() + " ");
    assert_eq!(said(&text).len(), MOST);
}

/// Words of a language's lists, and others.
fn words_of(language: &'static Language) -> Vec<&'static str> {
    let dates = &language.dates;
    let phrases = dates.day_phrases.iter().map(|(phrase, _)| *phrase);
    let phrases = phrases.chain(dates.unit_phrases.iter().map(|(phrase, _)| *phrase));
    let lists = [dates.rolling, dates.since, dates.ahead, dates.ago, dates.before, dates.after, dates.links];
    let phrases = phrases.chain(lists.into_iter().flatten().copied());
    let phrases = phrases.chain(dates.months).chain(dates.weekdays).chain([dates.last, dates.this, dates.next]);
    let phrases = phrases.chain(dates.maybe_months.iter().map(|(names, _)| *names));
    let phrases = phrases.chain(dates.days.iter().chain(dates.numbers).map(|(names, _)| *names));
    let phrases = phrases.chain(dates.units.iter().map(|(names, _)| *names));
    let others = ["cat", "May", "3rd", "16", "2022", "400", "12345", "2023-05-08", "5/8/2023", "x1"];
    phrases.flat_map(str::split_whitespace).chain(others).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn a_date_begins_only_where_it_may(
        language in prop::sample::select(vec![&ENGLISH, &GERMAN, &SPANISH]),
        picked in proptest::collection::vec(any::<prop::sample::Index>(), 1..9),
    ) {
        let all = words_of(language);
        let text = picked.iter().map(|index| *index.get(&all)).collect::<Vec<_>>().join(" ");
        let words = super::super::words::words(&text);
        let known = words.iter().map(|word| language.lexicon.known(&word.lower)).collect();
        let in_digits: Vec<_> = digits::dates(&text, language.dates.month_first).collect();
        let sense = Sense::Said;
        let reader = Reader { words: &words, known, dates: &language.dates, in_digits: &in_digits, today: today(), sense };
        for at in 0..words.len() {
            prop_assert!(reader.may_begin(at) || reader.date_at(at).is_none(), "word {at} of {text:?}");
        }
    }
}
