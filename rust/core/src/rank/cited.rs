//! What tells turns apart (who is beside them, who said them, when) a fact does not have itself. It has it from the turns it came
//! from: the larger of its own value and the mean of theirs.
//!
//! The mean, so that a fact which came from a whole sitting does not stand where its best turn does.

/// Gives facts what the turns that they cite have. `citations` are pairs of rows, fact and turn, by rising fact.
pub fn take_from_cited(values: &mut [f32], citations: &[(u32, u32)]) {
    for of_fact in citations.chunk_by(|a, b| a.0 == b.0) {
        let of_turns = of_fact.iter().filter_map(|(_, turn)| values.get(*turn as usize));
        let mean = of_turns.sum::<f32>() / of_fact.len() as f32;
        let fact = of_fact.first().and_then(|(fact, _)| values.get_mut(*fact as usize));
        if let Some(own) = fact {
            *own = own.max(mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mut values: Vec<f32>, citations: &[(u32, u32)]) -> Vec<f32> {
        take_from_cited(&mut values, citations);
        values
    }

    #[test]
    fn a_fact_has_what_its_turn_has() {
        assert_eq!(taken(vec![0.5, 0.2, 0.1], &[(2, 0)]), [0.5, 0.2, 0.5]);
    }

    #[test]
    fn a_fact_keeps_what_is_more() {
        assert_eq!(taken(vec![0.5, 0.75], &[(1, 0)]), [0.5, 0.75]);
    }

    #[test]
    fn of_several_turns_it_has_the_mean() {
        assert_eq!(taken(vec![0.5, 0.25, 0.0, 0.0], &[(2, 0), (2, 1), (3, 1)]), [0.5, 0.25, 0.375, 0.25]);
    }
}
