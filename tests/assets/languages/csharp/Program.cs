using System;
using Geo.Shapes;

namespace Geo
{
    class Program : Runner
    {
        static void Main(string[] args)
        {
            var square = new Square(2);
            square.Scale(3).Area();
            IShape shape = square;
            shape.Area();
            Kind kind = Kind.Flat;
            foreach (Square each in new List<Square>()) { each.Scale(1); }
            Console.WriteLine(Format(square));
            Action run = () => Report(square);
        }

        static string Format(IShape shape) => shape.ToString();
    }

    class Runner
    {
        protected static void Report(IShape shape) { }
    }
}
