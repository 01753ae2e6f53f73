"""benchmarks/features.py: its statistics, oracle and features on made data with known answers.

Exit code 77 where numpy is not installed."""

import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if importlib.util.find_spec("numpy") is None:
    print("features: skipped, numpy is not installed")
    sys.exit(77)
sys.path.insert(0, str(ROOT / "benchmarks"))
import features  # noqa: E402
import numpy as np  # noqa: E402

COSTS = features.Costs({"rows": [1, 2, 4], "verify_ms": [10, 11, 13], "row_ms": 0.5})


def a_place(ranks, entropy=1.0, top1=0.5, confidences=(0.5, 0.2), chain=(7, 8)):
    return {"ranks": ranks, "entropy": entropy, "top1": top1, "confidences": list(confidences), "chain": list(chain)}


class Statistics(unittest.TestCase):
    def test_equal_values_share_their_rank(self):
        self.assertEqual([1, 2.5, 2.5, 4], features.ranks([10, 20, 20, 30]).tolist())

    def test_correlations_of_a_line_a_curve_and_nothing(self):
        x = np.arange(1, 9)
        self.assertAlmostEqual(-1, features.pearson(x, -3 * x + 5))
        self.assertAlmostEqual(1, features.spearman(x, x**3))
        self.assertLess(features.pearson(x, x**3), 0.97)
        self.assertEqual(0, features.pearson(x, np.ones(8)))
        self.assertAlmostEqual(0.8, features.pearson([1, 2, 3, 4], [1, 3, 2, 4]))

    def test_auroc_is_the_share_of_pairs_in_order_and_ties_are_half(self):
        self.assertEqual(1, features.auroc([1, 2, 3, 4], [False, False, True, True]))
        self.assertEqual(0.75, features.auroc([1, 3, 2, 4], [False, False, True, True]))
        self.assertEqual(0.5, features.auroc([1, 1, 1], [True, False, True]))
        self.assertIsNone(features.auroc([1, 2], [True, True]))

    def test_gradients_are_those_of_the_loss(self):
        draws = np.random.default_rng(1)
        x, labels = draws.normal(size=(20, 3)), draws.integers(0, 2, 20)
        network = features.Perceptron(x, labels, hidden=4, steps=0)
        x = (x - network.mean) / network.scale

        def loss():
            scores = np.maximum(x @ network.weights[0] + network.weights[1], 0) @ network.weights[2] + network.weights[3]
            return np.mean(np.log1p(np.exp(scores)) - labels * scores)

        for i, gradient in enumerate(network.gradients(x, labels)):
            for at in np.ndindex(gradient.shape):
                held = network.weights[i][at]
                around = []
                for step in (1e-5, -1e-5):
                    network.weights[i][at] = held + step
                    around.append(loss())
                network.weights[i][at] = held
                self.assertAlmostEqual((around[0] - around[1]) / 2e-5, gradient[at], places=6)

    def test_a_perceptron_learns_what_no_single_feature_tells(self):
        x = np.random.default_rng(2).uniform(-1, 1, (400, 2))
        labels = x[:, 0] * x[:, 1] > 0
        network = features.Perceptron(x[:300], labels[:300], steps=800, rate=0.03)
        self.assertGreater(features.auroc(network.scores(x[300:]), labels[300:]), 0.95)
        self.assertLess(abs(features.auroc(x[300:, 0], labels[300:]) - 0.5), 0.15)

    def test_a_prompt_is_never_on_both_sides(self):
        prompts = np.repeat([0, 1, 2], 4)
        labels = np.tile([True, False, True, False], 3)
        x, seen = np.arange(12.0)[:, None], []

        def score(known, of, new):
            seen.append((set(known[:, 0] // 4), set(new[:, 0] // 4)))
            return new[:, 0]

        features.left_out(x, labels, prompts, score)
        self.assertEqual([({1, 2}, {0}), ({0, 2}, {1}), ({0, 1}, {2})], seen)

    def test_a_feature_that_knows_its_prompt_alone_tells_nothing(self):
        prompts = np.repeat([0, 1], 4)
        labels = np.array([True, True, True, False, False, False, False, True])
        self.assertGreater(features.auroc(-prompts, labels), 0.7)
        self.assertEqual(0.5, features.left_out(prompts[:, None], labels, prompts, lambda seen, known, new: new[:, 0]))


class Rounds(unittest.TestCase):
    def test_features_of_a_round(self):
        places = [a_place([], chain=(1, 2)), a_place([], entropy=3.0, chain=(2, 9))]
        found = features.features_at(places, 1, [1.0, 3.0], [1, 2, 3, 4, 2])
        self.assertAlmostEqual(1 + 0.3 * 2, found["running entropy"])
        self.assertAlmostEqual(0.05, found["path value"])
        self.assertAlmostEqual(0.25 + 0.05, found["path values, sum"])
        self.assertEqual(1, found["heads agree"])
        self.assertEqual([2, 2.75, 2, 4], [found[each] for each in ("last length", "last 4, mean", "last 4, least", "last 4, most")])

    def test_rows_are_of_the_length_that_follows(self):
        text = {"places": [a_place([])] * 6, "rounds": {"published": [[0, 2, 1, 1], [2, 2, 0, 1], [3, 2, 2, 1]]}}
        rows = features.rows_of(text)
        self.assertEqual([1, 3], [length for _, length in rows])
        self.assertEqual([2, 1], [of["last length"] for of, _ in rows])

    def test_a_tree_accepts_the_ranks_that_are_a_path_of_it(self):
        paths = {(0,), (1,), (0, 2)}
        for ranks, accepted in (([0, 2], 2), ([0, 0], 1), ([1, 0], 1), ([2], 0), ([-1], 0), ([], 0)):
            self.assertEqual(accepted, features.accepted_by(paths, ranks))

    def test_a_round_costs_its_rows_and_the_heads_it_asks(self):
        self.assertEqual([10, 11.5, 13 + 1, 15 + 1.5], [COSTS.of(paths) for paths in
                         (set(), {(0,)}, {(0,), (1,), (0, 0)}, {(0,), (1,), (0, 0), (1, 0), (1, 1)})])  # fmt: skip

    def test_the_oracle_is_the_best_of_all_choices(self):
        draws = np.random.default_rng(3)
        bank = [{"paths": []}, {"paths": [[0]]}, {"paths": [[0], [1], [0, 0]]}]
        for _ in range(5):
            places = [a_place(draws.integers(0, 3, 2).tolist()) for _ in range(8)]

            def times(place):
                """Of every sequence of trees from there on."""
                if place + 2 >= len(places):
                    return [0]
                paths = [{tuple(path) for path in tree["paths"]} for tree in bank]
                return [COSTS.of(each) + later for each in paths for later in times(place + 1 + features.accepted_by(each, places[place]["ranks"]))]

            self.assertAlmostEqual(min(times(0)), features.oracle({"places": places}, bank, COSTS)[1])

    def test_the_parts_of_a_gain_multiply_to_it(self):
        round_of = lambda length, milliseconds: {"length": length, "milliseconds": milliseconds, "speed": 1000 * length / milliseconds}
        parts = features.taken_apart({"published": round_of(2, 40), "static": round_of(1.5, 10), "threshold": round_of(1.6, 10)})
        self.assertAlmostEqual(parts["all"], parts["smaller tree"] * parts["longer acceptance"] * parts["scheduler"])
        self.assertEqual(4, parts["smaller tree"])


if __name__ == "__main__":
    unittest.main()
