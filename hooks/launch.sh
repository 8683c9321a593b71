#!/bin/sh
# What Claude Code runs: `sh launch.sh EVENT`, the event's JSON on stdin. Silent and exit 0, whatever happens.
exec 2>/dev/null
trap 'exit 0' EXIT
[ -z "$BASH_VERSION" ] || shopt -s execfail
here=${0%/*} event=$1 project=${CLAUDE_PROJECT_DIR:-.} least=3,9 python=
data=${CLAUDE_PLUGIN_DATA:-${XDG_CACHE_HOME:-${HOME:-.}/.cache}/reflect-git}
case $data in /*) ;; *) data=/dev/null ;; esac # a relative place would be the project's to fill
[ ! -O "$data/python" ] || IFS= read -r python <"$data/python"
[ -f "$python" ] && [ -x "$python" ] || . "$here/python.sh"
if [ -z "$python" ]; then
	said='reflect-git captures nothing: no python3 (3.9 or later) was found; install one and start a new session'
	[ "$event" = SessionStart ] && echo "{\"systemMessage\":\"$said\"}"; exit 0
fi
set -- "$python" -I -S -X "pycache_prefix=$data/pycache" "$here/hook.py" "$event"
case $event in
SessionStart) "$@" || /bin/rm -f "$data/python" ;;   # once a session: one that no longer starts is looked for again
SessionEnd | StopFailure) exec 3<&0; "$@" <&3 3<&- >/dev/null & ;; # without the copy dash gives the job /dev/null to read
*) exec "$@" ;;
esac
