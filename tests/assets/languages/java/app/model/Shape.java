package app.model;

public interface Shape {
    int SIDES = 4;

    int area();
}
