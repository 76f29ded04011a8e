//! A small crate.
pub mod shapes;
mod util;

use crate::shapes::{Shape, Square as Sq};

/// Makes one.
pub fn build(side: u32) -> Sq {
    let square = Sq::new(side);
    square.area();
    util::log(&square);
    square
}

pub fn all(shapes: Vec<Sq>) -> u32 {
    let mut sum = 0;
    for shape in shapes {
        sum += shape.area() + shape.doubled();
    }
    println!("{}", helper(sum));
    sum
}

fn helper(n: u32) -> u32 {
    n
}

mod inner {
    use super::helper;
    pub fn call() -> u32 {
        helper(1) + super::build(2).area()
    }
}
