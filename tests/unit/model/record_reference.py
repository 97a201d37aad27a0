"""Record what the float32 model of `transformers` gives: `HF_HUB_OFFLINE=1 python record_reference.py FOLDER`.

FOLDER holds the files of all-MiniLM-L6-v2 (model.safetensors, vocab.txt, tokenizer.json, config.json). Needs
torch==2.13.0 and transformers. Writes attention.npz and pieces.txt beside this file; recorded once, on 29 November 2026.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SENTENCES = """
the cat sat on the mat because the cat was tired
The cat sat because it was tired.
The cat sat because it was flat.
The animal did not cross the street because it was too wide.
Kittens sleep and dogs bark.
She opened the window and the cold wind came in.
Why did the teacher laugh?
Two plus two is four.
My brother's bicycle, which he bought in May, is blue.
I never said she stole my money.
A queen and a king walked into the garden.
Rain fell on the roof of the old station all night.
The bank of the river is steep.
The bank gives money to small shops.
If you heat ice it melts.
He gave her the book that she had asked for.
Attention weights add up to one.
no no no no no no
Please send the report by Friday at 5 pm.
The lawyer questioned the witness and then she cried.
Bread, butter and honey for breakfast!
This mountain is almost nine thousand metres high.
It is what it is.
Surprisingly, the hungry hamster escaped into the garden.
""".strip().split("\n")
SCALE = 65535


def main(folder: Path) -> None:
    import torch
    from transformers import AutoTokenizer, BertModel

    tokenizer = AutoTokenizer.from_pretrained(folder)
    lines = (HERE / "sentences.txt").read_text(encoding="utf-8").split("\n")[:-1]
    pieces = [" ".join(tokenizer.convert_ids_to_tokens(tokenizer(line)["input_ids"])) for line in lines]
    (HERE / "pieces.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")

    model = BertModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    recorded = {"sentences": np.frombuffer("\n".join(SENTENCES).encode(), np.uint8)}
    names = []
    for at, sentence in enumerate(SENTENCES):
        with torch.no_grad():
            given = tokenizer(sentence, return_tensors="pt")
            answer = model(**given, output_attentions=True)
        weights = torch.stack([layer[0] for layer in answer.attentions]).numpy()  # (layers, heads, n, n)
        recorded[f"weights.{at}"] = np.rint(weights * SCALE).astype(np.uint16)
        recorded[f"output.{at}"] = answer.last_hidden_state[0, :, :8].numpy().astype(np.float32)
        names.append(" ".join(tokenizer.convert_ids_to_tokens(given["input_ids"][0])))
    recorded["pieces"] = np.frombuffer("\n".join(names).encode(), np.uint8)
    np.savez_compressed(HERE / "attention.npz", **recorded)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
