package app.model;

public class Square implements Shape {
    private int side;

    public Square(int side) {
        this.side = side;
    }

    @Override
    public int area() {
        return side * SIDES;
    }

    public Square scale(int by) {
        return new Square(side * by);
    }
}
