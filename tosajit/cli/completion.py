"""`tosajit completion`: scripts that make a shell complete commands, written from the parser."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterator
from dataclasses import dataclass


def run(options: Namespace) -> int:
    """Print the script of a shell."""
    from tosajit.cli.arguments import parser

    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](parser()), end="")
    return 0


@dataclass(frozen=True)
class Word:
    """An option, or something else that a command takes, with the values that are known of it."""

    names: tuple[str, ...]
    help: str
    takes: bool
    """Whether a value follows."""
    values: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command by the words that lead to it, with what it takes."""

    path: tuple[str, ...]
    help: str
    words: tuple[Word, ...]
    inner: tuple[Command, ...]

    @property
    def options(self) -> Iterator[Word]:
        """Words that have names."""
        return (word for word in self.words if word.names)

    @property
    def firsts(self) -> tuple[str, ...]:
        """What may stand behind it, besides options and files."""
        values = (value for word in self.words if not word.names for value in word.values)
        return (*(one.path[-1] for one in self.inner), *values)


def commands(parser: ArgumentParser, path: tuple[str, ...] = (), summary: str = "") -> Command:
    """A parser as a tree of commands."""
    words, inner = [], []
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            summaries = {one.dest: one.help or "" for one in action._choices_actions}
            inner += [
                commands(made, (*path, name), summaries.get(name, ""))
                for name, made in action.choices.items()
            ]
        else:
            words.append(_word(action))
    return Command(path, summary, tuple(words), tuple(inner))


def _word(action: Action) -> Word:
    values = tuple(map(str, action.choices or _known(action)))
    text = (action.help or "") % {"default": action.default}
    return Word(tuple(action.option_strings), text, action.nargs != 0, values)


def _known(action: Action) -> tuple[str, ...]:
    """Names of machines or samples, where one of them is asked for."""
    if action.dest == "machine" or action.metavar == "MACHINE":
        from sim.machine.catalog import machines

        return tuple(machines())
    if action.metavar == "SAMPLE":
        from tosajit import samples

        return samples.names()
    return ()


def _all(command: Command) -> Iterator[Command]:
    yield command
    for one in command.inner:
        yield from _all(one)


def bash(parser: ArgumentParser) -> str:
    """A function for bash's `complete`."""
    every = list(_all(commands(parser)))
    paths = " ".join(f"'{' '.join(one.path)}'" for one in every if one.path)
    cases, values = [], []
    for one in every:
        names = [name for word in one.options for name in word.names]
        cases.append(f"    '{' '.join(one.path)}') words='{' '.join([*one.firsts, *names])}' ;;")
        for word in one.options:
            if word.takes:
                where = "|".join(f"'{' '.join(one.path)}:{name}'" for name in word.names)
                values.append(f"    {where}) words='{' '.join(word.values)}'; value=1 ;;")
    return BASH.format(paths=paths, cases="\n".join(cases), values="\n".join(values))


BASH = """# Completion of tosajit for bash; made by `tosajit completion bash`.
_tosajit() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local path='' word known words='' value=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    for known in {paths}; do
      if [[ "${{path:+$path }}$word" == "$known" ]]; then path="$known"; fi
    done
  done
  case "$path:$before" in
{values}
  esac
  if [[ -z $value ]]; then
    case "$path" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $current != -* ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _tosajit tosajit
"""


def zsh(parser: ArgumentParser) -> str:
    """A function for zsh's `compdef`."""
    functions = [text for one in _all(commands(parser)) for text in _zsh_function(one)]
    return "\n".join([ZSH_HEAD, *functions, ZSH_END, ""])


ZSH_HEAD = """#compdef tosajit
# Completion of tosajit for zsh; made by `tosajit completion zsh`.
"""
ZSH_END = """
if [[ $funcstack[1] == _tosajit ]]; then _tosajit "$@"; else compdef _tosajit tosajit; fi"""


def _zsh_function(command: Command) -> Iterator[str]:
    yield f"{_zsh_name(command.path)}() {{"
    specs = [_zsh_option(word, name) for word in command.options for name in word.names]
    if command.inner:
        listed = " ".join(_zsh(f"{one.path[-1]}:{one.help.replace(':', ' ')}") for one in command.inner)
        yield "  local line state"
        specs += ["'1: :->command'", "'*:: :->rest'"]
        yield f"  _arguments -C {' '.join(specs)}"
        yield "  case $state in"
        yield f"    command) local -a found; found=({listed}); _describe command found ;;"
        yield "    rest)"
        yield "      case $line[1] in"
        yield from (f"        {one.path[-1]}) {_zsh_name(one.path)} ;;" for one in command.inner)
        yield "      esac ;;"
        yield "  esac"
    else:
        values = " ".join(command.firsts)
        specs.append(_zsh(f"*: :{{ compadd -- {values}; _files }}" if values else "*: :_files"))
        yield f"  _arguments {' '.join(specs)}"
    yield "}"


def _zsh_name(path: tuple[str, ...]) -> str:
    return "_".join(("_tosajit", *path))


def _zsh_option(word: Word, name: str) -> str:
    text = "".join(" " if letter in "[]:" else letter for letter in word.help)
    value = ""
    if word.takes:
        value = f": :({' '.join(word.values)})" if word.values else ": :_files"
    return _zsh(f"*{name}[{text}]{value}")


def _zsh(text: str) -> str:
    """A word of a shell."""
    quoted = text.replace("'", "'\\''")
    return f"'{quoted}'"


def fish(parser: ArgumentParser) -> str:
    """Lines of fish's `complete`."""
    top = commands(parser)
    lines = ["# Completion of tosajit for fish; made by `tosajit completion fish`."]
    for one in _all(top):
        lines += _fish_lines(one)
    return "\n".join([*lines, ""])


def _fish_lines(command: Command) -> Iterator[str]:
    where = " ".join(f"__fish_seen_subcommand_from {name}; and" for name in command.path).removesuffix(
        "; and"
    )
    seen = f" -n '{where}'" if where else ""
    names = " ".join(one.path[-1] for one in command.inner)
    for one in command.inner:
        first = f"not __fish_seen_subcommand_from {names}"
        both = f"{where}; and {first}" if where else first
        yield f"complete -c tosajit -n '{both}' -a {one.path[-1]} -d {_fish(one.help)}"
    for value in (value for word in command.words if not word.names for value in word.values):
        yield f"complete -c tosajit{seen} -a {value}"
    for word in command.options:
        forms = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names
        )
        value = ""
        if word.takes:
            value = f" -x -a '{' '.join(word.values)}'" if word.values else " -r"
        yield f"complete -c tosajit{seen} {forms}{value} -d {_fish(word.help)}"


def _fish(text: str) -> str:
    """A word of a shell."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"
