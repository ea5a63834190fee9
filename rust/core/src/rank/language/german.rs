//! German.
use std::sync::LazyLock;

use super::Language;
use super::asks::QuestionWords;
use super::lexicon::{DateWords, Lexicon, Unit};
use super::talk::TalkWords;

pub static GERMAN: Language = Language {
    name: "german",
    dates: DATES,
    lexicon: LazyLock::new(|| Lexicon::new(&DATES)),
    questions: QUESTIONS,
    talk: TALK,
    capitals: &["ich", "sie", "ihr", "ihre", "ihnen", "ihren", "ihrem", "ihrer", "ok", "okay", "ja", "nein"],
    name_signs: Some(&[
        "in",
        "nach",
        "aus",
        "bei",
        "von",
        "mit",
        "für",
        "an",
        "heißt",
        "hieß",
        "namens",
        "frau",
        "herr",
        "herrn",
        "firma",
        "und",
        "war",
        "ist",
        "hat",
        "bin",
        "ruf",
        "meine",
        "mein",
        "meiner",
        "meinem",
        "meinen",
        "freundin",
        "freund",
        "schwester",
        "bruder",
        "stadt",
        "marke",
    ]),
    related: None,
};

#[rustfmt::skip]
const DATES: DateWords = DateWords {
    months: [
        "januar jänner jaenner", "februar feber", "märz maerz", "april", "mai", "juni", "juli", "august", "september", "oktober",
        "november", "dezember",
    ],
    maybe_months: &[
        ("jan", 1), ("feb", 2), ("mär", 3), ("apr", 4), ("jun", 6), ("jul", 7), ("aug", 8), ("sep sept", 9), ("okt", 10), ("nov", 11),
        ("dez", 12),
    ],
    month_signs: &["im", "in", "seit", "bis", "ab", "anfang", "mitte", "ende", "letzten", "nächsten", "diesen"],
    weekdays: [
        "montag montagmorgen montagvormittag montagnachmittag montagabend montagnacht",
        "dienstag dienstagmorgen dienstagvormittag dienstagnachmittag dienstagabend dienstagnacht",
        "mittwoch mittwochmorgen mittwochvormittag mittwochnachmittag mittwochabend mittwochnacht",
        "donnerstag donnerstagmorgen donnerstagvormittag donnerstagnachmittag donnerstagabend donnerstagnacht",
        "freitag freitagmorgen freitagvormittag freitagnachmittag freitagabend freitagnacht",
        "samstag sonnabend samstagmorgen samstagvormittag samstagnachmittag samstagabend samstagnacht",
        "sonntag sonntagmorgen sonntagvormittag sonntagnachmittag sonntagabend sonntagnacht",
    ],
    days: &[("vorgestern", -2), ("gestern", -1), ("heute", 0), ("morgen", 1), ("übermorgen uebermorgen", 2)],
    day_phrases: &[("diesen morgen", 0)],
    not_days: &[
        ("guten", "morgen"), ("heute", "morgen"), ("gestern", "morgen"), ("am", "morgen"), ("jeden", "*"), ("jedem", "*"),
        ("der", "morgen"), ("den", "morgen"), ("eines", "morgen"),
    ],
    last: "letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes vergangenem vorige vorigen voriger voriges",
    rolling: &[],
    this: "diese dieser dieses diesen diesem",
    next: "nächste nächsten nächster nächstes nächstem naechste naechsten naechster naechstes kommende kommenden kommender kommendes",
    behind: false,
    units: &[
        ("tag tage tagen tages", Unit::Day), ("nacht nächte nächten", Unit::Night),
        ("vormittag nachmittag abend mittag", Unit::PartOfDay), ("woche wochen", Unit::Week),
        ("wochenende wochenenden wochenendes", Unit::Weekend), ("monat monate monaten monats", Unit::Month),
        ("quartal quartals", Unit::Quarter), ("jahr jahre jahren jahres", Unit::Year),
        ("frühling frühjahr frühlings fruehling", Unit::Spring), ("sommer sommers", Unit::Summer), ("herbst herbsts", Unit::Autumn),
        ("winter winters", Unit::Winter),
    ],
    unit_phrases: &[],
    numbers: &[
        ("ein eine einem einer einen", 1), ("zwei", 2), ("drei paar einigen wenigen", 3), ("vier", 4), ("fünf fuenf", 5), ("sechs", 6),
        ("sieben", 7), ("acht", 8), ("neun", 9), ("zehn", 10), ("elf", 11), ("zwölf zwoelf", 12),
    ],
    ago: &["her"],
    since: &["vor"],
    ahead: &["in"],
    before: &["vor"],
    after: &["nach"],
    links: &["dem", "den", "der", "des"],
    month_first: false,
};

