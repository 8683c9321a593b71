"""Score sessions against a rubric with a model that must quote, and turn its findings into suggestions.

The judge runs only if a person switched it on. It reads redacted text, and it can only suggest: nothing here writes an
instruction file without an approval.

    messages     the messages of a session, redacted
    baton        what was before the last ten messages, in at most 200 words
    rubric       what is sent to the judge: criteria, instructions, messages
    answers      what is accepted of an answer: every score needs a true quote
    calls        run the judge within its limits, and record what it cost
    evaluate     choose messages, have them scored, store the result
    calibrate    check the judge with samples of known quality
    suggestions  list, take and dismiss what the judge suggested
    tidy         join, split and retire the rules of one file, as one change
"""
