import Square, { Shape, side } from "./lib/shapes.js";
import * as shapes from "./lib/shapes";
import run from "./lib/legacy";
import { map } from "lodash";

const routes = {
  home() {
    return run(1);
  },
  list: () => map([1], side),
};

function main() {
  const square = new Square(2);
  square.describe();
  square.area();
  shapes.side(3);
  setTimeout(() => helper(square), 10);
}

function helper(shape) {
  return shape instanceof Shape;
}

main();
