#pragma once
#include <string>

namespace geo {

class Side {
public:
    int length() const { return value; }
    int value;
};

/// A shape.
class Shape {
public:
    explicit Shape(int n);
    virtual ~Shape() = default;
    virtual int area() const = 0;
    std::string name() const;
protected:
    Side side;
};

class Square : public Shape {
public:
    Square(int n) : Shape(n) {}
    int area() const override;
    Square scaled(int by) const { return Square(by); }
};

enum class Kind { Flat, Round };

template <typename T> T twice(T value) { return value; }

}  // namespace geo
