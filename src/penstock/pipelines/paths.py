"""Paths among parameters: where they are, and whether something can be there.

Spark loads definitions in the folder of their spec, so what they are told must not depend on where
that is. `penstock pipeline run` makes paths absolute, from its caller's directory on. Plain
`spark-pipelines` does not say where it was called, so a relative path is refused there: it would
lie in this package.

An archive and a plot are on this machine, whoever Spark is: what stands against them is told before
Spark starts.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.pipelines.acks.terms import terms_of as terms_of_acks
from penstock.pipelines.archive.terms import folder
from penstock.pipelines.catalog import ParameterError
from pyspark_jetstream_archive.folder import Archive, ArchiveError

Told = Mapping[str, str]

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_READ = ("path", "storeDir", "creds", "nkey", "tls.ca", "tls.cert", "tls.key", "context")
_WRITTEN = "plot"  # by penstock alone: definitions have no use for it
_NO_PLOT = "none"


def absolute(told: Told) -> dict[str, str]:
    """The same parameters, their paths from the current directory on."""
    return {name: _absolute(name, text) for name, text in told.items()}


def check_absolute(told: Told) -> None:
    """Of who cannot know where the caller is. Raises ParameterError."""
    for name in _READ:
        text = told.get(name, "")
        if text != _absolute(name, text):
            raise ParameterError(
                f"{name} is {text!r}; allowed: an absolute path, since spark-pipelines runs "
                "definitions in the folder of their spec (penstock pipeline run takes others too)"
            )


def check_places(pipeline: str, told: Told) -> None:
    """Looks and changes nothing. Raises ParameterError."""
    check = _PLACES.get(pipeline)
    try:
        if check is not None:
            check(told)
    except ArchiveError as error:
        raise ParameterError(f"path: {error}") from None


def make_places(pipeline: str, told: Told) -> None:
    """The folder of an archive: that it can be made is known when it is. Raises ParameterError."""
    if pipeline == "archive":
        make_folder("path", folder(told["path"]))


def check_folder(what: str, path: Path) -> None:
    """That it is one, or may become one. Raises ParameterError."""
    nearest = next(one for one in (path, *path.parents) if os.path.lexists(one))
    if not nearest.is_dir():
        raise ParameterError(f"{what} is {str(path)!r}, and {nearest} is not a folder")


def make_folder(what: str, path: Path) -> None:
    """Raises ParameterError."""
    told = f"{what} is {str(path)!r}"
    hint = "name a folder that this user may write to"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{told}, which cannot be made: {error.strerror}; {hint}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ParameterError(f"{told}, where this user may not write; {hint}")


def _absolute(name: str, text: str) -> str:
    is_path = name in _READ or (name == _WRITTEN and text != _NO_PLOT)
    is_name = name == "context" and "/" not in text
    if not text or not is_path or is_name or _URI.match(text):
        return text
    return str(Path(text).expanduser().absolute())


def _of_archive(told: Told) -> None:
    path = folder(told["path"])
    check_folder("path", path)
    Archive.check_free(path)


def _of_restore(told: Told) -> None:
    path = folder(told["path"])
    check_folder("path", path)
    Archive(path)


def _of_acks(told: Told) -> None:
    plot = terms_of_acks(told).plot
    if plot is None:
        return
    what, place = f"plot is {told['plot']!r}", plot.absolute().parent
    if not place.is_dir():
        raise ParameterError(f"{what}, and there is no folder {place}; make it, or say plot=none")
    if plot.is_dir():
        raise ParameterError(f"{what}, which is a folder; name a file in it, or say plot=none")
    if not os.access(plot if plot.exists() else place, os.W_OK):
        raise ParameterError(f"{what}, and this user may not write there; or say plot=none")


_PLACES: Mapping[str, Callable[[Told], None]] = {
    "acks": _of_acks,
    "archive": _of_archive,
    "restore": _of_restore,
}
