"""Examples that help texts end with, by command."""

EXAMPLES = {
    "info": (
        ("tosajit info model.tosa", "inputs, operators, MACs, what it needs"),
        ("tosajit info model.tosa --graph", "every node as well"),
        ("tosajit info model.tosa --json", "the same for a script"),
    ),
    "check": (
        ("tosajit check model.tosa", "everything that breaks TOSA 1.0.1"),
        ("tosajit check model.tosa --profile PRO-INT --extension none", "for the integer profile alone"),
    ),
    "run": (
        ("tosajit run model.tosa --random", "on random inputs"),
        ("tosajit run model.tosa --input image=image.npy --output-dir results", "from and to files"),
        ("tosajit run model.tosa --random --repeat 100 --threads 2", "how long it takes"),
    ),
    "program": (
        ("tosajit program model.tosa", "loops for the host"),
        ("tosajit program model.tosa --target tiny --commands", "commands for a very small scratchpad"),
    ),
    "simulate": (
        ("tosajit simulate model.tosa --machine ethos-u85-256", "time by operator and cause"),
        ("tosajit simulate a.tosa b.tosa --machine npu.yaml --html page.html", "several models, as a page"),
        ("tosajit simulate model.tosa --analytic --json -", "the closed form, as JSON"),
    ),
    "explore": (
        ("tosajit explore space.yaml model.tosa --out found", "latency and energy of 1000 machines"),
        (
            "tosajit explore space.yaml a.tosa b.tosa --objective latency --objective area "
            "--strategy nsga2 --points 5000 --confirm 10 --out found",
            "a search; the best ten are simulated",
        ),
        ("tosajit explore --resume found", "go on after Ctrl-C, or worse"),
    ),
    "machines": (
        ("tosajit machines", "names and figures"),
        ("tosajit machines ethos-u55-128 --yaml", "one of them, to be changed"),
    ),
    "convert": (
        ("tosajit convert model.tflite model.tosa", "a TFLite model as TOSA"),
        ("tosajit convert model.tflite model.tosa --signature decode", "one of its functions"),
    ),
    "samples": (
        ("tosajit samples", "names, and what they do"),
        ("tosajit samples ds_cnn", "one of them, in TOSA and TFLite, with inputs and outputs"),
    ),
    "operators": (
        ("tosajit operators --profile PRO-FP", "operators that have a floating-point mode"),
        ("tosajit operators --from tflite", "those of TFLite, and what becomes of them"),
    ),
    "cache": (
        ("tosajit cache", "where it is, and how large"),
        ("tosajit cache warm model.tosa", "compile the kernels of a model now"),
        ("tosajit cache clear", "delete all of them"),
    ),
    "completion": (
        ("tosajit completion bash > ~/.local/share/bash-completion/completions/tosajit", "for bash"),
        ('tosajit completion zsh > "${fpath[1]}/_tosajit"', "for zsh"),
        ("tosajit completion fish > ~/.config/fish/completions/tosajit.fish", "for fish"),
    ),
}
"""A command line each, and what it is for."""

EXITS = """exit codes:
  0    success
  1    something is wrong with a model, its inputs, a file or a result
  2    something is wrong with the command line
  130  interrupted by Ctrl-C"""

ERRORS = """With --json, results are JSON on standard output, an error is a line of JSON on standard error:
{"error": {"kind": "FileError", "message": "..."}}"""


def epilog(command: str) -> str:
    """What the help of a command ends with."""
    lines = [line for text, purpose in EXAMPLES[command] for line in (f"  {text}", f"      {purpose}")]
    return "\n".join(["examples:", *lines, "", EXITS])
