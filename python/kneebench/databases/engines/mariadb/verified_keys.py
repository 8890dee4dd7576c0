"""No password is encrypted by a key that was not verified. PyMySQL would do so without TLS where
the package cryptography happens to be installed, by a key that anyone on the way could have sent.
It is set to find none, and then says that TLS is needed, as on other machines.
"""

from __future__ import annotations

from importlib import import_module

setattr(import_module("pymysql._auth"), "_have_cryptography", False)  # noqa: B010
