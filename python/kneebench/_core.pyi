"""The hot path: virtual users, loading, histograms. Orders go in as JSON text; the interpreter lock is released while it works."""

SESSION_SETTINGS: list[tuple[str, str]]
"""What every virtual user of a PostgreSQL server sets for its session: (name, value)."""

class Crew:
    """Many terminals over one server, from the first connection to the last answer."""

    def ready(self) -> None:
        """Open every connection and prepare every statement; raises ConnectionError with the server's words."""
    def go(self) -> None:
        """Start the clock and the load, in the phase "warm_up"."""
    def tick(self) -> str:
        """Wait for the end of the current second; JSON of all seconds ended since the last call (see workload.crew)."""
    def mark(self, phase: str) -> float:
        """Enter the phase "window" or "cool_down"; seconds since go."""
    def stop(self) -> str:
        """Let every transaction that began end, close the connections; JSON of the tally (see workload.crew)."""

def postgres_crew(order: str) -> Crew:
    """A crew for a PostgreSQL server; nothing is opened before ready()."""

class SimulatedServer:
    """A database and its drives as a discrete-event model with a clock of its own."""

    def __init__(self, model: str) -> None: ...
    def crew(self, order: str) -> Crew:
        """A crew on the simulated clock: tick() returns as soon as a simulated second has been worked off."""
    def readings(self) -> dict[str, float]:
        """Cumulative counters by "quantity|source", as real meters would give them."""
    def now_s(self) -> float:
        """The simulated clock."""
    def ledger(self) -> dict[str, int]:
        """Sums over what the tables would hold: next_order_ids, orders, new_orders, w_ytd_cents, committed, ..."""
    def checkpoint(self) -> None:
        """A checkpoint that someone asked for; over at once."""
    def ended(self) -> str:
        """What was seen of the server's end; empty while it lives."""

class Loading:
    """One load under way on threads of its own."""

    def __init__(self, order: str) -> None: ...
    def start(self) -> None: ...
    def progress(self) -> dict[str, int]:
        """{"rows", "rows_total", "bytes"} so far."""
    def wait(self, timeout_s: float) -> bool:
        """True once all is loaded; raises RuntimeError with the server's words when a stream failed."""
    def cancel(self) -> None: ...

def merge_histograms(histograms: list[str]) -> dict[str, float]:
    """Merged statistics of base64 HDR histograms (V2): n, mean_s, p50_s, p90_s, p95_s, p99_s, p999_s, p999_low_s, p999_high_s, max_s, overflow."""
