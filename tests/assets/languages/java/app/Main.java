package app;

import app.model.*;
import static app.model.Shapes.largest;

public class Main extends Base {
    private final Shape shape = new Square(2);

    public static void main(String[] args) {
        Main main = new Main();
        main.run();
        largest(main.shape).area();
        System.out.println(args);
    }

    void run() {
        shape.area();
        greet("x");
        Runnable task = () -> this.twice(shape.area());
        Square square = new Square(3);
        square.scale(2).area();
    }

    int twice(int n) {
        return n * 2;
    }
}
