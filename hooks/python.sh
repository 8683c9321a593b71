# Sourced by launch.sh and bin/reflect-git: sets `python` to the interpreter of the first python3 in PATH that is not
# older than $least, and keeps its name in $data. Nothing that $project could have put into PATH is run.
python='' given=$PATH safe=''
PATH=/usr/bin:/bin
project=$(cd -P "$project" && pwd -P)
[ "$project" != "$(cd -P "${HOME:-/}" && pwd -P)" ] || project= # one's own home is nobody's trap
set -f
IFS=:
for dir in $given /usr/local/bin /opt/homebrew/bin /usr/bin /bin; do
	case $dir in /*) ;; *) continue ;; esac
	case $(cd -P "$dir" && pwd -P)/ in / | "${project:-/dev/null}"/*) continue ;; esac
	case $(ls -ldL "$dir") in ????????w*) continue ;; esac # anybody could have put it there
	safe=$safe:$dir
done
PATH=${safe#:}
for dir in $PATH; do
	[ -x "$dir/python3" ] || continue
	# On macOS /usr/bin/python3 may be a stub that opens a dialogue.
	[ ! -x "$dir/xcode-select" ] || "$dir/xcode-select" -p >/dev/null || continue
	# Asked in /, where no project's .python-version speaks; a shim of pyenv names the real one, which saves 50 ms a run.
	python=$(cd / && "$dir/python3" -I -S -c "import sys; print(sys.executable if sys.version_info >= ($least) else '')")
	case $python in /*) [ ! -x "$python" ] || break ;; esac
	python=
done
unset IFS
set +f
if [ -n "$python" ]; then
	(umask 077 && mkdir -p "$data" && printf '%s\n' "$python" >"$data/python.$$" && mv -f "$data/python.$$" "$data/python")
fi
PATH=$given
