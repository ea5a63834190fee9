//! English.
use std::sync::LazyLock;

use super::Language;
use super::asks::QuestionWords;
use super::lexicon::{DateWords, Lexicon, Unit};
use super::related::RelatedWords;
use super::talk::TalkWords;

pub static ENGLISH: Language = Language {
    name: "english",
    dates: DATES,
    lexicon: LazyLock::new(|| Lexicon::new(&DATES)),
    questions: QUESTIONS,
    talk: TALK,
    capitals: &["i", "ok", "okay", "mr", "mrs", "ms", "dr", "tv", "lol", "omg", "yes", "wow", "ai"],
    name_signs: None,
    related: Some(RelatedWords::new(include_bytes!("english_related.bin"))),
};

#[rustfmt::skip]
const DATES: DateWords = DateWords {
    months: [
        "january", "february", "", "april", "", "june", "july", "august", "september", "october", "november", "december",
    ],
    maybe_months: &[
        ("march mar", 3), ("may", 5), ("jan", 1), ("feb", 2), ("apr", 4), ("jun", 6), ("jul", 7), ("aug", 8), ("sep sept", 9),
        ("oct", 10), ("nov", 11), ("dec", 12),
    ],
    month_signs: &["in", "of", "last", "since", "until", "till", "during", "early", "mid", "late", "this", "next", "by", "before", "after"],
    weekdays: ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
    days: &[("yesterday", -1), ("today tonight", 0), ("tomorrow", 1)],
    day_phrases: &[("the day before yesterday", -2), ("day before yesterday", -2), ("the day after tomorrow", 2), ("day after tomorrow", 2)],
    not_days: &[("every", "*"), ("each", "*")],
    last: "last past previous",
    rolling: &["the last", "past", "the previous"],
    this: "this",
    next: "next coming upcoming",
    behind: false,
    units: &[
        ("day days", Unit::Day), ("night nights", Unit::Night), ("morning afternoon evening", Unit::PartOfDay),
        ("week weeks", Unit::Week), ("weekend weekends", Unit::Weekend), ("fortnight fortnights", Unit::Fortnight),
        ("month months", Unit::Month), ("quarter", Unit::Quarter), ("year years", Unit::Year),
        ("spring", Unit::Spring), ("summer", Unit::Summer), ("autumn fall", Unit::Autumn), ("winter", Unit::Winter),
    ],
    unit_phrases: &[],
    numbers: &[
        ("a an one", 1), ("two couple", 2), ("three few several", 3), ("four", 4), ("five", 5), ("six", 6), ("seven", 7),
        ("eight", 8), ("nine", 9), ("ten", 10), ("eleven", 11), ("twelve", 12),
    ],
    ago: &["ago", "back"],
    since: &[],
    ahead: &["in"],
    before: &["before", "prior to", "preceding"],
    after: &["after", "following"],
    links: &["of", "the"],
    month_first: true,
};

#[rustfmt::skip]
const QUESTIONS: QuestionWords = QuestionWords {
    time: &[
        "when", "since when", "how long ago", "how many days ago", "how many weeks ago", "how many months ago", "how many years ago",
        "what date", "what day", "what week", "what weekend", "what month", "what season", "what year", "what time",
        "which date", "which day", "which week", "which weekend", "which month", "which season", "which year",
    ],
    name: &["who", "whom", "whose", "which", "where"],
    number: &["how many", "how much", "how long", "how old", "how often", "how far", "how tall", "how big"],
    other: &["what", "how", "why"],
};

#[rustfmt::skip]
const TALK: TalkWords = TalkWords {
    you: &["you", "assistant", "chatbot"],
    we: &["we"],
    between: &[
        "ve", "d", "have", "had", "has", "were", "already", "also", "both", "briefly", "earlier", "even", "ever",
        "first", "initially", "just", "kindly", "last", "not", "once", "originally", "previously", "recently",
    ],
    did: &["did", "didn"],
    articles: &["the", "t"],
    say: &[
        "advise", "answer", "calculate", "call", "cite", "come", "compose", "create", "describe", "draft", "estimate",
        "explain", "generate", "give", "list", "make", "mention", "name", "offer", "outline", "point", "promise", "propose",
        "provide", "quote", "recommend", "refer", "reply", "say", "send", "share", "show", "state", "suggest",
        "summarise", "summarize", "teach", "tell", "think", "translate", "warn", "write",
    ],
    said: &[
        "advised", "answered", "calculated", "came", "cited", "composed", "created", "described", "drafted", "estimated",
        "explained", "gave", "generated", "given", "listed", "made", "mentioned", "named", "offered", "outlined", "pointed",
        "promised", "proposed", "provided", "quoted", "recommended", "referred", "replied", "said", "sent", "shared",
        "showed", "shown", "stated", "suggested", "suggesting", "summarised", "summarized", "taught", "telling", "thought", "told",
        "translated", "warned", "wrote", "written",
    ],
    talk: &["agree", "chat", "cover", "decide", "discuss", "speak", "talk"],
    talked: &["agreed", "chatted", "chatting", "covered", "decided", "discussed", "discussing", "spoke", "spoken", "talked", "talking"],
    your: &["your"],
    answers: &[
        "advice", "answer", "answers", "calculation", "comparison", "draft", "estimate", "example", "examples", "explanation", "feedback",
        "idea", "ideas", "instructions", "list", "message", "offer", "plan", "proposal", "recipe", "recommendation", "recommendations",
        "reply", "response", "suggestion", "suggestions", "summary", "tip", "tips", "translation",
    ],
    our: &["our"],
    conversations: &["chat", "chats", "conversation", "conversations", "discussion", "discussions", "session", "talk", "talks"],
    phrases: &[
        "remind me", "from you", "by you", "according to you",
        "previous conversation", "earlier conversation", "last conversation", "previous conversations", "earlier conversations",
        "past conversations", "previous chat", "earlier chat", "last chat", "previous chats", "earlier chats", "past chats",
    ],
    instruction: &["to"],
    said_alone: &[],
    said_before: &[],
    formal_you: &[],
    others: &[],
    anywhere: false,
};
