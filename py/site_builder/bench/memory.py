"""How much memory a browser's process for a page takes, as Linux counts it. Reads /proc and nothing else."""

from __future__ import annotations

from pathlib import Path


def memory_of(process: int | None) -> int | None:
    """Private bytes of the largest page process below this one: without the browser's own code, which processes share.

    None where the system does not say, as outside Linux.
    """
    if process is None or not Path("/proc/self/smaps_rollup").exists():
        return None
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue  # it has ended meanwhile
        children.setdefault(parent, []).append(int(place.name))
    found, waiting = [], [process]
    while waiting:
        waiting += children.get(waiting[0], [])
        place = Path("/proc") / str(waiting.pop(0))
        try:
            if b"--type=renderer" in (place / "cmdline").read_bytes():
                lines = (place / "smaps_rollup").read_text().splitlines()
                found.append(
                    1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
                )
        except OSError:
            continue
    return max(found, default=None)
