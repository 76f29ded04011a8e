require_relative "shapes"
require "json"

def report(square)
  puts square
end

square = Geo::Square.new(2)
square.area
square.label
report(square)
Geo::Square.unit
