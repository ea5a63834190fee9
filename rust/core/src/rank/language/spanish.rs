//! Spanish.
use std::sync::LazyLock;

use super::Language;
use super::asks::QuestionWords;
use super::lexicon::{DateWords, Lexicon, Unit};
use super::talk::TalkWords;

pub static SPANISH: Language = Language {
    name: "spanish",
    dates: DATES,
    lexicon: LazyLock::new(|| Lexicon::new(&DATES)),
    questions: QUESTIONS,
    talk: TALK,
    capitals: &["ok", "sr", "sra", "dr", "dra", "ud", "uds", "tv"],
    name_signs: None,
    related: None,
};

#[rustfmt::skip]
const DATES: DateWords = DateWords {
    months: [
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre setiembre", "octubre", "noviembre",
        "diciembre",
    ],
    maybe_months: &[("ene", 1), ("feb", 2), ("abr", 4), ("jun", 6), ("jul", 7), ("sep sept", 9), ("oct", 10), ("nov", 11), ("dic", 12)],
    month_signs: &["en", "de", "del", "desde", "hasta"],
    weekdays: ["lunes", "martes", "miércoles miercoles", "jueves", "viernes", "sábado sabado", "domingo"],
    days: &[("anteayer antier", -2), ("ayer anoche", -1), ("hoy", 0), ("mañana manana", 1)],
    day_phrases: &[
        ("antes de ayer", -2), ("pasado mañana", 2), ("pasado manana", 2), ("esta mañana", 0), ("esta manana", 0),
        ("ayer por la mañana", -1), ("mañana por la mañana", 1),
    ],
    not_days: &[("la", "mañana"), ("la", "manana"), ("cada", "*"), ("los", "*"), ("una", "mañana")],
    last: "pasado pasada pasados pasadas último última últimos últimas ultimo ultima ultimos ultimas anterior",
    rolling: &["último", "última", "ultimo", "ultima"],
    this: "este esta estos estas",
    next: "próximo próxima próximos próximas proximo proxima proximos proximas viene siguiente",
    behind: true,
    units: &[
        ("día días dia dias", Unit::Day), ("noche noches", Unit::Night), ("tarde", Unit::PartOfDay),
        ("semana semanas", Unit::Week), ("finde", Unit::Weekend), ("quincena", Unit::Fortnight), ("mes meses", Unit::Month),
        ("trimestre", Unit::Quarter), ("año años ano anos", Unit::Year), ("primavera", Unit::Spring), ("verano", Unit::Summer),
        ("otoño otono", Unit::Autumn), ("invierno", Unit::Winter),
    ],
    unit_phrases: &[("fin de semana", Unit::Weekend), ("fines de semana", Unit::Weekend)],
    numbers: &[
        ("un una uno", 1), ("dos par", 2), ("tres unos unas algunos algunas pocos pocas", 3), ("cuatro", 4), ("cinco", 5), ("seis", 6),
        ("siete", 7), ("ocho", 8), ("nueve", 9), ("diez", 10), ("once", 11), ("doce", 12),
    ],
    ago: &["atrás", "atras"],
    since: &["hace"],
    ahead: &["dentro de", "en"],
    before: &["antes del", "antes de", "anterior al", "anterior a"],
    after: &["después del", "después de", "despues del", "despues de", "siguiente al", "posterior al"],
    links: &["de", "del", "que", "el", "la"],
    month_first: false,
};

#[rustfmt::skip]
const QUESTIONS: QuestionWords = QuestionWords {
    time: &[
        "cuándo", "cuando", "desde cuándo", "hace cuánto", "cuánto hace", "cuánto tiempo hace", "qué día", "que día", "que dia", "qué fecha",
        "que fecha", "qué mes", "que mes", "qué año", "que año", "qué semana", "que semana", "qué hora", "que hora", "cuál fecha",
    ],
    name: &[
        "quién", "quien", "quiénes", "quienes", "cuál", "cual", "cuáles", "dónde", "donde", "adónde", "adonde",
        "cómo se llama", "cómo se llamaba", "como se llama", "como se llamaba",
    ],
    number: &["cuánto", "cuánta", "cuántos", "cuántas", "qué edad", "que edad", "cada cuánto"],
    other: &["qué", "cómo", "por qué"],
};

#[rustfmt::skip]
const TALK: TalkWords = TalkWords {
    you: &["has", "habías", "tú", "usted", "asistente", "chatbot"],
    we: &["hemos", "habíamos", "estábamos", "estuvimos", "nosotros"],
    between: &["me", "nos", "ya", "lo", "la", "le", "también", "antes", "alguna", "vez", "siempre", "que"],
    did: &[],
    articles: &["el", "la"],
    say: &[],
    said: &[
        "aconsejado", "calculado", "citado", "comentado", "contado", "dado", "descrito", "dicho", "enseñado", "enviado", "escrito",
        "explicado", "indicado", "mencionado", "mostrado", "nombrado", "ofrecido", "prometido", "propuesto", "recomendado", "respondido",
        "resumido", "sugerido", "traducido", "aconsejó", "dijo", "dio", "explicó", "mencionó", "ofreció", "propuso", "recomendó", "sugirió",
    ],
    talk: &[],
    talked: &["charlado", "charlando", "comentado", "comentando", "conversado", "conversando", "discutido", "hablado", "hablando", "tratado"],
    your: &["tu", "tus"],
    answers: &[
        "consejo", "consejos", "ejemplo", "ejemplos", "explicación", "explicacion", "idea", "ideas", "instrucciones", "lista", "oferta", "plan", "propuesta", "propuestas", "receta", "recomendación", "recomendacion",
        "recomendaciones", "respuesta", "respuestas", "resumen", "sugerencia", "sugerencias", "traducción",
    ],
    our: &["nuestra", "nuestras", "nuestro", "nuestros"],
    conversations: &["charla", "charlas", "chat", "conversación", "conversacion", "conversaciones", "diálogo", "discusión", "plática", "sesión"],
    phrases: &["recuérdame", "recuerdame", "recordarme", "me recuerdas", "según tú", "de ti", "última conversación", "conversación anterior"],
    instruction: &["que"],
    said_alone: &[
        "aconsejaste", "calculaste", "citaste", "comentaste", "contaste", "describiste", "dijiste", "diste", "enseñaste", "enviaste",
        "escribiste", "explicaste", "indicaste", "mencionaste", "mostraste", "nombraste", "ofreciste", "pasaste", "prometiste",
        "propusiste", "recomendaste", "respondiste", "resumiste", "sugeriste", "tradujiste",
        "acordamos", "charlamos", "comentamos", "conversamos", "decidimos", "discutimos", "hablamos",
    ],
    said_before: &["aconsejó", "dijo", "dio", "explicó", "mencionó", "ofreció", "propuso", "recomendó", "sugirió"],
    formal_you: &[],
    others: &[],
    anywhere: false,
};
