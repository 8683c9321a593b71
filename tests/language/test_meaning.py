"""Meaning of a text, clause by clause; and texts that must never count as the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.language.meaning import parse_clauses, parse_sense
from reflect_git.language.similarity import contradicts, find_relation, have_conflict

ALIKE = [
    ("Invoices must not be renamed", "Never rename invoices"),  # statement and instruction
    ("Validate the payload before storing it", "Check the payload before it is stored"),
    ("Release notes should be concise", "Keep release notes short"),  # a synonym
    ("Menus have at most seven entries", "Menus have no more than 7 entries"),
    ("Don't deploy until I approve", "Ask before deploying"),  # order of steps
    ("Seed the tables first, then start the worker", "Seed the tables before you start the worker"),
    ("Don't add banners", "No banners"),
    ("Only publish drafts when asked", "Never publish drafts unless I ask"),
    ("Antworte auf Spanisch", "Answer in Spanish"),
    ("Pull requests need a reviewer", "PRs need a reviewer"),
    ("Exports run every night", "Exports are run nightly"),
    ("Delete stale drafts", "Stale drafts should be removed"),
    ("In ledgers use quills", "Use quills in ledgers"),
    ("Columns may not exceed 30 characters", "Keep columns under 30 characters"),  # a limit, in any wording
    ("Never check in the ledgers", "Don't commit the ledgers"),
    ("Sealed crates must not be opened", "Never open sealed crates"),
    ("use quills not pens", "Don't use pens"),  # less of the same
    ("Indent with blanks", "Use blanks for indentation"),
    ("first weigh the crates and then ship", "Weigh the crates before shipping"),
    ("The index must be rebuilt before a release", "Rebuild the index before a release"),
]
NEAR = [
    ("Seal the crates before shipping", "Don't ship until the crates are sealed"),
    ("Never deploy without asking", "Ask for approval before deploying"),
    ("Fixtures go into the fixtures/ folder", "Fixtures live in fixtures/"),
    ("The report format is PDF", "Report format: PDF"),
    ("Erlang 26 is required", "The project needs Erlang 26"),
    ("Vor jedem Push die Tests laufen lassen", "Run the tests before every push"),
    ("推送前运行测试", "Run the tests before pushing"),
    ("Bitte immer vor dem Löschen fragen", "Always ask before deleting"),
    ("Use Oslo as the region", "The region is Oslo; Bergen isn't used"),
    ("Do not sign parcels", "No parcel signing"),  # in another order, each with its object
    ("Use quills and ink", "Use ink and quills"),
    ("Write the labels in English", "Labels should be English"),
    ("The depot runs on port 7100", "The depot listens on port 7100"),
    ("Invoices may be at most 40 lines long", "Keep invoices shorter than 40 lines"),
]
OPPOSED = [
    ("Cypress isn't used", "Use Cypress for browser tests"),  # a negation in a statement
    ("Prefer enums over constants", "Use constants instead of enums"),
    ("Menus have at most seven entries", "Menus have at most 9 entries"),
    ("Migrate first, ask later", "Ask before you migrate"),  # the reverse order
    ("Write the specs first", "The specs are written after the review"),
    ("The glossary is generated, do not touch it", "Update the glossary with each release"),  # what "it" refers to
    ("Templates go next to the views", "Templates belong in a shared templates/ directory"),  # one thing, two places
    ("Write the notes to NOTES.md", "Keep the notes in the wiki"),
    ("I tag the releases, not you", "Tag the releases yourself"),  # who does it
    ("Use gradle", "Use maven for builds"),  # of one family, for its purpose
    ("Antworte auf Deutsch", "Answer in French"),
    ("why are you using webpack again? this is a vite project", "Use webpack"),
    ("Avoid any in the models", "Use any for models"),
    ("npm is not used in this repo, it's yarn", "Use pnpm, not npm"),
    ("Thumbnails must be smaller than 80 KB", "Thumbnails may be up to 1 MB"),  # another unit of one measure
    ("Letters are printed through the spooler", "Print letters directly, without the spooler"),
    ("Cached state is fine", "Do not use cached state"),  # a permission for all of it
    ("Allow empty headings", "Empty headings are an error"),
    ("Put the newest chapter first", "The oldest chapter comes first"),
    ("Only I publish the drafts", "Publish the drafts yourself"),
    ("Exports run every night", "Exports run weekly"),
    ("The mailer lives in apps/mailer", "The mailer is in packages/post"),
    ("Ship parcels on Mondays", "Parcels go out on Thursdays, ship them then"),
    ("Weights are stored as strings", "Store weights as integers"),
    ("Write the sorter in Rust", "The sorter is written in Kotlin"),
    ("Keep the ledgers out of git", "The ledgers are checked in"),
    ("Every parcel needs two stamps", "One stamp is enough for a parcel"),
    ("The depot tests use a real scale", "Mock the scale in the depot tests"),
    ("Each courier has its own ledger", "All couriers share one ledger"),
    ("The siren stays on", "Turn off the siren"),
    ("Specs come first", "Write the specs after the review"),
    ("Stay on Erlang 25", "Use the latest Erlang"),
    ("Count the crates twice", "Count the crates five times"),
    ("Leave stamps out", "Add stamps to letters"),
    ("Use signed weights", "Use unsigned weights"),
    ("Forbid gifts", "Allow gifts"),
    ("Use HTTP for the scales", "Use HTTPS for the scales"),
    ("Weigh the crates after every trip", "Only weigh the crates when asked"),
    ("Put the seals next to the lids", "Put the seals in a separate box"),
]
APART = [
    ("Use parcel in the admin", "Use rollup in the shop"),
    ("Never edit templates that were published", "Edit unpublished templates in place"),
    ("Check the schema before guessing", "Read the schema first instead of guessing"),
    ("Do not stub the clock in integration tests", "Stub the payment gateway in integration tests"),
    ("Commit after every step", "Never commit large binaries"),  # a prohibition for a part
    ("Keep pages under 300 lines", "Lines must stay below 90 characters"),  # another unit
    ("Never use `git stash`", "Use `git switch` to change branches"),  # another command
    ("PRs target trunk", "Hotfix PRs target master"),  # a rule for a part
    ("Push straight to trunk, no PRs needed", "Update the sitemap with each PR"),
    ("Use short names", "Use long timeouts"),
    ("Use a spooler for letters", "Use a template for letters"),
    ("Don't leave stubs in the tree", "Remove stubs before committing"),
    ("Prefer explicit types over inference", "Prefer interfaces over type aliases"),
    ("Private drafts need a login", "Public drafts need no login"),
    ("Labels are shown in red", "Labels start with a lower-case letter"),
    ("No blank labels", "Strip blank labels"),  # the same meaning, although one is negated
    ("Unit tests must not call the scale", "Mock the scale in unit tests"),
    ("Parcel titles are in English", "Parcel titles have no stamps"),  # another property of the same thing
    ("Use ruff for linting", "Use black for formatting"),  # each job has its tool
    ("Run the drills with -x", "Run the drills with -v"),
    ("Count first", "Ship after the count"),
    ("Only ship on Mondays", "Ship on Mondays"),
    ("Weigh the crates only in the depot", "Weigh the crates in the depot"),
    ("Keep the ledger", "Remove old ledger pages"),
    ("Write the sorter in Rust", "Write the guide in Markdown"),
]
NOT_ALIKE = [
    ("Merge trunk into release", "Merge release into trunk"),
    ("Copy the assets from web to mobile", "Copy the assets from mobile to web"),
    ("Run the linter after each edit", "Run `just lint` after each edit"),
    ("Run `make check`", "Run the checks"),
    ("You run the seeds", "I run the seeds"),
    ("Run the tests before committing", "Run the tests after committing"),
    ("Use the parser only in scripts", "Use the parser in scripts"),
    ("Menus have at most seven entries", "Menus have at least seven entries"),
    ("Run the specs", "Write the specs"),
    ("Publish drafts when asked", "Never publish drafts when asked"),
    ("Generate the labels from the catalogue", "Generate the catalogue from the labels"),  # source and result swapped
    ("Deploy from the annex", "Deploy to the annex"),
    ("Backport patches from trunk to stable", "Backport patches from stable to trunk"),
    ("The shop calls the depot", "The depot calls the shop"),  # who does it
    ("The shop checks what the depot sends", "The depot checks what the shop sends"),
    ("Wrap faults in envelopes", "Wrap envelopes in faults"),
    ("Prefix crates with the aisle", "Prefix the aisle with crates"),
    ("Link parcels to invoices", "Link invoices to parcels"),
    ("Add a test for each ticket", "Add a ticket for each test"),
    ("Use quills in ledgers and chalk in lists", "Use chalk in ledgers and quills in lists"),  # which is used where
    ("Quills in ledgers, chalk in lists", "Chalk in ledgers, quills in lists"),
    ("Use port 4100 for the shop and 4200 for the depot", "Use port 4200 for the shop and 4100 for the depot"),
    ("Write a spec before implementing", "Write tests before implementing"),  # not quite a synonym
    ("Strip the binaries", "Delete the binaries"),
    ("Log the parcel", "Log the parcel name"),  # a word that is usually filler
    ("Print the command", "Print it"),
    ("Log each depot call", "Log each depot"),
    ("Build the project", "Build"),
    ("Tag the repository image", "Tag the image"),
    ("Follow the couriers", "Use the couriers"),
    ("Name the crate", "Use the crate"),
    ("Cover the ledger", "Use the ledger"),
    ("Count the crates once", "Count the crates"),
    ("Check in the ledger", "Check the ledger"),  # different relations to the object
    ("Sign in to the depot", "Sign the depot"),
    ("Ship with the crate", "Ship the crate"),
    ("Write to the ledger", "Write the ledger"),
    ("Print labels with the stamp", "Print the stamp for labels"),
    ("Gitignore the ledgers", "Do not write the ledgers"),  # an implicit negation
    ("Skip the drills", "Don't write drills"),
    ("Ignore late parcels", "No late parcels"),
    ("Disable the stamp", "Don't add a stamp"),
    ("Don't worry about stamps", "Don't add stamps"),
    ("You don't need to count the crates", "Never count the crates"),
    ("Count the legacy crates", "Do not count the crates"),
    ("Update the ledger", "Edit the ledger"),  # similar, but not the same
    ("Leave a note on the crate", "Keep the note on the crate"),
    ("Add a suite for parcels", "Add a test for parcels"),
    ("Document the formatter", "Document the format"),
    ("Don't use var", "Don't use variables"),
    ("Tests need the depot", "Depot tests"),
    ("Don't log in as porter", "Don't log as porter"),
    ("Use ES modules", "Use modules"),  # no foreign words
    ("Use the MIT license", "Use the license"),
    ("Remove TODOs", "Remove it"),
    ("Use quills, don't publish letters", "Use quills"),  # two rules, and one of them
    ("Count the crates, never open parcels", "Count the crates"),
]


@pytest.mark.parametrize("a, b", ALIKE)
def test_one_rule_in_other_words_is_the_same(a: str, b: str) -> None:
    assert find_relation(a, b) == find_relation(b, a) == "same"


@pytest.mark.parametrize("a, b", NEAR)
def test_one_rule_in_very_other_words_is_shown_beside_it(a: str, b: str) -> None:
    assert find_relation(a, b) == find_relation(b, a) == "similar"


@pytest.mark.parametrize("a, b", OPPOSED)
def test_what_cannot_hold_at_once_is_never_merged(a: str, b: str) -> None:
    assert find_relation(a, b) == find_relation(b, a) == "contradicts"


@pytest.mark.parametrize("a, b", APART)
def test_rules_for_other_things_or_parts_go_together(a: str, b: str) -> None:
    assert not contradicts(a, b) and not contradicts(b, a)
    assert find_relation(a, b) in ("similar", "different")


@pytest.mark.parametrize("a, b", NOT_ALIKE)
def test_what_differs_in_one_word_that_counts_is_not_the_same(a: str, b: str) -> None:
    assert find_relation(a, b) != "same" and find_relation(b, a) != "same"


def test_a_question_a_story_and_what_was_found_out_have_no_sense() -> None:
    assert parse_sense("should we rename the invoices?") is None
    assert parse_sense("rename the invoices " * 20) is None
    assert parse_sense("`make t` fails here (no rule); `make test` works") is None
    assert parse_sense("it is so") is None


def test_a_reason_is_not_part_of_it() -> None:
    bare, told = (
        parse_sense("Never rename invoices"),
        parse_sense("Never rename invoices because customers link to them"),
    )
    assert bare is not None and bare == told


def test_a_clause_that_points_back_says_what_of() -> None:
    first, second = parse_clauses("The glossary is generated, do not touch it")
    assert "glossary" in first.words and not first.denied
    assert "glossary" in second.words and second.denied


NAMES = st.from_regex(r"\A[b-df-hj-np-tv-z][aeo][b-df-hj-np-tv-z]{2}[0-9]\Z")
SAID = st.sampled_from(
    [
        ("use {a}", "never use {a}"),
        ("{a} must be run before {b}", "{a} must not be run before {b}"),
        ("keep {a} in {b}", "do not keep {a} in {b}"),
        ("prefer {a} over {b}", "prefer {b} over {a}"),
        ("{a} is used here", "{a} isn't used here"),
        ("run {a} when asked", "don't run {a} when asked"),
        ("add {a} to {b}", "no {a} in {b}"),
        ("{a} first, then {b}", "{b} first, then {a}"),
        ("ask before {a}", "{a} without asking"),
    ]
)


@given(NAMES, NAMES, SAID)
def test_no_text_has_the_sense_of_its_opposite(a: str, b: str, said: tuple[str, str]) -> None:
    if a == b:
        return
    one, other = (text.format(a=a, b=b) for text in said)
    assert parse_sense(one) is None or parse_sense(one) != parse_sense(other)
    assert find_relation(one, other) != "same"


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_read_and_clashes_have_no_direction(a: str, b: str) -> None:
    assert have_conflict(a, b) == have_conflict(b, a)
    parse_sense(a)
