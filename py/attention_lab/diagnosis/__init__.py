"""Check mine: what someone's attention numbers are, and which mistake gives them.

    diagnose(q, k, v, observed, options) -> Diagnosis
    diagnose_steps(…)                    -> the same in pieces, for a page that must stay responsive
    make_probe(seed)                     -> a small problem that tells mistakes apart, and its code
    separable(problem)                   -> how many mistakes a given problem can tell apart
"""

from .match import diagnose, diagnose_steps
from .mistakes import CATALOGUE
from .result import Candidate, Diagnosis, Invariant

__all__ = ["CATALOGUE", "Candidate", "Diagnosis", "Invariant", "diagnose", "diagnose_steps"]
