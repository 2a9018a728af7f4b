"""The benchmark as one Markdown page and as figures for machines.

Says first how it was measured and last what the figures are not.
"""

from __future__ import annotations

from typing import Any

from benchmarks import tables_accuracy as accuracy
from benchmarks import tables_other as other
from benchmarks.detect_time import MINUTES, SUITE
from benchmarks.judging import OURS
from benchmarks.results import Benchmark, threshold_of
from benchmarks.scoring import SURE_FROM, false_accusations, figures, interval
from fabric_pipeline.diagnose.localise.judge import ACCUSE_FROM, EXPLAIN_FROM


def render(found: Benchmark) -> str:
    """The whole page."""
    parts = [_head(found)]
    if found.has_ours:
        parts += [_named(found), _apart(found), _calibration(found)]
    if found.parameters:
        parts.append(_methods(found))
    if found.namings:
        parts.append(_naming(found))
    parts += [_runtime(found), _limits()]
    return "\n\n".join(parts) + "\n"


def _head(found: Benchmark) -> str:
    number = sum(len(judged) for judged in found.judged.values())
    return f"""# Benchmark of the diagnosis

Written by `benchmarks/diagnosis.py`; do not edit. **The fleets are generated. No real fleet was measured.**

```
{found.command}
```

- Measured on {found.date} at commit `{found.revision}`; score card: {found.card}.
- {number} scenarios in {len(found.judged)} suites. Seeds from {found.first_seed} on, not used for fitting or tuning. Laws of
  noise, bursts and effects: set `judge`, which shares one of each kind with the training set.
- Every suite has seeds of its own.
- A suite rotates through ten classes of fault; `synth/fleet/spec.py` explains the suites.
- A link counts as found when it is named exactly, by either end. With GPU totals the GPU is the link.
- A guilty link that slowed fewer than three recorded collectives is not looked for; accusing it is wrong.
- The diagnosis accuses from {ACCUSE_FROM} on; between {EXPLAIN_FROM} and that a link is a suspect for a person. Brackets are 95 %
  intervals: bootstrap over scenarios, Wilson for plain shares. A bootstrap of nothing but hits is [1.00, 1.00]."""


def _named(found: Benchmark) -> str:
    return f"""## Which link

{accuracy.suites_table(found)}

Guilty links without any trace are counted apart, see below.

### No guilty link

{accuracy.quiet_table(found)}

### By class of fault

Recall from {ACCUSE_FROM} (guilty links).

{accuracy.classes_table(found)}"""


def _apart(found: Benchmark) -> str:
    parts = []
    if any(one.places for judged in found.judged.values() for one in judged):
        parts.append(f"""### Guilty links without a trace

Neither errors nor a lowered state: no method can name the link. The right place is the NVLinks of the node,
one rail of the node, or the leaf, named while the link slowed something.

{accuracy.untraceable_table(found)}""")
    if any(one.swapped for judged in found.judged.values() for one in judged):
        parts.append(f"""### Swapped cables

The topology file states two rail cables the wrong way round. A link counts as found when either end that
was named belongs to the guilty cable. Baselines are told the true wiring.

{accuracy.miswired_table(found)}""")
    parts.append(f"""### Which kind of cause

Scenarios with at most one cause that reached three recorded collectives. Said is the accused link, else the
strongest slow place. A late host with timed ranks does not slow the transfer, so nothing should be said here;
the straggler stage names it by who came last.

{accuracy.causes_table(found)}

{accuracy.cause_accuracy_table(found)}""")
    return "\n\n".join(parts)


def _calibration(found: Benchmark) -> str:
    return f"""## Is the confidence true

Every erring link that was weighed, accused or not, with the confidence it was given. ECE is the mean distance
of stated confidence and share guilty over ten bins. With few links it is above zero even when every confidence
is true; the column beside it shows by how much. `all` mixes all suites.

{other.calibration_table(found)}

Mean stated confidence → share guilty (links).

{other.reliability_table(found)}"""


def _methods(found: Benchmark) -> str:
    return f"""## Beside other methods

Precision / recall / F1 of the exact link. Baselines accuse or do not; {OURS} counts from {ACCUSE_FROM}.

{accuracy.methods_table(found)}

Accused although no link is guilty:

{accuracy.methods_quiet_table(found)}

Each baseline has the parameter with the best F1 on 120 training scenarios; published checks are as published.

{accuracy.sources_table(found)}"""


def _naming(found: Benchmark) -> str:
    moments = ", ".join(str(minutes) for minutes in MINUTES)
    return f"""## Time to a lasting naming

Suite `{SUITE}`, the first scenarios with a link that makes errors: {len(found.namings)} links. The onset is the first bin in
which the link slowed a recorded collective. Looked at {moments} minutes later, each time without anything
that came after. Lasting: named then and at every later look.

{other.naming_table(found.namings)}"""


def _runtime(found: Benchmark) -> str:
    return f"""## Time and memory

Mean of a window in one process; other processes ran beside it. Reading and counting files is not in it. Peak
memory holds the generator too.

{other.runtime_table(found)}"""


def _limits() -> str:
    return """## What these figures are not

- They are no promise for a real fleet. The simulator is ours; a real one has faults and noise it does not draw.
- They compare methods on the same data. How often links err without harm decides most about precision, and is
  not known here for a real fleet. It also decides how the published checks look: healthy links of these fleets
  count single errors and repeats now and then, which some of the checks do not allow.
- Fitting and judging use different laws and seeds of one generator, not different generators.
- Spikes and verdicts are those of the product. Increments and collectives come straight from the generator, so
  errors of reading and counting are not measured here."""


def summary(found: Benchmark) -> dict[str, Any]:
    """Figures by suite and method for machines."""
    return {
        "command": found.command,
        "date": found.date,
        "revision": found.revision,
        "score_card": found.card,
        "first_seed": found.first_seed,
        "parameters": found.parameters,
        "suites": {
            suite: {method: _figures(found, suite, method) for method in found.methods}
            for suite in found.judged
        },
    }


def _figures(found: Benchmark, suite: str, method: str) -> dict[str, Any]:
    outcomes, level = found.outcomes(suite, method), threshold_of(method)
    mine, sure = figures(outcomes, level), figures(outcomes, SURE_FROM)
    accused, quiet = false_accusations(outcomes, level)
    parts: dict[str, Any] = {
        "threshold": level,
        "precision": mine.precision,
        "recall": mine.recall,
        "f1": mine.f1,
        "f1_interval": interval(outcomes, lambda one: one.f1, level),
        "accused_without_guilty": accused,
        "scenarios_without_guilty": quiet,
    }
    if method == OURS:
        parts |= {"sure_precision": sure.precision, "sure_recall": sure.recall}
    return parts
