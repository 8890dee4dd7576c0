"""What a configuration's storage does without its database, if the plan asks for it."""

from __future__ import annotations

from kneebench.campaign.restored import Context
from kneebench.databases.engine import Server
from kneebench.errors import PlanError
from kneebench.records import Configuration


def profile_storage(context: Context, configuration: Configuration, server: Server) -> None:
    """Keep a profile of the storage below an idle server whose data are written out, or why there
    is none; that of a configuration with the same storage counts for all.
    """
    database = context.database(configuration)
    storage = database.storages[configuration.storage]
    wanted = database.raw_profile and (storage.path or storage.volumes)
    same = [one.id for one in context.configurations if one.storage == configuration.storage]
    profiles = context.store.campaign.raw_profiles
    if kept := next((profiles[id] for id in same if id in profiles), None):
        context.store.put_raw_profile(configuration, kept)
    elif wanted:
        server.checkpoint()
        doing = f"profiling {configuration.storage!r} without its database"
        paths = server.paths[: 2 if storage.log_apart else 1]
        try:
            instruments = context.machine.instruments
            profile = instruments.storage_profile(paths, doing, context.watch)
        except PlanError as error:  # no space for its file by now
            context.store.put_unprofiled(configuration, str(error))
            return
        if profile:
            context.store.put_raw_profile(configuration, profile)
