"""State ↔ URL fragment: round trips, neutral defaults, hand-written links, bad values and packing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.state import MAX_UNPACKED, OPENING, State, compact_matrix, pack, unpack


def test_no_key_opens_the_calculator_with_its_example() -> None:
    state = State.from_fragment("")
    assert (state.lab, state.example, state.scale, state.causal, state.T) == (
        "calculator",
        "identity",
        "sqrt_dk",
        None,
        1.0,
    )


@pytest.mark.parametrize("lab", sorted(OPENING))
def test_a_lab_without_any_key_writes_its_options_out(lab: str) -> None:
    state = State.from_fragment(f"#lab={lab}")
    assert state == State.opening(lab)
    assert State.from_fragment(state.to_fragment()) == state


def test_view_keys_alone_keep_the_opening_example() -> None:
    state = State.from_fragment("lab=walkthrough&step=7")
    assert (state.example, state.causal, state.step) == ("walkthrough-masked", "top-left", 7)


def test_an_absent_option_is_neutral() -> None:
    state = State.from_fragment("lab=walkthrough&example=walkthrough-masked")
    assert state.causal is None and state.T == 1.0 and state.positions is None


def test_a_hand_written_link() -> None:
    state = State.from_fragment(
        "q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&scale=0.25&T=2&causal=-1&window=2,&heads=4,2&row=1"
    )
    assert (state.scale, state.T, state.causal, state.window, state.heads, state.row) == (
        0.25,
        2.0,
        -1,
        (2, None),
        (4, 2),
        1,
    )
    assert state.q == "1,0;0,1" and state.notes == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("T=0", "T"),
        ("T=nan", "T"),
        ("T=1_0", "T"),
        ("T=1e999", "T"),
        ("scale=big", "scale"),
        ("causal=sideways", "causal"),
        ("window=1", "window"),
        ("window=-1,2", "window"),
        ("lab=kitchen", "lab"),
        ("decimals=13", "decimals"),
        ("row=-1", "row"),
        ("heads=0,1", "heads"),
        ("embed=yes", "embed"),
        ("precision=float8", "precision"),
        ("seed=1e3", "seed"),
    ],
)
def test_a_bad_value_falls_back_and_says_so(text: str, key: str) -> None:
    state = State.from_fragment(text)
    assert getattr(state, key) == getattr(State(), key)
    assert [note.key for note in state.notes] == [key]
    assert "expected" in state.notes[0].message and text.partition("=")[2] in state.notes[0].message


@pytest.mark.parametrize(
    ("key", "value"), [("example", "nowhere"), ("framework", "abacus"), ("d", "4096"), ("d", "3")]
)
def test_an_unknown_name_falls_back_and_says_so(key: str, value: str) -> None:
    state = State.from_fragment(f"{key}={value}")
    assert state.example == "identity" and [note.key for note in state.notes] == [key]
    assert value in state.notes[0].message and "expected" in state.notes[0].message


def test_a_framework_sets_what_the_link_leaves_open() -> None:
    state = State.from_fragment("example=cross&framework=Keras-Attention")
    assert (state.framework, state.scale, state.empty) == ("keras-attention", "none", "uniform")
    asked = State.from_fragment("example=cross&framework=keras-attention&scale=sqrt_dk")
    assert asked.scale == "sqrt_dk"
    for one in (state, asked, State.from_fragment("framework=pytorch")):
        assert State.from_fragment(one.to_fragment()) == one


def test_unknown_keys_are_kept() -> None:
    state = State.from_fragment("future=a%20b&T=2")
    assert dict(state.unknown) == {"future": "a b"}
    assert "future=a%20b" in state.to_fragment()


def test_plus_is_a_plus() -> None:
    assert State.from_fragment("q=1e+3,2").q == "1e+3,2"


def test_text_and_labels_survive() -> None:
    state = State(text="cats & dogs; 100 % = «ok» 👍🏽 #1", labels=("a,b", "c%2C", ""))
    assert State.from_fragment(state.to_fragment()) == state


@pytest.mark.parametrize(
    ("typed", "compact"),
    [
        ("1 0\n0 1", "1,0;0,1"),
        ("1, 0\n0 ,1\n", "1,0;0,1"),
        ("\u22121\t2", "-1,2"),
        ("1,5 2,5", "1,5 2,5"),  # decimal commas or separators: not ours to decide
        ("[[1, 2]]", "[[1, 2]]"),
        ("", ""),
    ],
)
def test_compact_matrix(typed: str, compact: str) -> None:
    assert compact_matrix(typed) == compact


def test_with_values_removes_and_replaces() -> None:
    state = State(row=3, T=2.0).with_values({"row": "", "T": "0.5"})
    assert (state.row, state.T) == (None, 0.5)


def test_long_states_are_packed_and_read_back() -> None:
    state = State(q="1,2;" * 4000, k="1,2", v="1,2")
    packed = state.to_fragment(pack_above=2000)
    assert packed.startswith("z=") and len(packed) < 400
    assert State.from_fragment(packed) == State.from_fragment(state.to_fragment())


@pytest.mark.parametrize("damage", ["!!!!", "AAAA", "z" * 50, pack("T=2")[:-2]])
def test_a_damaged_packed_state_is_said(damage: str) -> None:
    state = State.from_fragment("z=" + damage)
    assert [note.key for note in state.notes] == ["z"]


def test_a_packed_bomb_is_refused_without_unpacking_it_whole() -> None:
    with pytest.raises(ValueError, match="more than"):
        unpack(pack("a" * (MAX_UNPACKED + 1)))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_fragment_raises(text: str) -> None:
    state = State.from_fragment(text)
    assert State.from_fragment(state.to_fragment()).to_fragment() == state.to_fragment()


@settings(deadline=None)
@given(
    st.builds(
        State,
        lab=st.sampled_from(["calculator", "walkthrough", "heatmap", "check"]),
        q=st.text(max_size=20).map(lambda t: compact_matrix(t)),
        T=st.floats(1e-300, 1e300),
        scale=st.one_of(st.sampled_from(["sqrt_dk", "none"]), st.floats(-1e300, 1e300)),
        causal=st.one_of(st.none(), st.sampled_from(["top-left", "bottom-right"]), st.integers(-9, 9)),
        window=st.one_of(st.none(), st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))),
        labels=st.one_of(st.none(), st.lists(st.text(max_size=5), min_size=2, max_size=4).map(tuple)),
        row=st.none() | st.integers(0, 99),
        hide=st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(tuple),
        predict=st.booleans(),
    )
)
def test_round_trip(state: State) -> None:
    again = State.from_fragment(state.to_fragment())
    assert again == state and again.notes == ()
