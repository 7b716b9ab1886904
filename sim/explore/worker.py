"""A process that evaluates points for another one, as it is told through pipes."""

from __future__ import annotations

import os
import pickle
import traceback

import sim.analytic.search  # noqa: F401  (while the other process gets ready)
from sim.explore.work import Evaluator


def serve() -> None:
    """Answer until the pipe ends; whatever is printed meanwhile goes to the other process's errors."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    evaluator: Evaluator | None = None
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        answer: tuple[bool, object]
        try:
            if evaluator is None:
                evaluator = pickle.loads(question)
                answer = True, None
            else:
                answer = True, evaluator(*question)
        except Exception as error:
            answer = False, _sendable(error)
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            os._exit(0)


def _sendable(error: Exception) -> Exception:
    """An error with where it was, as what it is if that can be sent."""
    where = "".join(traceback.format_exception(error)).rstrip()
    error.add_note(f"in a worker:\n{where}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(where)
    return error
