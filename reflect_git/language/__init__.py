"""From signals to what a person is asked: grouped, compared with what is known, classified, worded, checked.

candidates  the steps in order
groups      signals that say one thing, and what was decided about them
baseline    what instruction files already say
likeness    how near two texts are, and whether they contradict each other
clashes     whether two clauses seem to be at odds
senses      what a text says, clause by clause, whatever its words
families    which words exclude each other, which mean one thing, which forms of speech are one, also in other languages
classify    scope, side, category, target, title
sentences   what a person typed, cut into sentences
ruleform    whether a sentence works as a rule by itself
wording     the text that is proposed, or the quote that needs wording
enddates    the day on which a rule ends
matcher     a rule that can be tested, and its test over past sessions
risks       wording that would hand over more than a rule
quotes      whether a quotation is what the user said, and says what a signal says
modelwording  the prompt with which a model words rules, and its answer
gate        what stands against a text that is about to be approved
"""
