"""Writes models of JAX and Flax as graphs, with what JAX computes: run by a Python that has both.

`models.py FOLDER NAME …`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

Array = np.ndarray[Any, Any]
Made = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    return np.random.default_rng([seed, *shape]).normal(0, scale, shape).astype(np.float32)


def mlp() -> Made:
    import jax

    weights = {
        f"dense_{n}": {"kernel": drawn(16, 16, seed=n, scale=0.3), "bias": drawn(16)} for n in range(3)
    }

    def apply(params: Any, x: Any) -> Any:
        for name in sorted(params):
            x = jax.nn.gelu(x @ params[name]["kernel"] + params[name]["bias"])
        return {"logits": jax.nn.log_softmax(x), "best": x.argmax(-1)}

    return apply, (weights, drawn(5, 16))


def cnn() -> Made:
    import jax.numpy as jnp
    from jax import lax, nn

    kernels = drawn(8, 3, 3, 3, scale=0.3), drawn(16, 8, 3, 3, scale=0.2), drawn(16, 10, scale=0.3)

    def apply(x: Any) -> Any:
        for kernel in kernels[:2]:
            x = nn.relu(lax.conv(x, kernel, (1, 1), "SAME"))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return x.mean((2, 3)) @ kernels[2]

    return apply, (drawn(2, 3, 16, 16),)


def rnn() -> Made:
    import jax.numpy as jnp
    from jax import lax

    kernel, inner = drawn(8, 12, scale=0.4), drawn(12, 12, scale=0.3)

    def step(state: Any, x: Any) -> Any:
        state = jnp.tanh(x @ kernel + state @ inner)
        return state, state

    return lambda x: lax.scan(step, jnp.zeros((3, 12)), x)[1][-1], (drawn(20, 3, 8),)


def transformer() -> Made:
    import jax
    import jax.numpy as jnp

    width, heads = 32, 4
    matrices = {name: drawn(width, width, seed=ord(name), scale=0.2) for name in "qkvo"}
    wide, narrow = drawn(width, 64, scale=0.2), drawn(64, width, scale=0.2)
    table = jnp.asarray(drawn(50, width))

    def norm(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def apply(tokens: Any) -> Any:
        x = table[tokens]
        y = norm(x)
        q, k, v = (jnp.reshape(y @ matrices[one], (*y.shape[:2], heads, -1)) for one in "qkv")
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(width // heads)
        mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
        mixed = jnp.einsum("bhts,bshd->bthd", weights, v).reshape(x.shape)
        x = x + mixed @ matrices["o"]
        return x + jax.nn.gelu(norm(x) @ wide) @ narrow

    return apply, (np.arange(14, dtype=np.int32).reshape(2, 7) % 50,)


def _flax(module: Any, *arguments: Any) -> Made:
    import jax

    params = module.init(jax.random.key(0), *arguments)
    return lambda *given: module.apply(params, *given), arguments


def flax_mlp() -> Made:
    from flax import linen as nn

    return _flax(nn.Sequential([nn.Dense(32), nn.relu, nn.LayerNorm(), nn.Dense(4)]), drawn(3, 8))


def flax_cnn() -> Made:
    from flax import linen as nn

    class Net(nn.Module):  # type: ignore[misc]
        @nn.compact  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            x = nn.relu(nn.BatchNorm(use_running_average=True)(nn.Conv(8, (3, 3))(x)))
            x = nn.max_pool(x, (2, 2), (2, 2))
            x = nn.Conv(8, (3, 3), feature_group_count=8, padding="VALID")(x)
            x = nn.avg_pool(nn.silu(x), (2, 2), (2, 2), "SAME")
            x = nn.ConvTranspose(4, (3, 3), (2, 2))(x)
            return nn.Dense(5)(x.reshape(x.shape[0], -1))

    return _flax(Net(), drawn(2, 12, 12, 3))


def flax_transformer() -> Made:
    from flax import linen as nn

    class Block(nn.Module):  # type: ignore[misc]
        @nn.compact  # type: ignore[untyped-decorator]
        def __call__(self, tokens: Any) -> Any:
            x = nn.Embed(40, 16)(tokens)
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(4)(y, y, mask=nn.make_causal_mask(tokens))
            return x + nn.Dense(16)(nn.gelu(nn.Dense(48)(nn.LayerNorm()(x))))

    return _flax(Block(), np.arange(12, dtype=np.int32).reshape(2, 6))


def flax_lstm() -> Made:
    from flax import linen as nn

    return _flax(nn.RNN(nn.OptimizedLSTMCell(8)), drawn(2, 9, 5))


MODELS = {
    one.__name__: one for one in (mlp, cnn, rnn, transformer, flax_mlp, flax_cnn, flax_transformer, flax_lstm)
}


def main(folder: Path, names: list[str]) -> None:
    import jax

    import tosajit as tj

    for name in names:
        function, arguments = MODELS[name]()
        graph = tj.from_jax(function, *arguments)
        tj.save(graph, folder / f"{name}.tosa")
        given = {f"in{n}": one for n, one in enumerate(jax.tree.leaves(arguments))}
        results = {f"out{n}": one for n, one in enumerate(jax.tree.leaves(jax.jit(function)(*arguments)))}
        np.savez(folder / f"{name}.npz", **given, **results)
    (folder / "said.json").write_text(json.dumps(said()))


def said() -> dict[str, Any]:
    """What can only be seen where JAX is: arrays of its own that go in, memory that is shared, refusals."""
    import jax
    import jax.numpy as jnp

    import tosajit as tj

    weights = jnp.ones((300, 400))
    graph = tj.from_jax(lambda x: (x + weights, x * weights), jnp.ones((300, 400)))
    own = np.asarray(weights)
    shared = [
        value.name
        for value in graph.main.values.values()
        if value.data is not None and np.shares_memory(value.data, own)
    ]
    given = {"a": jnp.ones(3), "b": np.ones(3, np.float32)}
    run = tj.from_jax(lambda x: (-x["a"], {"sum": x["a"] + x["b"]}), given).compile(interpret=True)
    first, second = run({"a": jnp.arange(3.0), "b": np.arange(3.0, dtype=np.float32)})
    results = [first.tolist(), second["sum"].tolist()]
    try:
        run(jnp.arange(3.0))
    except tj.InputError as error:
        results.append(str(error))
    refused = ""
    try:
        tj.from_jax(lambda x, key: x + jax.random.normal(key, (3,)), jnp.ones(3), jax.random.key(0))
    except tj.ModelError as error:
        refused = str(error)
    jax.config.update("jax_enable_x64", True)
    wide = tj.from_jax(lambda x: x.sum() + 1, np.arange(3))
    return {
        "shared": shared, "run": results, "refused": refused,
        "int64": [str(one.dtype) for one in wide.outputs], "outside": dict(wide.outside),
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
