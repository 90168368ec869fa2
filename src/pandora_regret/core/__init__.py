r"""The paper: how a forecast becomes the cost of the search that it orders.

A value flows through this package in one direction:

1. `inputs`: arrays and frames (`kinds.py` says which) become a checked `Forecast`. Row n has a truth i, a weight,
   and probabilities p_1 ... p_K (or logits; the formulas need quotients p_i / p_j alone).
2. `priors`: what the test of class k costs, c_k = C_k u_k: a known C_k times a random unit cost u_k. With
   q_k = p_k / C_k, the optimal search tests by falling p_k / c_k, so that the test of j comes before that of the
   truth i where u_j < u_i q_j / q_i. Its expected cost is a directed pair loss,

       L(r) = E[u_j 1(u_j < u_i / r)] + ties / 2,   r = q_i / q_j,

   and for u ~ Beta(alpha, 1) it is L = alpha^2 / ((alpha + 1) (2 alpha + 1)) L_alpha with L_alpha(1) = 1:

       L_alpha(r) = 1 + (1 + 1/alpha) (1 - r^alpha)  for r <= 1,   r^-(alpha + 1)  for r > 1.

3. `kernels`: the loss of a row is a sum over pairs, sum_{j != i} C_j L(q_i / q_j). `reference.py` is the
   specification; compiled, GPU and array-API kernels are tested against it.
4. `tally`: weighted sums of what rows lose, which can be merged; their mean is the score.
5. `scores`: `expected_search_cost` = C_i E[u_i] + sum_j C_j L(q_i / q_j); normalised, `pandora_regret`
   = sum_j L_alpha(p_i / p_j) / (3 (K - 1)). `entropy`: what a forecast expects its own search to cost, and the
   divergence from what it should have said. `search`: the search itself, at known costs.
6. `imperfect` (tests that miss), `decisions` (log loss, accuracy and macro-F1 as decision problems), `costs`
   (pathways of tests as TOML files, which `records` reads and `atomic` writes), `array_api` (torch, JAX, CuPy).
"""
