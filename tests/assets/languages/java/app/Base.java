package app;

abstract class Base {
    /** Says hello. */
    protected void greet(String name) {
        System.out.println(name);
    }
}
