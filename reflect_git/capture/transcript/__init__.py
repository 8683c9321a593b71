"""Read Claude Code's transcripts: what people typed, what the model said and did, and the results.

lines    open a transcript safely and read its complete lines, irrelevant ones dropped unparsed
turn     the turns that detectors see, and which part of a text a person typed
reader   lines to turns, queued and pasted words, results of calls, and where to continue
calls    tool calls only, in a fifth of the time
dialogs  answered questions, and whether Claude Code wrote them
"""

from reflect_git.capture.transcript.lines import check_path, open_transcript
from reflect_git.capture.transcript.reader import TranscriptReader, read_turns
from reflect_git.capture.transcript.turn import InstructionFile, Turn

__all__ = ["InstructionFile", "TranscriptReader", "Turn", "check_path", "open_transcript", "read_turns"]
