<?php
require_once "Shapes.php";

use Geo\Shapes\{Logger, Square as Sq};
use function Geo\Shapes\helper;

function report(Sq $square): void
{
    echo $square->label();
    array_map(fn($n) => helper($n), [1]);
}

$square = Sq::unit(new Logger());
$square->area();
report($square);
