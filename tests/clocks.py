"""Run the tests that deal with time under other clocks and time zones: `make clocks`.

libfaketime sets the clock by an offset shared by all processes of a run: an absolute time would restart in each of
them. `tests/fork_server.py` passes it on to the runs of the program. Git children of the program keep the real clock,
because they get a new environment; they are given the times they write.
"""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
MEMORY_FOLDER = "/dev/shm"
# When (UTC), where, and what it is.
CLOCKS = (
    ("2026-11-19 00:03", "UTC", "three minutes after midnight"),
    ("2026-11-18 23:58", "UTC", "two minutes before midnight"),
    ("2028-02-29 23:58", "UTC", "the end of 29 February"),
    ("2027-03-28 00:58", "Europe/Berlin", "clocks go forward in two minutes"),
    ("2026-10-25 00:58", "Europe/Berlin", "clocks go back in two minutes"),
    ("2026-12-31 10:03", "Pacific/Kiritimati", "UTC+14, three minutes after midnight"),
    ("2027-01-01 11:58", "Etc/GMT+12", "UTC-12, two minutes before midnight"),
)
QUICK = (0, 5)
# Tests that ask for the time, write it or show it. The other tests compare records with fixed times. Left out are tests
# that check a file's age (test_approver, test_doctor_env, test_stale_locks, test_past). libfaketime does not change the
# times the kernel writes, so a new file looks months old.
TESTS = """
    tests/records/test_ids.py tests/history tests/candidates/test_matcher.py tests/candidates/test_gather.py
    tests/cli/test_demo.py tests/cli/test_candidate_view.py tests/cli/test_status.py tests/cli/test_log.py
    tests/cli/test_stats.py tests/cli/test_rules.py tests/cli/test_rules_at.py tests/cli/test_signals.py
    tests/cli/test_show.py tests/cli/test_why.py tests/cli/test_mine.py tests/cli/test_import.py
    tests/cli/test_import_sources.py tests/cli/test_doctor.py
    tests/cli/test_detached.py tests/cli/test_disable.py tests/cli/test_app.py
    tests/cli/test_audit.py tests/cli/test_revert.py tests/hooks/test_statusline.py tests/hooks/test_session_hooks.py
    tests/hooks/test_session_survival.py tests/hooks/test_hook_input.py tests/rules/test_approve.py
    tests/rules/test_drift.py tests/rules/test_restore.py
    tests/rules/test_undo.py tests/rules/test_versions.py tests/rules/test_log_entries.py tests/rules/audit
    tests/sync/test_inboxes.py tests/sync/test_automatic.py tests/sync/test_reports.py tests/store/test_expiry.py
    tests/store/test_golden_store.py tests/store/test_api.py tests/store/test_policy.py
    tests/store/test_reading.py tests/doctor/test_checks.py tests/stories/test_review_answers.py
""".split()
QUICK_TESTS = """
    tests/records/test_ids.py tests/history/test_times.py tests/candidates/test_matcher.py tests/cli/test_demo.py
    tests/cli/test_candidate_view.py tests/cli/test_status.py tests/cli/test_rules_at.py
    tests/store/test_golden_store.py
""".split()
_LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib*/faketime/libfaketime.so.1")


def main(words: list[str]) -> int:
    """Run all clocks, or with `--quick` two of them and fewer tests; other words replace the tests for pytest."""
    library = next((path for pattern in _LIBRARIES for path in sorted(glob.glob(pattern))), "")
    if not library:
        print("error: libfaketime is not here\nhint: apt install faketime, or dnf install libfaketime", file=sys.stderr)
        return 2
    is_quick = "--quick" in words
    chosen = [word for word in words if word != "--quick"] or (QUICK_TESTS if is_quick else TESTS)
    clocks = [CLOCKS[number] for number in QUICK] if is_quick else CLOCKS
    failed, table = [], []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [(clock, pool.submit(run_clock, library, clock, chosen)) for clock in clocks]
        for (moment, zone, name), begun in runs:
            done = begun.result()
            print(f"\n{moment} UTC, TZ={zone}: {name}\n{done.stdout}", flush=True)
            table.append(f"{moment} UTC, TZ={zone}: {count_passed(done.stdout)}")
            if done.returncode:
                failed.append(name)
    print("\n".join(table))
    print(f"\n{'failed: ' + ', '.join(failed) if failed else 'all passed'}")
    return 1 if failed else 0


def count_passed(said: str) -> str:
    """Return `538 of 544 passed` from the last line of pytest; skipped tests do not count."""
    found = {kind: int(number) for number, kind in re.findall(r"(\d+) (passed|failed|error)", said[-200:])}
    return f"{found.get('passed', 0)} of {sum(found.values())} passed"


def run_clock(library: str, clock: tuple[str, str, str], chosen: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the tests in one process: workers of xdist do not terminate under libfaketime."""
    moment, zone, _ = clock
    wanted = datetime.strptime(moment, "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc).timestamp()
    changed = {"LD_PRELOAD": library, "FAKETIME": f"{round(wanted - time.time()):+d}", "TEST_TZ": zone}
    options = "-q -n 0 -p no:cacheprovider -o faulthandler_timeout=300 --tb=short".split()
    # A separate folder: pytest deletes old folders of other runs, and once deleted the folder of a running one.
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None) as folder:
        command = [sys.executable, "-m", "pytest", *options, f"--basetemp={folder}/run", *chosen]
        return subprocess.run(
            command, cwd=REPO, env={**os.environ, **changed}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
