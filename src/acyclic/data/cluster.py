"""A Dask cluster by its address: certificates, and the client that talks to its scheduler.

Who can reach a scheduler can run any code on its workers, and their results come back as pickles, so that a client has
to trust the workers too. Dask has no users and no passwords; what it has is TLS, in which scheduler, workers and
clients show each other certificates of one authority, and whoever has one is trusted. Without it a scheduler belongs
behind a firewall, and what travels can be read on the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acyclic.errors import Argument, InputError, MissingExtraError

__all__ = ["Scheduler", "connected"]

# How addresses begin at which Dask speaks TLS.
_ENCRYPTED = ("tls://", "wss://")
# Dask's setting for a function that finds certificates.
_LOADER = "distributed.client.security-loader"
_FILES = Argument("tls_ca"), ", ", Argument("tls_cert"), " and ", Argument("tls_key")


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler by its address, with the certificates to show it; what cannot be right is refused at once.

    Parameters
    ----------
    address : str
    tls_ca, tls_cert, tls_key : path, optional
        PEM files: the authority that signed the scheduler's certificate, and a certificate of its for this client with
        the key. Where all are left out Dask's own configuration may name them.

    Examples
    --------
    >>> Scheduler("tcp://host:8786", "ca.pem")
    Traceback (most recent call last):
    acyclic.errors.InputError: tls_ca needs tls_cert and tls_key beside it
    """

    address: Any
    tls_ca: str | os.PathLike[str] | None = None
    tls_cert: str | os.PathLike[str] | None = None
    tls_key: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        files = {name: getattr(self, name) for name in ("tls_ca", "tls_cert", "tls_key")}
        here = [name for name, path in files.items() if path is not None]
        away = [part for name in files if name not in here for part in (" and ", Argument(name))]
        if here and away:
            raise InputError(Argument(here[0]), " needs ", *away[1:], " beside it")
        for name in here:
            if not Path(files[name]).is_file():
                raise InputError(f"there is no file {os.fspath(files[name])!r}, which is given as ", Argument(name))
        if here and self.address is None:
            raise InputError(Argument("tls_ca"), " is for a cluster; give its address as ", Argument("cluster"))
        if not isinstance(self.address, str):
            advice = "give the address of a Dask scheduler such as 'tcp://host:8786'"
            raise InputError(f"cluster is {self.address!r}; {advice}")
        if here and not self.address.startswith(_ENCRYPTED):
            advice = "which sends all in clear; give an address such as 'tls://host:8786'"
            raise InputError(Argument("tls_ca"), f" is given for {self.address!r}, {advice}")

    def connect(self) -> Any:
        """A client of it, to be closed by the caller."""
        from distributed import Client

        security = self._security()
        try:
            return Client(self.address, security=security, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(f"no Dask scheduler answers at {self.address!r}: {error}") from error

    def _security(self) -> Any:
        """The certificates as Dask takes them; None leaves them to its own configuration, if that names any."""
        import dask
        from distributed import Security

        if self.tls_ca is None or self.tls_cert is None or self.tls_key is None:
            own = Security()
            known = (own.tls_ca_file and own.tls_client_cert) or dask.config.get(_LOADER, None)
            if self.address.startswith(_ENCRYPTED) and not known:
                raise InputError(f"{self.address!r} asks for certificates; give ", *_FILES)
            return None
        names = {"tls_ca_file": self.tls_ca, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        security = Security(require_encryption=True, **{name: os.fspath(path) for name, path in names.items()})
        try:
            security.get_connection_args("client")
        except (OSError, ValueError) as error:
            raise InputError(*_FILES, f" are no certificates and key that fit each other: {error}") from error
        return security


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """The client of a cluster: the one given, or one that is made of an address and closed in the end; None of None."""
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError(Argument("cluster"), "distributed", "cluster") from error
    if isinstance(cluster, Client):
        yield cluster
        return
    with closing((cluster if isinstance(cluster, Scheduler) else Scheduler(cluster)).connect()) as client:
        yield client
