"""The reflections repository: captures that cannot be lost, decisions that are history.

repository   the opened store: where its files are, its lock, its settings
opening      the door: there, ours, under a name nobody else writes with
creation     a new store, made whole or not at all
identity     which machine this store writes as
spool        a capture, synced to disk: the moment it is acknowledged
inbox        pending captures become one commit on this machine's branch
append       both of these: all that a hook needs
mainline     decisions become one commit on main, under the user's feet
journal      what was under way when a process died
corpses      lock files of killed git children
copies       the plain copies in signals/
sweep        what every command does first: finish, commit, mend
reading      all signals and decisions, from git, pending and copies
fold         status, confidence and counts, computed from records
expiry       signals go after their time and leave a line in a tally
upkeep       what is gone is really gone
care         what can be wrong, and how it is mended
backups      a target's exact bytes before an approval
projects     which project a folder belongs to
machines     whose word counts: own machines, accepted at a terminal
inforce      which value of a policy counts, whatever the config says
private      .git/reflect, made again where somebody deleted it
contention   main, while the user's own git keeps writing
keeping      new objects, kept from a gc until a branch holds them
stored       which signals were stored, so that a loss can be told
policy       switching a setting that widens or narrows what may happen
configfile   the store's own config, changed whole or not at all
rows         records as the cache keeps them
chronicle    every commit of main, with what it changed and what it says
signing      decisions signed with the person's own key
purging      a text taken out of all history
rewriting    a history without it, made beside the store
forgetting   whatever else holds it
usage        what calls to Claude cost, and what a day may cost
memory       append, query, get, update, archive, stats, promote
"""
