"""What a transcript shows without anybody saying it: one kind of moment, one file.

shell      commands in a normal form
outcome    what a failed call means: a real obstacle, a red test, or nothing
moment     the facts of a signal, and how far apart its parts may stand
repeated   the same thing fails again
loop       one tool fails five times in a row
stop       the client gave a turn up
fix        a failure, then the form that works
edits      one file fights back
undo       an edit is taken back
thrash     searches in vain, then a hit
asked      the assistant had to ask, and the answer will hold tomorrow
again      the same request in several sessions
"""
