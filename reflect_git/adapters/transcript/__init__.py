"""The client's transcripts: who said what, what was tried and what came of it.

opening   a transcript is a plain file below the client's projects folder, or is not opened
lines     whole lines in big blocks, those that cannot matter dropped unparsed
words     what of a text a person typed
results   what became of a tool call
queue     words typed while the model worked, each once
turn      what detectors see
reader    from lines to turns, and where to go on next time
calls     the calls of tools alone, in a fifth of the time
dialogs   answered questions, and whether the client wrote them
"""

from reflect_git.adapters.transcript.opening import check_path, open_transcript
from reflect_git.adapters.transcript.reader import Reader, turns
from reflect_git.adapters.transcript.turn import InstructionFile, Turn

__all__ = ["InstructionFile", "Reader", "Turn", "check_path", "open_transcript", "turns"]
