#include "shape.hpp"

namespace geo {

static int helper(int n) { return n; }

Shape::Shape(int n) { side.value = n; }

std::string Shape::name() const { return "shape"; }

int Square::area() const {
    name();
    return helper(side.length());
}

}
