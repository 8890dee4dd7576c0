"""Every setting that was in force; those that change what storage sees first."""

from __future__ import annotations

from kneebench import units
from kneebench.analysis.wording import plural
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel
from kneebench.records import Setting


def section(view: ViewModel) -> Section | None:
    """One row for each setting, one column for each storage whose settings differ."""
    kept = {
        climb.id: {s.name: s for s in view.campaign.settings.get(climb.id, ())}
        for climb in view.climbs
    }
    kept = {configuration: settings for configuration, settings in kept.items() if settings}
    if not kept:
        return None
    same = (
        len({tuple((s.name, s.value) for s in settings.values()) for settings in kept.values()})
        == 1
    )
    shown = dict(list(kept.items())[:1]) if same else kept
    heads = ["Value"] if same else [view.name(configuration) for configuration in shown]
    columns = tuple(Column(title=title, number=False) for title in ("Setting", *heads, "Source"))
    every = {name: setting for settings in shown.values() for name, setting in settings.items()}
    rows = tuple(
        _row(setting, list(shown.values()))
        for setting in sorted(every.values(), key=lambda s: (not s.matters, s.name))
    )
    caption = (
        "Bold: settings that affect storage I/O."
        f" {'Identical on every storage.' if same and len(view.climbs) > 1 else ''}"
    )
    return Section(
        name="settings",
        title=f"All {plural(len(rows), 'setting')}",
        tables=(Table(caption=caption.strip(), narrow=True, columns=columns, rows=rows),),
        part="appendix",
    )


def _row(setting: Setting, columns: list[dict[str, Setting]]) -> Row:
    values = [
        settings[setting.name].value if setting.name in settings else units.NOTHING
        for settings in columns
    ]
    return Row(
        cells=(setting.name, *values, setting.source), tone="strong" if setting.matters else "plain"
    )
