//! Names that many rows share, by code; 0 is no name.
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Labels {
    names: Vec<Arc<str>>,
    codes: HashMap<Arc<str>, u32>,
}

impl Labels {
    /// `None` for 0.
    pub fn get(&self, code: u32) -> Option<&str> {
        (code as usize).checked_sub(1).and_then(|at| self.names.get(at)).map(AsRef::as_ref)
    }

    /// `None` when nothing here has the name.
    pub fn code(&self, name: &str) -> Option<u32> {
        self.codes.get(name).copied()
    }

    /// By rising code, from 1.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.names.iter()
    }

    /// The largest code.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The code of a name, new if need be.
    pub fn add(this: &mut Arc<Self>, name: Option<&str>) -> u32 {
        let Some(name) = name else { return 0 };
        this.code(name).unwrap_or_else(|| Arc::make_mut(this).push(name.into()))
    }

    fn push(&mut self, name: Arc<str>) -> u32 {
        self.names.push(Arc::clone(&name));
        let code = self.names.len() as u32;
        self.codes.insert(name, code);
        code
    }

    pub fn bytes(&self) -> usize {
        let texts: usize = self.names.iter().map(|name| name.len()).sum();
        texts + self.names.len() * (2 * size_of::<Arc<str>>() + size_of::<(Arc<str>, u32)>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_code() {
        let mut labels: Arc<Labels> = Arc::default();
        assert_eq!(Labels::add(&mut labels, None), 0);
        assert_eq!(Labels::add(&mut labels, Some("Ann")), 1);
        let held = Arc::clone(&labels);
        assert_eq!(Labels::add(&mut labels, Some("Bob")), 2);
        assert_eq!(Labels::add(&mut labels, Some("Ann")), 1);
        assert_eq!((labels.get(2), labels.get(0), labels.code("Bob"), labels.len()), (Some("Bob"), None, Some(2), 2));
        assert_eq!((held.get(2), held.len()), (None, 1));
    }
}
