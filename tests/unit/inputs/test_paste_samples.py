"""The 24 texts that people paste, with what each must give: values, warnings, error code, both readings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_lab.inputs.paste import PasteError, parse_matrix

SAMPLES = json.loads((Path(__file__).parent / "paste_samples.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("sample", SAMPLES, ids=[f"{s['id']} {s['kind']}" for s in SAMPLES])
def test_sample(sample: dict[str, Any]) -> None:
    if sample["error"]:
        with pytest.raises(PasteError) as caught:
            parse_matrix(sample["text"])
        assert caught.value.code == sample["error"]
        assert caught.value.line is not None
        assert f"line {caught.value.line}, column {caught.value.column}" in str(caught.value)
        readings = {label: parsed.values.tolist() for label, parsed in caught.value.alternatives}
        assert readings == (sample["alternatives"] or {})
    else:
        parsed = parse_matrix(sample["text"])
        np.testing.assert_array_equal(parsed.values.astype(float), np.array(sample["expect"]).astype(float))
        assert list(parsed.warnings) == sample["warnings"]
        assert parsed.resolution.shape == parsed.values.shape
