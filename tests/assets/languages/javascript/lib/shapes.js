/** A shape with an area. */
export class Shape {
  constructor(name) {
    this.name = name;
  }
  area() {
    return 0;
  }
}

export default class Square extends Shape {
  constructor(side) {
    super("square");
    this.side = makeSide(side);
  }
  area() {
    return this.side.times(this.side);
  }
  describe = () => this.area();
}

const makeSide = (n) => new Side(n);

class Side {
  times(other) {
    return other;
  }
}

export { makeSide as side };
