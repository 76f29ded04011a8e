<?php
namespace Geo\Shapes;

interface Shape
{
    public function area(): int;
}

trait Named
{
    public function label(): string
    {
        return strtoupper($this->name());
    }
}

/** A square. */
class Square extends Base implements Shape
{
    use Named;

    const SIDES = 4;
    private Side $side;

    public function __construct(private Logger $logger, int $n)
    {
        parent::__construct($n);
        $this->side = new Side($n);
    }

    public static function unit(Logger $logger): self
    {
        return new static($logger, 1);
    }

    public function area(): int
    {
        $this->logger->log("area");
        return $this->side->length() * self::SIDES;
    }
}

abstract class Base
{
    public function __construct(protected int $n)
    {
    }

    public function name(): string
    {
        return "base";
    }
}

class Side
{
    public function length(): int
    {
        return helper(1);
    }
}

class Logger
{
    public function log(string $text): void
    {
    }
}

function helper(int $n): int
{
    return $n;
}
