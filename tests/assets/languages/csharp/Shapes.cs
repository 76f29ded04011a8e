using System;
using System.Collections.Generic;

namespace Geo.Shapes
{
    public interface IShape
    {
        int Area();
    }

    /// <summary>A square.</summary>
    public class Square : IShape
    {
        private readonly Side side = new Side();
        public string Name { get; set; } = "square";

        public Square(int n) { side.Set(n); }

        public int Area() => side.Length * this.Twice(2);

        public Square Scale(int by) { return new Square(by); }

        private int Twice(int n) { return n * 2; }
    }

    internal class Side
    {
        public int Length;
        public void Set(int n) { Length = n; }
    }

    public enum Kind { Flat, Round }
}
