"""Sync stores through a remote: fetch, check, merge and push.

exchange      the rounds of a sync, background sync
remote_setup  inspect a remote before it is set
fetched       objects from a remote, checked before they enter the store
inboxes       signals between a person's machines, if that is on
vet_remote    what a remote offers and what we would offer, checked file by file
validate      which files may be accepted, and how two trees are merged
merge         main of the remote and main here become one
store_paths   which paths a branch may have; purge files
urls          which addresses a remote may have
"""
