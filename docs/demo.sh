#!/bin/sh
# The main job on sample data, in a throw-away home: nothing outside it is read or written.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v python3)
home=$(mktemp -d "${TMPDIR:-/tmp}/reflect-git-demo.XXXXXX")
trap 'rm -rf "$home"' EXIT
trap 'exit 130' INT TERM
mkdir "$home/webshop"
cd "$home/webshop"

sealed() {
	env -i HOME="$home" PATH="$PATH" TMPDIR="$home" TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 "$@"
}
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() {
	printf '\033[2m$ %s\033[0m\n' "$*"
	sealed "$@"
}

sealed git init -q -b main .
sealed git remote add origin https://example.com/acme/webshop.git

say "1. The store is an ordinary git repository, made by the first hook or command."
run reflect-git init

session=5f0c9a52-7d0e-4c7e-9a53-0d3a5c1f2b10
transcript=$home/.claude/projects/-webshop/$session.jsonl
minute=$(date -u +%Y-%m-%dT%H:%M)
hook() { sealed CLAUDE_PROJECT_DIR="$home/webshop" /bin/sh "$here/hooks/launch.sh" "$1"; }
entry() { # TYPE MESSAGE NUMBER
	printf '{"type":"%s","message":%s,"uuid":"entry-%s","sessionId":"%s","timestamp":"%s:0%s.000Z","cwd":"%s","version":"2.1.325"}\n' \
		"$1" "$2" "$3" "$session" "$minute" "$3" "$home/webshop" >>"$transcript"
}
mkdir -p "$(dirname "$transcript")"

say "2. Claude Code runs a command that fails. Its hook hands the event over; nothing is printed, nothing is asked."
printf '%s' '{"session_id":"'$session'","hook_event_name":"PostToolUseFailure","tool_name":"Bash",
"tool_input":{"command":"npm test"},"tool_use_id":"toolu_demo_1","is_interrupt":false,"cwd":"/webshop",
"error":"Exit code 1\nnpm ERR! this project uses pnpm; DATABASE_URL=postgres://shop:hunter2secret@db/shop"}' |
	hook PostToolUseFailure

say "3. The person corrects it. At the next compaction, or at the end, a hook mines the transcript for such words."
entry user '{"role":"user","content":"please add a date picker to the checkout page"}' 1
entry assistant '{"role":"assistant","content":[{"type":"text","text":"I installed it with npm."}]}' 2
entry user '{"role":"user","content":"no, never use npm in this project, always use pnpm instead"}' 3
entry assistant '{"role":"assistant","content":[{"type":"text","text":"Understood, pnpm it is."}]}' 4
run reflect-git mine "$transcript"
printf '{"session_id":"%s","hook_event_name":"PreCompact","trigger":"manual","transcript_path":"%s","cwd":"%s"}' \
	"$session" "$transcript" "$home/webshop" | hook PreCompact
run reflect-git capture --type convention --content "API handlers go in src/handlers"

say "4. What waits for an answer, and the exact change it would make. Only a person's yes writes it ('reflect-git review')."
run reflect-git candidates
waiting=$(sealed reflect-git candidates --json | sed 's/.*"data":\[{"id":"\(SIG-[^"]*\)".*/\1/')
run reflect-git approve "$waiting" --to project --dry-run

say "5. A capture is killed with kill -9 right after it was acknowledged …"
printf '\033[2m$ %s\033[0m\n' 'reflect-git capture --type gotcha --content "Migrate the test database first"'
(sealed REFLECT_GIT_FAULT=kill:6 reflect-git capture --type gotcha --content "Migrate the test database first") 2>/dev/null ||
	echo "(killed before its commit; waiting: $(ls "$home/.claude/reflections/.git/reflect/pending"))"

say "6. … and the next command has it all the same. The password in the error text never reached the disk."
run reflect-git signals
run reflect-git status

say "7. Everything is git: one signal, its story, and the log."
id=$(sealed reflect-git signals --type failure --json | sed 's/.*"id":"\(SIG-[^"]*\)".*/\1/')
run reflect-git show "$id"
run git -C "$home/.claude/reflections" log --all --oneline --decorate
run git -C "$home/.claude/reflections" status --short --branch

say "8. A check of everything."
run reflect-git doctor

say "That was it; $home is gone now. Next: 'reflect-git init' for your own store, 'reflect-git --help' for the rest."
