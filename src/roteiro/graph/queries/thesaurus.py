"""Words that programmers use for one another, so that a question need not use the code's own.

"Hide the credentials" is written `_mask_secrets`, `redact_token` or `obfuscate_sensitive`. A row is a
family; a word may stand in several. General vocabulary of programming only: nothing of one project's.
Thread: any.
"""

from __future__ import annotations

from collections.abc import Iterable

from roteiro.graph.words import stem

_FAMILIES = """
hide conceal mask redact obfuscate censor scrub sanitize
credential secret password passphrase token sensitive private
authenticate authentication auth login signin
authorize authorization auth permission access grant
pick choose select decide determine
parse interpret decode read analyse analyze
create make build construct new instantiate generate
delete remove drop erase discard unlink destroy purge
get fetch retrieve load obtain read lookup
put store save write persist dump
send dispatch emit transmit post deliver
receive accept recv consume
wait await block sleep delay pause
event signal notification notify
retry repeat attempt reattempt
start begin launch boot init initialize setup open
stop end finish terminate close shutdown halt exit
cancel abort interrupt kill
check verify validate assert ensure test
error exception failure fault
fail raise throw error
warn warning deprecate
environment environ env
configuration config settings options preferences
parameter param argument arg
directory dir folder
file path filename
database db sqlite sql
connection conn socket
request req query
response resp reply answer result
message msg
string str text
number num int integer count
bytes buffer buf blob
list array sequence items
dictionary dict mapping map table
function func fn callable
variable var
temporary temp tmp
maximum max limit cap bound
minimum min floor
length len size
compare equal match same
convert transform translate coerce cast turn
encode serialize dump marshal
decode deserialize load unmarshal
print display show render format output reveal
log record trace
copy clone duplicate
move rename transfer
sort order rank
find search locate lookup
filter exclude skip ignore omit bypass
merge combine join concat
split divide partition tokenize chunk
cache memoize store
lock mutex semaphore guard
queue backlog pending
thread worker task job
run execute invoke call perform
schedule timer cron interval
redirect forward follow
host hostname server domain
url uri link address
proxy gateway
upload attach multipart
download pull fetch
compress zip gzip deflate brotli
decompress unzip inflate gunzip
encrypt cipher
hash digest checksum
random rand nonce
date time datetime timestamp
expire expiry timeout ttl
default fallback
override replace substitute
update modify change patch edit
append add insert push extend
iterate loop traverse walk
parent ancestor base super
child descendant sub subclass
inherit derive extend subclass
async asyncio asynchronous coroutine
stream chunk pipe
header metadata
user account person
client consumer
version release revision
dependency requirement package
document docs documentation
command cli terminal console shell
identifier id key name
allow permit enable
deny forbid disable refuse reject
quote escape
increase increment grow
decrease decrement shrink reduce
detect recognize sniff guess
nested inner recursive
regex regexp pattern expression
compile build
freeze frozen immutable readonly
kind type sort
"""


def _by_stem() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in _FAMILIES.strip().splitlines():
        family = [stem(word) for word in line.split()]
        for word in family:
            found.setdefault(word, {}).update(dict.fromkeys(family))
    return {word: tuple(other for other in others if other != word) for word, others in found.items()}


_SYNONYMS = _by_stem()


def synonyms(stems: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The other words for each stem, stemmed; a stem without any is left out."""
    return {word: _SYNONYMS[word] for word in stems if word in _SYNONYMS}
