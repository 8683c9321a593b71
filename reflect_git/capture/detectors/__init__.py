"""Detectors: find lessons that a transcript shows without anybody stating them.

shell              shell commands in a normal form
outcome            whether a failed call is a real obstacle, a failing test or nothing
common             the fields of a signal, and how close its parts must be
repeated_failures  the same failure again, five in a row, or a turn that Claude Code gave up
fix                a failure, then a form that works
edits              a file that resists edits, and edits that were undone
failed_searches    empty searches, then a hit
repeated_requests  answers that will last, and the same request in several sessions
"""