#[rustfmt::skip]
const QUESTIONS: QuestionWords = QuestionWords {
    time: &[
        "wann", "seit wann", "bis wann", "ab wann", "wie lange ist", "vor wie vielen", "um wie viel uhr",
        "welches datum", "welchem datum", "welcher tag", "welchem tag", "welchen tag", "welcher wochentag", "welchem wochentag",
        "welche woche", "welcher woche", "welchem wochenende", "welcher monat", "welchem monat", "welches jahr", "welchem jahr",
    ],
    name: &[
        "wer", "wen", "wem", "wessen", "welche", "welcher", "welches", "welchen", "welchem", "wo", "wohin", "woher",
    ],
    number: &["wie viele", "wie viel", "wieviel", "wieviele", "wie lange", "wie alt", "wie oft", "wie weit", "wie groß", "wie hoch"],
    other: &["was", "wie", "warum", "wieso", "weshalb", "wofür", "womit", "worüber", "wovon", "woran", "wozu"],
};

#[rustfmt::skip]
const TALK: TalkWords = TalkWords {
    you: &["du", "assistent", "assistentin", "chatbot"],
    we: &["wir"],
    between: &[],
    did: &[],
    articles: &[],
    say: &[],
    said: &[
        "angeboten", "aufgelistet", "aufgezählt", "beantwortet", "berechnet", "beschrieben", "empfohlen", "entworfen", "erklärt",
        "erstellt", "erwähnt", "erzählt", "formuliert", "geantwortet", "gegeben", "gemeint", "genannt", "geraten", "gesagt", "geschickt",
        "geschrieben", "gesendet", "gewarnt", "gezeigt", "hingewiesen", "mitgeteilt", "nahegelegt", "übersetzt", "verraten",
        "versprochen", "vorgeschlagen", "zitiert", "zusammengefasst",
    ],
    talk: &[],
    talked: &["angesprochen", "beredet", "besprochen", "diskutiert", "gechattet", "geredet", "gesprochen", "unterhalten"],
    your: &["dein", "deine", "deinem", "deinen", "deiner", "deines"],
    answers: &[
        "angebot", "anleitung", "antwort", "antworten", "beispiel", "beispiele", "empfehlung", "empfehlungen", "entwurf", "erklärung", "hinweis", "hinweise", "idee", "ideen", "liste", "plan", "rat", "ratschlag",
        "ratschläge", "rezept", "schätzung", "tipp", "tipps", "übersetzung", "vorschlag", "vorschläge", "vorschlägen", "vorschlags",
    ],
    our: &["unser", "unsere", "unserem", "unseren", "unserer", "unseres"],
    conversations: &["chat", "chats", "diskussion", "gespräch", "gespräche", "gesprächen", "gesprächs", "sitzung", "unterhaltung", "unterhaltungen"],
    phrases: &["erinnere mich", "erinner mich", "mich daran erinnern", "mich erinnern", "von dir", "laut dir", "letzten chat", "früheren gespräch", "letzten gespräch"],
    instruction: &["daran", "an", "bitte daran"],
    said_alone: &["empfahlst", "erwähntest", "meintest", "nanntest", "rietest", "sagtest", "schriebst"],
    said_before: &[],
    formal_you: &["sie"],
    others: &["ich", "er", "es", "man", "wir"],
    anywhere: true,
};
