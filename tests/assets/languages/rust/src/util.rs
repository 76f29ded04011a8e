use super::shapes::Square;

pub fn log(square: &Square) {
    crate::all(vec![]);
    todo!()
}
