//! One line of JSON, and numbers as text in it.
use crate::error::{Error, Result};

/// A JSON object on a line of its own, written field by field, in the order given.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// A value that is JSON already.
    pub(super) fn raw(&mut self, name: &str, json: &str) {
        self.name(name);
        self.out.extend_from_slice(json.as_bytes());
    }

    pub(super) fn text(&mut self, name: &str, text: &str) -> Result<()> {
        self.name(name);
        serde_json::to_writer(&mut *self.out, text).map_err(|error| Error::invalid(format!("{name}: {error}")))
    }

    /// Leaves the field out where there is nothing.
    pub(super) fn optional(&mut self, name: &str, text: Option<&str>) -> Result<()> {
        text.map_or(Ok(()), |text| self.text(name, text))
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }

    pub(super) fn end(self) {
        self.out.extend_from_slice(b"}\n");
    }

    fn name(&mut self, name: &str) {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        // Names are ours, and need no escaping.
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Little-endian float32 in base64 with padding (RFC 4648).
pub(super) fn base64(floats: &[f32]) -> String {
    let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| group.get(index).copied().map_or(0, u32::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if place > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_bytes(bytes: [u8; 4]) -> String {
        base64(&[f32::from_le_bytes(bytes)])
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        assert_eq!(of_bytes(*b"foob"), "Zm9vYg==");
        assert_eq!(base64(&[f32::from_le_bytes(*b"foob"), f32::from_le_bytes(*b"arfo")]), "Zm9vYmFyZm8=");
        assert_eq!(of_bytes([0xff, 0xef, 0xbf, 0x3e]), "/++/Pg==");
        assert_eq!(base64(&[]), "");
    }

    #[test]
    fn an_object_is_json_on_one_line() -> Result<()> {
        let mut line = Vec::new();
        let mut object = Object::new(&mut line);
        object.text("text", "a \"b\"\n\u{0}c")?;
        object.optional("none", None)?;
        object.raw("n", "[1]");
        object.end();
        assert_eq!(line, b"{\"text\":\"a \\\"b\\\"\\n\\u0000c\",\"n\":[1]}\n");
        Ok(())
    }
}
