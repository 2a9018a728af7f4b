"""What the facts allow at best: gradient boosted trees on them, beside the score card.

Both are fitted anew in eight folds by scenario and judged on what was left out. Needs scikit-learn,
which the project does not depend on. Run: python -m benchmarks.ceiling ROWS, rows from
`python -m benchmarks.calibrate --rows ROWS`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.card_fit import Floats, fit

FOLDS, SEED = 8, 0
_TREES = {"max_iter": 150, "learning_rate": 0.06, "max_leaf_nodes": 12, "l2_regularization": 5.0}

Learner = Callable[[Floats, Floats, Floats], Floats]  # facts, labels, new facts -> chances


def main(arguments: Sequence[str] | None = None) -> int:
    """Print log loss and AUC of both; exit code 2 without scikit-learn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="npz file of benchmarks.calibrate --rows")
    given = parser.parse_args(arguments)
    try:
        ensemble, metrics = (import_module(f"sklearn.{name}") for name in ("ensemble", "metrics"))
    except ImportError:
        sys.stderr.write("scikit-learn is missing -> pip install scikit-learn, here or elsewhere\n")
        return 2
    kept = np.load(given.rows)
    labels, folds = kept["labels"], folds_of(kept["scenario"])
    sys.stdout.write(f"{len(labels)} candidates, {int(labels.sum())} guilty, {FOLDS} folds\n")
    learners = (("score card", card, kept["values"]), ("trees", _trees(ensemble), kept["rows"]))
    for name, learner, facts in learners:
        chances = left_out(learner, facts, labels, folds)
        loss, area = metrics.log_loss(labels, chances), metrics.roc_auc_score(labels, chances)
        sys.stdout.write(f"{name:<11} log loss {loss:.4f}, AUC {area:.4f}\n")
    return 0


def folds_of(scenario: np.ndarray) -> np.ndarray:
    """Fold of every row; the candidates of a scenario stay together."""
    fold = np.random.default_rng(SEED).permutation(int(scenario.max()) + 1) % FOLDS
    return np.asarray(fold[scenario])


def left_out(learner: Learner, facts: Floats, labels: Floats, folds: np.ndarray) -> Floats:
    """Chances of every row from a fit without its fold."""
    chances = np.zeros(len(labels))
    for fold in range(FOLDS):
        out = folds == fold
        if out.any():
            chances[out] = learner(facts[~out], labels[~out], facts[out])
    return chances


def card(facts: Floats, labels: Floats, new: Floats) -> Floats:
    """The score card's own fit."""
    weight, bias = fit(facts, labels)
    return np.asarray(1 / (1 + np.exp(-(bias + new @ weight))), dtype=np.float64)


def _trees(ensemble: Any) -> Learner:
    def learner(facts: Floats, labels: Floats, new: Floats) -> Floats:
        model = ensemble.HistGradientBoostingClassifier(random_state=SEED, **_TREES)
        chances = model.fit(facts, labels).predict_proba(new)[:, 1]
        return np.asarray(chances, dtype=np.float64)

    return learner


if __name__ == "__main__":
    sys.exit(main())
