//! Dates in digits: ISO dates and times, dates with slashes or dots, year and month, a year by itself. The same in all
//! languages, but for the order of day and month where both would do.
use super::periods::{date, month, year};
use crate::model::Period;

/// Each date with the byte at which it starts.
pub fn dates(text: &str, month_first: bool) -> impl Iterator<Item = (usize, Period)> {
    tokens(text).filter_map(move |(start, token)| {
        let token = token.trim_end_matches(['.', '-', '/']);
        Some((start, period(token.split_once('T').map_or(token, |(date, _time)| date), month_first)?))
    })
}

/// Runs of what a date in digits may be made of, and what stuck to it makes it none.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/' | '.' | '$' | '%');
    let mut done = 0;
    std::iter::from_fn(move || {
        let rest = text.get(done..)?;
        let start = rest.find(is_part)?;
        let from = rest.get(start..)?;
        let length = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let token = (done + start, from.get(..length)?);
        done += start + length;
        Some(token)
    })
}

fn period(token: &str, month_first: bool) -> Option<Period> {
    if token.len() < 4 || !token.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut parts = token.split(['-', '/', '.']);
    match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        (of, None, None, None) => year_number(of).map(year),
        (of, Some(other), None, None) if !token.contains('.') => {
            let of = year_number(of)?;
            match year_number(other) {
                Some(last) if last >= of => Some(Period { first: year(of).first, last: year(last).last }),
                Some(_) => None,
                None => small(other, 12).map(|number| month(of, number)),
            }
        }
        (a, Some(b), Some(c), None) => match (year_number(a), year_number(c)) {
            (Some(of), _) => date(of, small(b, 12)?, small(c, 31)?),
            (_, Some(of)) => day_and_month(of, a, b, month_first && !token.contains('.')),
            _ => None,
        }
        .map(Period::day),
        _ => None,
    }
}

fn day_and_month(of: i32, a: &str, b: &str, month_first: bool) -> Option<i32> {
    let (a, b) = (small(a, 31)?, small(b, 31)?);
    let (day, month) = if (month_first && a <= 12) || b > 12 { (b, a) } else { (a, b) };
    if month <= 12 { date(of, month, day) } else { None }
}

fn small(part: &str, most: i32) -> Option<i32> {
    let number = if part.len() <= 2 { part.parse().ok()? } else { return None };
    (1..=most).contains(&number).then_some(number)
}

/// 1900 to 2099.
pub fn year_number(part: &str) -> Option<i32> {
    let is_year = part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    if is_year { part.parse().ok() } else { None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Period> {
        dates(text, true).map(|(_, period)| period).collect()
    }

    #[test]
    fn days_in_digits() {
        let day = Period::day(date(2023, 5, 8).unwrap());
        for text in ["2023-05-08", "am 2023-05-08T10:00:00Z?", "8.5.2023.", "05/08/2023", "(2023/5/8)", "08.05.2023"] {
            assert_eq!(found(text), [day], "{text}");
        }
        let thirteenth = Period::day(date(2023, 5, 13).unwrap());
        assert_eq!(found("13/05/2023 or 05/13/2023"), [thirteenth, thirteenth]);
        assert_eq!(dates("05/08/2023", false).next().unwrap().1, Period::day(date(2023, 8, 5).unwrap()));
    }

    #[test]
    fn months_and_years_in_digits() {
        assert_eq!(found("2023-05"), [month(2023, 5)]);
        assert_eq!(found("wer kam 1998?"), [year(1998)]);
        assert_eq!(found("2023年"), [year(2023)]);
        assert_eq!(found("2021-2023"), [Period { first: year(2021).first, last: year(2023).last }]);
        assert_eq!(dates("in 2021 ", true).next().unwrap().0, 3);
    }

    #[test]
    fn other_numbers_are_no_dates() {
        for text in [
            "",
            "12345",
            "1850",
            "2023.75",
            "$2000",
            "ORD-2023-11",
            "v1.2.3",
            "2023-13",
            "99/99/2023",
            "3-4",
            "x2023",
            "20%",
            "2023-02-30",
            "2023-2021",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
