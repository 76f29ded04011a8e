pub const SIDES: u32 = 4;

pub trait Shape {
    fn area(&self) -> u32;
    fn doubled(&self) -> u32 {
        self.area() * 2
    }
}

pub struct Square {
    side: Side,
}

struct Side(u32);

impl Square {
    pub fn new(n: u32) -> Self {
        Square { side: Side::of(n) }
    }
}

impl Side {
    fn of(n: u32) -> Side {
        Side(n)
    }
    fn get(&self) -> u32 {
        self.0
    }
}

impl Shape for Square {
    fn area(&self) -> u32 {
        self.side.get() * SIDES
    }
}

pub enum Kind {
    Round,
    Flat,
}
