"""The examples at the end of each help text."""

EXAMPLES = {
    "info": (
        ("tosajit info model.tosa", "inputs, operators, MACs, profiles and extensions"),
        ("tosajit info model.tosa --graph", "the same, with every node"),
        ("tosajit info model.tosa --json", "the same, for scripts"),
    ),
    "check": (
        ("tosajit check model.tosa", "all violations of TOSA 1.0.1"),
        ("tosajit check model.tosa --profile PRO-INT --extension none", "allow the integer profile only"),
    ),
    "run": (
        ("tosajit run model.tosa --random", "run on random inputs"),
        ("tosajit run model.tosa --input image=image.npy --output-dir results", "read and write files"),
        ("tosajit run model.tosa --random --repeat 100 --threads 2", "measure the run time"),
    ),
    "profile": (
        ("tosajit profile model.tosa", "groups by time, with their speed and what bounds it"),
        ("tosajit profile model.tosa --in-order --top 10", "the first ten, in order of execution"),
    ),
    "build": (
        ("tosajit build model.tosa", "write model.tjx, for this version and CPU"),
        ("tosajit build model.tflite -o out/model.tjx --threads 2", "with two threads"),
    ),
    "program": (
        ("tosajit program model.tosa", "tile loops for the host"),
        ("tosajit program model.tosa --target tiny --commands", "commands for a tiny scratchpad"),
    ),
    "plan": (
        ("tosajit plan model.tosa --machine ethos-u85-256", "tiles, orders, boxes and stripes"),
        ("tosajit plan model.tosa --machine npu.yaml -o plan.json", "write them to a file, to edit"),
        ("tosajit simulate model.tosa --machine npu.yaml --plan plan.json", "time what the file says"),
    ),
    "simulate": (
        ("tosajit simulate model.tosa --machine ethos-u85-256", "time by operator and cause"),
        (
            "tosajit simulate a.tosa b.tosa --machine npu.yaml --html page.html",
            "several models on an HTML page",
        ),
        ("tosajit simulate model.tosa --analytic --json -", "the analytic model, as JSON"),
    ),
    "stream": (
        ("tosajit stream model.tosa --machine ethos-u85-256", "inferences a second, beside the latency"),
        ("tosajit stream model.tosa --machine simba-4 --inferences 16 --json", "sixteen of them, as JSON"),
    ),
    "share": (
        ("tosajit share a.tosa b.tosa --machine ethos-u85-256", "what each takes alone, and with the other"),
        ("tosajit share a.tosa b.tosa --machine simba-4 --share 3 --share 1", "on three cores, and on one"),
    ),
    "why": (
        ("tosajit why model.tflite --machine ethos-u55-128", "the ten sentences that matter most"),
        ("tosajit why model.tosa --machine npu.yaml --count 3 --json", "three of them, as JSON"),
    ),
    "view": (
        ("tosajit view model.tflite", "open the page in a browser"),
        ("tosajit view model.tosa --machine ethos-u85-256 -o page.html", "write it to a file"),
    ),
    "explore": (
        ("tosajit explore space.yaml model.tosa --out found", "latency and energy of 1000 machines"),
        (
            "tosajit explore space.yaml a.tosa b.tosa --objective latency --objective area "
            "--strategy nsga2 --points 5000 --confirm 10 --out found",
            "search, and simulate the ten best",
        ),
        ("tosajit explore --resume found", "continue after Ctrl-C or a crash"),
    ),
    "machines": (
        ("tosajit machines", "names and key figures"),
        ("tosajit machines ethos-u55-128 --yaml", "one machine as YAML, to edit"),
    ),
    "convert": (
        ("tosajit convert model.tflite model.tosa", "convert a TFLite model"),
        ("tosajit convert model.tosa model.mlir", "write a graph as a text of MLIR"),
        ("tosajit convert model.tosa model.nnef2", "write a graph in SkriptND, as a folder of NNEF"),
        ("tosajit convert model.tflite model.tosa --signature decode", "convert one of its signatures"),
    ),
    "quantize": (
        ("tosajit quantize model.tflite -o int8.tosa --samples image=images.npy", "by samples, to bytes"),
        (
            "tosajit quantize model.onnx -o int16.tosa --samples x=rows.npy --activations int16",
            "values of 16 bits",
        ),
    ),
    "samples": (
        ("tosajit samples", "names and descriptions"),
        ("tosajit samples ds_cnn", "write one as TOSA and TFLite, with inputs and outputs"),
    ),
    "operators": (
        ("tosajit operators --profile PRO-FP", "operators that have a floating-point mode"),
        ("tosajit operators --from tflite", "the operators of TFLite, and whether they are supported"),
    ),
    "cache": (
        ("tosajit cache", "location and size"),
        ("tosajit cache warm model.tosa", "compile the kernels of a model ahead of time"),
        ("tosajit cache clear", "delete all kernels"),
    ),
    "completion": (
        ("tosajit completion bash > ~/.local/share/bash-completion/completions/tosajit", "for bash"),
        ('tosajit completion zsh > "${fpath[1]}/_tosajit"', "for zsh"),
        ("tosajit completion fish > ~/.config/fish/completions/tosajit.fish", "for fish"),
    ),
}
"""Command lines, each with its purpose."""

EXITS = """exit codes:
  0    success
  1    a fault in a model, its inputs, a file or a result
  2    a fault in the command line
  130  interrupted by Ctrl-C"""

ERRORS = """With --json, results go to standard output as JSON, and an error to standard error as one line:
{"error": {"kind": "FileError", "message": "..."}}"""


def epilog(command: str) -> str:
    """What the help of a command ends with."""
    lines = [line for text, purpose in EXAMPLES[command] for line in (f"  {text}", f"      {purpose}")]
    return "\n".join(["examples:", *lines, "", EXITS])
