"""The preparation of an image as the journal has it: after any end it is known what remains on the
server.
"""

from __future__ import annotations

from kneebench.databases.engines.sqlserver.database import drop_by_hand, exists, require_ours
from kneebench.databases.engines.sqlserver.image import Image
from kneebench.databases.engines.sqlserver.session import SqlError
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import report
from kneebench.records import Watch


def in_journal(image: Image, journal: Journal) -> MadeOnServer:
    """The entry of the image's database, with the command that drops it. Raises Refused for a
    database that is not ours.
    """
    address, name = image.address, image.address.database
    require_ours(image.session, name, f"cannot use the database {name}")
    by_hand = drop_by_hand(address, alone=image.version.restores)
    return journal.on_a_server(f"the database {name}", address.server, by_hand)


def prepare_image(image: Image, journal: Journal, watch: Watch) -> dict[str, str]:
    """The facts of the image, made where it is not there. The database stays in the journal after a
    failure, and, where it is the image itself, until a climb drops it.
    """
    noted = in_journal(image, journal)
    try:
        return image.prepare(watch)
    except BaseException as error:
        if _may_be_there(image):
            report(_left(noted), error, watch)
        raise
    finally:
        if not _may_be_there(image):
            journal.forget(noted)


def _may_be_there(image: Image) -> bool:
    """Whether the database is there; also where the server does not answer."""
    try:
        return exists(image.session, image.address.database)
    except SqlError:
        return True


def _left(noted: MadeOnServer) -> str:
    return (
        f"{noted.what} remains. The next run of this plan uses or replaces it; to remove it now:"
        f" {noted.by_hand}"
    )
