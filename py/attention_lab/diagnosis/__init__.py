"""Check mine: what someone's attention numbers are, and which mistake gives them.

diagnose(q, k, v, observed, options) -> Diagnosis
diagnose_steps(…)                    -> the same in pieces, for a page that must stay responsive
diagnose_stages(q, k, v, arrays)     -> one Diagnosis for each stage given, in order
make_probe(seed)                     -> a small problem that tells mistakes apart; probe_code(probe, language) prints it
separable(problem)                   -> how many mistakes a given problem can tell apart
"""

from .match import diagnose, diagnose_stages, diagnose_steps
from .mistakes import CATALOGUE
from .probe import Probe, make_probe
from .probe_code import probe_code
from .result import Candidate, Diagnosis, Invariant
from .separate import Separation, separable

__all__ = [
    "CATALOGUE",
    "Candidate",
    "Diagnosis",
    "Invariant",
    "Probe",
    "Separation",
    "diagnose",
    "diagnose_stages",
    "diagnose_steps",
    "make_probe",
    "probe_code",
    "separable",
]
