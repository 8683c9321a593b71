"""What two clones make of each other's work: pure functions over paths, object ids and bytes.

names     which paths a branch may have, and what lies there
validate  what of an offered tree may come in, and why the rest may not
union     two trees become one, the same one in any order
epoch     what was purged, so that it does not come back
urls      which addresses a remote may have
"""
