module Geo
  SIDES = 4

  # Can be named.
  module Named
    def label
      name.upcase
    end
  end

  class Shape
    include Named

    def initialize(name)
      @name = name
    end

    def name
      @name
    end
  end

  class Square < Shape
    def self.unit
      new(1)
    end

    def initialize(side)
      super("square")
      @side = Side.new(side)
    end

    def area
      @side.length * SIDES
    end
  end

  class Side
    def initialize(n)
      @n = n
    end

    def length
      helper { |x| x.foo }
      @n
    end

    private

    def helper
      yield
    end
  end
end
