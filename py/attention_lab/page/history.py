"""Undo and redo over whole states. Changes of one field in quick succession count as one."""

from __future__ import annotations

from dataclasses import fields

from attention_lab.state import State

MOST = 200
PAUSE = 1.0  # seconds after which typing in the same field starts a new entry


class History:
    """Two stacks of states around the present one."""

    def __init__(self) -> None:
        self._past: list[State] = []
        self._future: list[State] = []
        self._last: tuple[str | None, float] = (None, 0.0)

    def record(self, before: State, after: State, field: str | None, now: float) -> None:
        """Remember `before` when `after` differs in more than what is opened or stepped to."""
        if _same_work(before, after):
            return
        merged = (
            field is not None and self._last[0] == field and now - self._last[1] < PAUSE and bool(self._past)
        )
        if not merged:
            self._past = [*self._past[-MOST:], before]
        self._future.clear()
        self._last = (field, now)

    def undo(self, present: State) -> State | None:
        return self._move(self._past, self._future, present)

    def redo(self, present: State) -> State | None:
        return self._move(self._future, self._past, present)

    def _move(self, source: list[State], target: list[State], present: State) -> State | None:
        self._last = (None, 0.0)
        if not source:
            return None
        target.append(present)
        return source.pop()

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)


_WORK = tuple(item.name for item in fields(State) if item.compare and item.name not in ("row", "step"))


def _same_work(one: State, other: State) -> bool:
    """Equal but for what is opened or stepped to."""
    return all(getattr(one, name) == getattr(other, name) for name in _WORK)
