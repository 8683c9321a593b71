"""The store: a git repository with captured signals, rules and the history of decisions.

Captures are committed to the machine's inbox branch, decisions and rules to main.

    repository       the opened store: its paths, lock and settings
    opening          open an existing store; rename a copied one
    creation         create a new store, completely or not at all
    api              query, get, update, archive, stats, promote
    append           store signals: pending file first, then a commit; what hooks call
    pending          captures on disk that are not committed yet
    inbox            commit pending captures to this machine's inbox branch
    copies           plain copies of signals in signals/
    main/            write decisions and rules to main; backups, journal, provenance
    reading/         read signals, rules and decisions from git, pending files and copies
    purge/           remove a text from all history
    expiry           delete old signals and keep a line of each in a tally
    maintenance      daily garbage collection and repacking
    recover          finish interrupted steps; every command starts with it
    lost_signals     detect and recover lost signals; rebuild a damaged inbox
    remotes          the configured remote and the state of the last sync
    machines         which machines belong to this person
    policy           change a setting that affects what the program may do
    config_file      edit the store's config atomically; values of policies
    projects         which project a folder belongs to
    session_state    how far each transcript was read; session statistics
    asked_questions  printed questions and the answers to them
    usage            cost of calls to Claude, and the daily limit
"""
