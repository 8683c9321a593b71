"""Sync stores through a remote: fetch, check, merge and push.

exchange      the rounds of a sync, background sync, and the inboxes of a person's machines
remote_setup  inspect a remote before it is set
vet_remote    what a remote offers and what we would offer, checked file by file
validate      which files may be accepted, and how two trees are merged
merge         main of the remote and main here become one
store_paths   which paths a branch may have; purge files
urls          which addresses a remote may have
"""
