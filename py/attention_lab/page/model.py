"""Fetches the model when a reader asks: part by part, checked, kept in the browser's cache, cancelled or taken up again.

A part that is damaged is fetched anew; nothing is computed from it. Sentences are computed in slices, so that the page
answers meanwhile. Draws its own box, and asks the app for the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyodide.ffi import to_js

from attention_lab.core import LabError
from attention_lab.model.encoder import Current, Encoder, Pass
from attention_lab.model.pack import Manifest, PackError, Part, check, read_manifest
from attention_lab.page.dom import Failures, JsException, by_id, data, document, on, one, root, window
from attention_lab.render.heat_model import WHY_NOT, box, heads, small_heads

if TYPE_CHECKING:
    from attention_lab.page.app import App
    from attention_lab.state import State

CACHE = "attention-lab-model"
FOREIGN = "this frame may not read from its host (it is sandboxed without allow-same-origin), or the network gave no answer"
SLICE = 25.0
"""Milliseconds of computing after which the page gets its turn."""
PATIENCE = 200.0
"""Milliseconds of computing after which the old result is marked as old."""


class Cancelled(Exception):
    """The reader pressed Cancel."""


class ModelPage:
    """One for the life of the page. `wanted` runs whenever a state asks for the model."""

    def __init__(self, app: App) -> None:
        self.app = app
        meta = one('meta[name="model"]')
        self.url = data(meta, "url") if meta else None
        self.total = int(data(meta, "size") or 0) if meta else 0
        why = (data(meta, "why") if meta else None) or "absent"
        self.message = "" if self.url else WHY_NOT[why]
        self.phase = "checking" if self.url else "absent"
        self.done = 0
        self.begun = False
        self.turns = {"view": 0, "heads": 0}  # counted up whenever older work of the kind is stale
        self.abort: Any = None
        self.facts: Manifest | None = None
        self.taken: set[str] = set()
        self.tasks: set[asyncio.Future[None]] = set()
        on(document, "click", self._on_click)

    def wanted(self, asked: bool) -> None:
        """The state on show needs the model; `asked` if the reader has just chosen it."""
        if self.url and not self.begun:
            self.begun = True
            self._spawn(self._begin(asked))
        elif asked and self.phase in ("offer", "failed"):
            self._load()
        self.draw()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)  # the event loop itself holds no reference
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[None]) -> None:
        self.tasks.discard(task)
        error = task.exception()
        if isinstance(error, Exception):
            Failures.tell(error)

    def draw(self) -> None:
        place = by_id("model-box")
        needed = self.app.state.real_head and self.phase != "ready"
        place.hidden = not needed
        if needed:
            html = box(self.phase, self.done, self.total, self.message)
            bar = place.querySelector("progress")
            if self.phase == "loading" and bar:  # the button under the reader's finger must stay the same one
                bar.value = self.done
                bar.previousSibling.data = (
                    f"Fetching the real head: {self.done / 1e6:.1f} of {self.total / 1e6:.1f} MB "
                )
            else:
                place.innerHTML = html
        root.dataset.model = self.phase
        root.dataset.source = (self.app.state.real_head and self.app.state.model) or "spelling"

    def _on_click(self, event: Any) -> None:
        button = event.target.closest("[data-model]") if getattr(event.target, "closest", None) else None
        what = data(button, "model") if button and str(button.tagName) == "BUTTON" else None
        if what == "load":
            self._load()
        elif what == "cancel" and self.abort:
            self.abort.abort()

    # fetching

    async def _begin(self, asked: bool) -> None:
        """What is in the cache is used at once; the rest only when it is asked for."""
        self.done = await self._cached_size()
        if asked or self.done == self.total:
            self._load()
        else:
            self.phase = "offer"
            self.draw()

    def _load(self) -> None:
        if self.phase != "loading":
            self.phase, self.message = "loading", ""
            self.draw()
            self._spawn(self._run())

    async def _run(self) -> None:
        self.abort = window.AbortController.new()
        try:
            facts = self.facts = self.facts or await self._manifest()
            if Current.encoder is None or Current.encoder.facts.identity != facts.identity:
                Current.encoder = Encoder(facts)
                self.taken, self.done = set(), 0
            self.total = facts.size
            for part in facts.parts:
                if part.file not in self.taken:
                    await self._take(Current.encoder, part)
            self.phase = "ready"
        except Cancelled:
            self.phase, self.message = "offer", "Cancelled."
        except LabError as error:
            self.phase, self.message = "failed", str(error)
            self.facts = None  # the host may have another pack by now
        except (JsException, OSError) as error:
            reason = str(error).split("\n")[0]
            if "fetch" in reason.lower():
                reason = FOREIGN if str(window.origin) == "null" else "the network gave no answer"
            self.phase, self.message = (
                "failed",
                f"The real head could not be fetched: {reason}. The spelling vectors still work.",
            )
        self.draw()
        if self.phase == "ready" and self.facts:
            await self._forget_others(self.facts)

    async def _take(self, encoder: Encoder, part: Part) -> None:
        """One part into the encoder, from the cache or the network; damaged bytes are fetched once more."""
        before, start = encoder.ready, self.done
        content = await self._kept(part)
        if content is None:
            content = await self._fetch_checked(part)
            await self._keep(part, content)
        encoder.add(part, content)
        del content
        self.taken.add(part.file)
        self.done = start + part.size
        self.draw()
        if encoder.ready > before and self.app.state.real_head:
            if before <= self.app.state.layer < encoder.ready:
                self.app.show(write_form=False)
            else:
                self.show_heads()
        await asyncio.sleep(0)

    async def _fetch_checked(self, part: Part) -> bytes | bytearray:
        start = self.done
        try:
            content = await self._fetch(part, again=False)
            check(part, content)
        except PackError:
            self.done = start
            content = await self._fetch(part, again=True)
            check(part, content)
        return content

    async def _manifest(self) -> Manifest:
        """The list of the parts; kept once it has been read, for visits without a network."""
        cache = await self._cache()
        try:
            answer = await window.fetch(
                self.url, to_js({"cache": "no-cache"}, dict_converter=window.Object.fromEntries)
            )
            if not answer.ok:
                raise PackError(
                    f"The real head could not be fetched: the server answered {answer.status} for {self.url}."
                )
            text = str(await answer.text())
        except JsException:
            kept = await cache.match(self.url) if cache else None
            if not kept:
                raise
            return read_manifest(str(await kept.text()))
        facts = read_manifest(text)
        if cache:
            await self._put(cache, str(self.url), text)
        return facts

    async def _fetch(self, part: Part, again: bool) -> bytes | bytearray:
        options = {"signal": self.abort.signal, "cache": "reload" if again else "default"}
        try:
            answer = await window.fetch(
                self._address(part), to_js(options, dict_converter=window.Object.fromEntries)
            )
            if not answer.ok:
                raise PackError(
                    f"The real head could not be fetched: the server answered {answer.status} for {part.file}."
                )
            reader, start, here = answer.body.getReader(), self.done, 0
            content = bytearray(part.size)
            while True:
                step = await reader.read()
                if step.done:
                    return content[:here]
                size = int(step.value.length)
                if here + size > part.size:
                    await reader.cancel()
                    raise PackError(f"{part.file} is longer than the {part.size:,} bytes that were expected.")
                step.value.assign_to(memoryview(content)[here : here + size])
                here += size
                self.done = start + here
                self.draw()
        except JsException as error:
            self.done = min(self.done, self.total)
            if self.abort.signal.aborted:
                raise Cancelled from None
            raise error

    # the browser's cache; where there is none (some frames), the model lasts as long as the page

    def _address(self, part: Part) -> str:
        return str(self.url).rpartition("/")[0] + "/" + part.file

    async def _cache(self) -> Any:
        try:
            return await window.caches.open(CACHE)
        except (JsException, AttributeError):
            return None

    async def _cached_size(self) -> int:
        """Bytes of the parts that the browser has already, unchecked."""
        cache, size = await self._cache(), 0
        try:
            kept = await cache.match(self.url) if cache else None
            if kept:
                for part in read_manifest(str(await kept.text())).parts:
                    if await cache.match(self._address(part)):
                        size += part.size
        except (JsException, LabError):
            return 0
        return size

    async def _kept(self, part: Part) -> bytes | bytearray | None:
        """The part as the cache has it, if it is whole; a damaged one is thrown away."""
        cache = await self._cache()
        if not cache:
            return None
        try:
            kept = await cache.match(self._address(part))
            if not kept:
                return None
            content: bytes = (await kept.arrayBuffer()).to_bytes()
            check(part, content)
        except JsException:
            return None
        except PackError:
            await cache.delete(self._address(part))
            return None
        return content

    async def _keep(self, part: Part, content: bytes | bytearray) -> None:
        cache = await self._cache()
        if cache:
            await self._put(cache, self._address(part), to_js(content))

    async def _forget_others(self, facts: Manifest) -> None:
        """Throw away the parts of older packs: nobody else does."""
        cache = await self._cache()
        if not cache:
            return
        known = {str(self.url).rpartition("/")[2], *(part.file for part in facts.parts)}
        with suppress(JsException):
            for request in await cache.keys():
                if str(request.url).rpartition("/")[2] not in known:
                    await cache.delete(request)

    async def _put(self, cache: Any, address: str, body: Any) -> None:
        try:
            await cache.put(address, window.Response.new(body))
        except JsException:
            return  # the disk is full or closed to us: the page goes on without

    # computing, a slice at a time: whatever the reader does meanwhile comes first, and makes older work stop

    def waits(self, state: State) -> bool:
        """Whether numbers that this state shows are still to be computed. Then they are, and the app is drawn after."""
        for what in self.turns:
            self.turns[what] += 1
        jobs = list(self._jobs(state))
        if jobs:
            self._spawn(self._compute(jobs))
        return bool(jobs)

    def _jobs(self, state: State) -> Iterator[tuple[Pass, int]]:
        """The sentences, and up to which layer, of a state and of what it is compared with."""
        encoder = Current.encoder
        for each in (state, state.second()):
            if encoder is None or each is None or not each.real_head or each.text is None:
                continue
            if each.layer >= encoder.ready:
                continue  # not here: the view says so
            with suppress(LabError):  # the sentence has an error of its own: the view says so too
                sentence = encoder.pass_of(each.text)
                if len(sentence.done) <= each.layer:
                    yield sentence, each.layer

    async def _compute(self, jobs: list[tuple[Pass, int]]) -> None:
        begun, turn, told = window.performance.now(), self.turns["view"], -1
        for sentence, layer in jobs:
            async for _ in self._slices("view", sentence, layer):
                if len(sentence.done) != told and window.performance.now() - begun > PATIENCE:
                    told = len(sentence.done)
                    self.app.wait_for(
                        f"Computing: {len(sentence.done)} of {layer + 1} layers for {len(sentence.pieces)} pieces …"
                    )
        if turn == self.turns["view"]:
            self.app.show(write_form=False)

    async def _slices(self, what: str, sentence: Pass, layer: int) -> AsyncIterator[None]:
        """Compute up to a layer; after each slice the page has its turn. Ends early when this work is stale."""
        turn = self.turns[what]
        until = window.performance.now() + SLICE
        for _ in sentence.steps(layer):
            if window.performance.now() >= until:
                yield
                await asyncio.sleep(0)
                if turn != self.turns[what]:
                    return
                until = window.performance.now() + SLICE

    def show_heads(self) -> None:
        """Draw the table of all heads, computing what is missing."""
        self.turns["heads"] += 1
        self._spawn(self._draw_heads())

    async def _draw_heads(self) -> None:
        encoder, state, turn = Current.encoder, self.app.state, self.turns["heads"]
        if encoder is None or state.lab != "heatmap" or not state.real_head or not encoder.ready:
            return
        try:
            sentence: Pass = encoder.pass_of(state.text or "")
            for layer in range(encoder.ready):
                async for _ in self._slices("heads", sentence, layer):
                    pass
                if turn != self.turns["heads"]:
                    return
                small_heads(sentence, layer)
                await asyncio.sleep(0)
        except LabError:
            return  # the sentence has an error of its own, which stands beside it
        if turn == self.turns["heads"]:
            self.app._write({"heatmap-heads": heads(sentence, self.app.state)})
