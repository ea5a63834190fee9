//! English.
use super::Language;
use super::dates::DateWords;
use super::talk::TalkWords;

pub static ENGLISH: Language = Language { name: "english", dates: DATES, talk: TALK };

#[rustfmt::skip]
const DATES: DateWords = DateWords {
    months: &[
        "january", "february", "april", "june", "july", "august", "september", "october", "november", "december",
    ],
    doubtful_months: &["march", "may", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"],
    month_signs: &["in", "of", "last", "since", "until", "till", "during", "early", "mid", "late"],
    weekdays: &[
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
        "mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays",
    ],
    days: &["yesterday", "today", "tonight", "tomorrow"],
    near: &["last", "this", "next", "past", "previous"],
    spans: &[
        "day", "days", "night", "nights", "week", "weeks", "weekend", "weekends", "fortnight", "month", "months",
        "quarter", "year", "years", "morning", "afternoon", "evening", "spring", "summer", "autumn", "fall", "winter",
    ],
    ago: &["ago"],
};

#[rustfmt::skip]
const TALK: TalkWords = TalkWords {
    you: &["you", "assistant", "chatbot"],
    we: &["we"],
    between: &[
        "ve", "d", "have", "had", "has", "were", "already", "also", "both", "briefly", "earlier", "even", "ever",
        "first", "initially", "just", "kindly", "last", "once", "originally", "previously", "recently",
    ],
    did: &["did"],
    articles: &["the"],
    say: &[
        "advise", "answer", "calculate", "call", "cite", "compose", "create", "describe", "draft", "estimate",
        "explain", "generate", "give", "list", "mention", "name", "offer", "outline", "point", "promise", "propose",
        "provide", "quote", "recommend", "refer", "reply", "say", "send", "share", "show", "state", "suggest",
        "summarise", "summarize", "teach", "tell", "translate", "warn", "write",
    ],
    said: &[
        "advised", "answered", "calculated", "cited", "composed", "created", "described", "drafted", "estimated",
        "explained", "gave", "generated", "given", "listed", "mentioned", "named", "offered", "outlined", "pointed",
        "promised", "proposed", "provided", "quoted", "recommended", "referred", "replied", "said", "sent", "shared",
        "showed", "shown", "stated", "suggested", "summarised", "summarized", "taught", "told", "translated", "warned",
        "wrote", "written",
    ],
    talk: &["chat", "cover", "discuss", "speak", "talk"],
    talked: &["chatted", "chatting", "covered", "discussed", "discussing", "spoke", "spoken", "talked", "talking"],
    your: &["your"],
    answers: &[
        "advice", "answer", "answers", "explanation", "offer", "proposal", "recommendation", "recommendations", "reply",
        "response", "suggestion", "suggestions", "tip", "tips",
    ],
    our: &["our"],
    conversations: &["chat", "chats", "conversation", "conversations", "discussion", "discussions", "session", "talk", "talks"],
    reminders: &[&["remind", "me"]],
    instruction: &["to"],
};
