"""The process in which files are read and drawn: takes one job after another on its input, until that ends."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.parsers.sandbox_frames import DrawJob, JobDone, JobFailed, ParseJob, received, send
from citewell.errors import CitewellError
from citewell.ingest.parse_allowance import bounded_memory
from citewell.ports import Parser

LOOK_S = 1.0
"""How often the process looks whether whoever started it is still there."""


def do(job: ParseJob | DrawJob, parsers: Mapping[str, Parser]) -> JobDone | JobFailed:
    """Do one job within its memory; what goes wrong is told by name, and quotes no document."""
    try:
        with bounded_memory(job.memory_bytes):
            if isinstance(job, ParseJob):
                parser = parsers[job.media_type]
                return JobDone(parser.parse(job.source, media_type=job.media_type, limits=job.limits))
            # Here and not above: only a process that draws needs pdfium for it.
            from citewell.adapters.parsers.pdf_image import render_page

            return JobDone(render_page(job.data, job.number, width_px=job.width_px))
    except CitewellError as error:
        return JobFailed(type(error).__name__, str(error))
    except Exception as error:
        return JobFailed(type(error).__name__, "")


def end_with(parent: int) -> None:
    """End this process when the one that started it is gone, also in the middle of a job."""
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(os.EX_OK)


def main() -> None:
    """Do what is asked, until nobody asks any more."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the replies
    threading.Thread(target=end_with, args=(int(sys.argv[1]),), daemon=True).start()
    parsers = all_parsers()
    while isinstance(job := received(incoming), ParseJob | DrawJob):
        send(outgoing, do(job, parsers))
        del job
