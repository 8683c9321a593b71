"""What can be wrong with a store, and how it is mended.

case        a store under examination
health      the checks, one after another
guard       what the user's own git does to main: nothing is lost by it
lockfiles   lock files: whose they are, how old
mending     the repairs of what is ours
salvage     a damaged inbox, built anew from everything that is readable
"""
