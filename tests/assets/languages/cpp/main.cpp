#include "shape.hpp"
#include <vector>

int sum(const std::vector<geo::Square>& all) {
    int result = 0;
    for (const auto& each : all) {
        result += each.area();
    }
    return result;
}

int main() {
    geo::Square square(2);
    auto other = square.scaled(3);
    geo::Shape* pointer = new geo::Square(4);
    pointer->area();
    auto call = [&](int n) { return geo::twice(n); };
    return other.area() + sum({square});
}
