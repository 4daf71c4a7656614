"""The server's secret, from which all draws of scored sessions come. It never leaves the server."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from pathlib import Path

from wbgpu.errors import ConfigurationError, InputError

ENVIRONMENT_VARIABLE = "WBGPU_BENCH_SECRET"
NUM_BYTES = 32

_DRAWS = b"wbgpu.draws"
_FINGERPRINT = b"wbgpu.print"
_SESSION_ID = b"wbgpu.sessions"


class Secret:
    """32 to 64 bytes that are neither printed nor logged.

    Args:
        value: the bytes.
    """

    def __init__(self, value: bytes) -> None:
        if not NUM_BYTES <= len(value) <= 64:
            raise ConfigurationError(
                f"secret: expected {NUM_BYTES} to 64 bytes, got {len(value)}; "
                f"`openssl rand -hex {NUM_BYTES}` makes one"
            )
        self._value = value

    def draw_key(self, purpose: str) -> bytes:
        """A key of draws for one purpose, from which neither the secret nor others follow."""
        return hashlib.blake2b(purpose.encode(), key=self._value, person=_DRAWS).digest()

    def session_id(self, request: str) -> str:
        """32 characters that follow from a request, and that nobody else can work out."""
        digest = hashlib.blake2b(
            request.encode(), key=self._value, person=_SESSION_ID, digest_size=24
        ).digest()
        return base64.urlsafe_b64encode(digest).decode()

    @property
    def fingerprint(self) -> str:
        """Tells secrets apart without giving them away."""
        digest = hashlib.blake2b(key=self._value, person=_FINGERPRINT, digest_size=16)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return "Secret(hidden)"


def secret_from_hex(text: str, name: str) -> Secret:
    """A secret written as hexadecimal digits.

    Raises:
        ConfigurationError: it is none; the message does not repeat it.
    """
    try:
        value = bytes.fromhex(text.strip())
    except ValueError:
        raise ConfigurationError(f"{name}: expected hexadecimal digits") from None
    return Secret(value)


def find_secret(file: Path | None) -> Secret:
    """The secret of the environment, or of a file, which is made where there is none.

    Args:
        file: readable by its owner only; ``None`` if the store is no file.

    Raises:
        ConfigurationError: there is no secret, or it is malformed.
        InputError: others may read the file.
    """
    given = os.environ.get(ENVIRONMENT_VARIABLE)
    if given is not None:
        return secret_from_hex(given, ENVIRONMENT_VARIABLE)
    if file is None:
        raise ConfigurationError(
            f"{ENVIRONMENT_VARIABLE}: a store that is no file needs a secret; set it to the output "
            f"of `openssl rand -hex {NUM_BYTES}`, and to the same at every start"
        )
    _make(file)
    if file.stat().st_mode & 0o077:
        raise InputError(f"{file}: others may read the secret; run chmod 600 {file}")
    return secret_from_hex(file.read_text("ascii"), str(file))


def _make(file: Path) -> None:
    if file.exists():
        return
    # Written elsewhere and linked: of two servers that start at once, both read one whole secret.
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(secrets.token_hex(NUM_BYTES) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(temporary, file)
        except FileExistsError:
            return
    finally:
        temporary.unlink()
