"""The engines that we compare with: LiteRT, OpenVINO, ONNX Runtime, IREE, SciPy, PyTorch, Arm's model.

`$TOSAJIT_PEERS`, `$TOSAJIT_ONNX`, `$TOSAJIT_TORCH` and `$TOSAJIT_ARM` name the environments (default:
`.venv-peers` and so on, made by `make environments`). An engine runs in a worker process
(`benching/worker.py`) of its environment's Python, and imports nothing but its library and NumPy.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
LINE = 64
"""Bytes of a cache line: arrays of NumPy begin at any multiple of 16, so that vectors may cross lines."""


class Engine(Protocol):
    """Something that runs a network: loaded once, called many times on the same inputs."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Load the network of `job`, bind its inputs; what is worth telling about the engine."""

    @property
    def call(self) -> Callable[[], object]:
        """One inference, nothing else."""

    def outputs(self) -> Sequence[Array]:
        """The results of the latest call, in the order of the network's outputs."""


def loaded(path: str) -> Array:
    """The array of a file at a cache line, where LiteRT and OpenVINO have the copies that they make."""
    array: Array = np.load(path)
    room = np.empty(array.nbytes + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    placed = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    placed[...] = array
    return placed


class LiteRT:
    """LiteRT with XNNPACK: one call is `invoke`, without copies of inputs and outputs."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Open `model.tflite` with `job["threads"]` threads."""
        interpreter = importlib.import_module("ai_edge_litert.interpreter").Interpreter
        self.interpreter = interpreter(model_path=job["model"], num_threads=job["threads"])
        self.interpreter.allocate_tensors()
        for details, path in zip(self.interpreter.get_input_details(), job["inputs"], strict=True):
            self.interpreter.set_tensor(details["index"], np.load(path))
        return {"version": importlib.metadata.version("ai-edge-litert")}

    @property
    def call(self) -> Callable[[], object]:
        """`Interpreter.invoke`."""
        invoke: Callable[[], object] = self.interpreter.invoke
        return invoke

    def outputs(self) -> Sequence[Array]:
        """Copies of the output tensors."""
        return [
            self.interpreter.get_tensor(details["index"]) for details in self.interpreter.get_output_details()
        ]


class OpenVINO:
    """OpenVINO's CPU plug-in with the latency hint; it computes as it likes unless told a precision."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Compile `model.tflite` for `job["threads"]` threads in one stream."""
        openvino = importlib.import_module("openvino")
        options = {
            "INFERENCE_NUM_THREADS": job["threads"],
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1",
        }
        if job.get("precision"):
            options["INFERENCE_PRECISION_HINT"] = job["precision"]
        compiled = openvino.Core().compile_model(job["model"], "CPU", options)
        self.request = compiled.create_infer_request()
        for index, path in enumerate(job["inputs"]):
            self.request.set_input_tensor(index, openvino.Tensor(np.load(path)))
        self.count = len(compiled.outputs)
        precision = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        return {"version": importlib.metadata.version("openvino"), "precision": precision}

    @property
    def call(self) -> Callable[[], object]:
        """`InferRequest.infer` on the tensors that are bound."""
        infer: Callable[[], object] = self.request.infer
        return infer

    def outputs(self) -> Sequence[Array]:
        """Copies of the output tensors."""
        return [np.array(self.request.get_output_tensor(index).data) for index in range(self.count)]


class ONNXRuntime:
    """ONNX Runtime on the CPU with all of its optimisations; a call runs on arrays that are bound."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Open `model.onnx` with `job["threads"]` threads."""
        runtime = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = job["threads"], 1
        session = runtime.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
        self.session, self.bound = session, session.io_binding()
        for given, path in zip(session.get_inputs(), job["inputs"], strict=True):
            self.bound.bind_ortvalue_input(given.name, runtime.OrtValue.ortvalue_from_numpy(loaded(path)))
        for result in session.get_outputs():
            self.bound.bind_output(result.name)
        return {"version": importlib.metadata.version("onnxruntime")}

    @property
    def call(self) -> Callable[[], object]:
        """`InferenceSession.run_with_iobinding`."""
        session, bound = self.session, self.bound
        return lambda: session.run_with_iobinding(bound)

    def outputs(self) -> Sequence[Array]:
        """Copies of the results."""
        return [np.array(one) for one in self.bound.copy_outputs_to_cpu()]


class ArmReference:
    """Arm's reference model through its Python binding; one call reads the file's bytes and evaluates."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Read `model.tosa`."""
        self.run = importlib.import_module("tosa_reference_model").run
        self.content = Path(job["model"]).read_bytes()
        self.inputs = [np.load(path) for path in job["inputs"]]
        self.results: Sequence[Array] = []
        return {"version": importlib.metadata.version("tosa-tools")}

    @property
    def call(self) -> Callable[[], object]:
        """`tosa_reference_model.run`."""
        return self._call

    def outputs(self) -> Sequence[Array]:
        """The output tensors, as arrays of bytes."""
        return self.results

    def _call(self) -> None:
        self.results, status = self.run(self.content, self.inputs)
        if status.name != "TOSA_VALID":
            raise RuntimeError(f"the reference model says {status.name}")


class IREE:
    """IREE for this CPU on the calling thread, with all that its compiler does for speed."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Compile `job["model"]`, text of MLIR's TOSA dialect."""
        compiler, runtime = (importlib.import_module(f"iree.{part}") for part in ("compiler", "runtime"))
        options = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"]
        code = compiler.compile_file(
            job["model"], input_type="tosa", target_backends=["llvm-cpu"], extra_args=options
        )
        config = runtime.Config("local-sync")
        context = runtime.SystemContext(config=config)
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
        self.main = context.modules.module.main
        self.inputs = [runtime.asdevicearray(config.device, np.load(path)) for path in job["inputs"]]
        return {"version": importlib.metadata.version("iree-base-compiler")}

    @property
    def call(self) -> Callable[[], object]:
        """The function on arrays of the device."""
        main, inputs = self.main, self.inputs
        return lambda: main(*inputs)

    def outputs(self) -> Sequence[Array]:
        """Copies of the results."""
        results = self.main(*self.inputs)
        return [item.to_host() for item in (results if isinstance(results, tuple | list) else (results,))]


class SciPy:
    """A function of an array by its name, of `scipy.special` or of NumPy; a call returns a new array."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Bind `job["function"]` and float32 numbers, as many as `job["elements"]`."""
        package = next(
            p for p in ("scipy.special", "numpy") if hasattr(importlib.import_module(p), job["function"])
        )
        self.function: Callable[[Array], Array] = getattr(importlib.import_module(package), job["function"])
        self.numbers: Array = np.random.default_rng(7).standard_normal(job["elements"]).astype(np.float32) * 3
        return {"package": package, "version": importlib.metadata.version(package.split(".")[0])}

    @property
    def call(self) -> Callable[[], object]:
        """The function of the array."""
        function, numbers = self.function, self.numbers
        return lambda: function(numbers)

    def outputs(self) -> Sequence[Array]:
        """What the function gives."""
        return [self.function(self.numbers)]


class Torch:
    """A function of PyTorch by its name on one thread; a call writes to an array that is there."""

    def load(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Bind `job["function"]` and `job["elements"]` float32 numbers, above zero where need be."""
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        self.function: Callable[..., object] = getattr(torch, job["function"])
        count = 2 if job["function"] == "pow" else 1
        numbers = np.random.default_rng(7).standard_normal((count, job["elements"])).astype(np.float32) * 3
        if job["function"] in ("log", "pow"):
            numbers[0] = abs(numbers[0])
        self.numbers = [torch.from_numpy(row.copy()) for row in numbers]
        self.result = torch.empty(job["elements"])
        return {"version": importlib.metadata.version("torch")}

    @property
    def call(self) -> Callable[[], object]:
        """The function of the arrays."""
        function, numbers, result = self.function, self.numbers, self.result
        return lambda: function(*numbers, out=result)

    def outputs(self) -> Sequence[Array]:
        """What the function gives."""
        return [np.array(self.result)]


PEERS: dict[str, type[Engine]] = {
    "litert": LiteRT,
    "openvino": OpenVINO,
    "onnxruntime": ONNXRuntime,
    "iree": IREE,
    "scipy": SciPy,
    "torch": Torch,
    "arm": ArmReference,
}
