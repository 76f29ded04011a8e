package app.model;

import java.util.List;

public final class Shapes {
    enum Order { UP, DOWN }

    public static Shape largest(Shape one) {
        List<Square> squares = List.of(new Square(1));
        for (Square each : squares) {
            each.scale(2);
        }
        return pick(one);
    }

    private static Shape pick(Shape shape) {
        return shape;
    }
}
