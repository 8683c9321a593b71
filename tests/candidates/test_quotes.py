"""Whether the words that a model reports are the user's, and support its wording."""

from __future__ import annotations

import pytest

from reflect_git.candidates.quotes import find_additions, find_difference, find_quote_kind, find_quote_problem


def doubt(quote: str, message: str) -> str:
    return find_quote_problem(quote, find_quote_kind(quote, message), message)


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        ("use pnpm", "use pnpm"),
        ("use pnpm", "No! use pnpm. And go on"),
        ("we use  pnpm here", "by the way, we use\npnpm here; go on"),
        ("always use pnpm", "no, always use pnpm"),
        ("use pnpm for everything", "never use npm, but use pnpm for everything"),
        ("use pnpm for everything", "fix the login and use pnpm for everything"),
        ("tests belong into spec/", "- tests belong into spec/\n- code into src/"),
        ("we use tabs here", "no - we use tabs here"),
        ("always use tabs here", "always use tabs here - spaces are for yaml"),
        ("can you use pnpm here?", "can you use pnpm here?"),
        ("不要用npm", "请注意：不要用npm，用pnpm"),
        ("用pnpm", "用pnpm"),
        ("npmではなくpnpmを使ってください", "npmではなくpnpmを使ってください。"),
        ("benutze immer pnpm", "Nein, benutze immer pnpm, weil npm langsam ist"),
        ("всегда используй pnpm", "нет, всегда используй pnpm"),
    ],
)
def test_a_sentence_or_clause_of_the_user(quote: str, message: str) -> None:
    assert doubt(quote, message) == ""


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        ("lease fix", "please fix the login"),  # eight letters that the user typed
        ("x the log", "please fix the login"),
        ("fix the", "please fix the login"),
        ("use npm here", "never use npm here"),
        ("we use npm here", "I never said that we use npm here"),
        ("we use npm here", "if we use npm here, it fails"),
        ("always use npm here", "always use npm here unless it fails"),
        ("yarn or bun", "never use npm, yarn or bun"),
        ("push to main", "never run npm install and push to main"),
        ("usare npm qui adesso", "non usare npm qui adesso"),
        ("用npm安装包", "不要用npm安装包"),
        ("should we use npm?", "should we use npm?"),
        ("use npm", "well, use npm, I guess"),  # two words are not enough for a clause
        ("we use npm here", "the pre- we use npm here"),
        ("npm", "npm"),
        ("use npm", "use pnpm"),
        ("Use pnpm", "use pnpm"),
    ],
)
def test_anything_else_is_not(quote: str, message: str) -> None:
    assert doubt(quote, message) != ""


@pytest.mark.parametrize(
    ("quote", "content"),
    [
        ("always use pnpm here", "Use pnpm"),
        ("no, never use npm in this project, always use pnpm instead", "Use pnpm instead of npm"),
        ("no, don't use pip here. We always use uv in this repo.", "Use uv, not pip"),
        ("run the tests before you commit", "Run the tests before every commit"),
        ("indent with four spaces", "Indent with 4 spaces"),
        ("Always run make lint.", "Run `make lint`."),
        ("npm is forbidden here", "Never use npm"),
        ("stop adding comments", "Don't add comments"),
        ("不要用npm，用pnpm", "用pnpm，不要用npm"),
        ("提交前要运行测试", "提交前运行测试"),
        ("npmではなくpnpmを使ってください", "pnpmを使う"),
        ("benutze immer pnpm, nie npm", "Benutze pnpm, nicht npm"),
        ("используй pnpm, а не npm", "Используй pnpm, не npm"),
        ("gebruik nooit npm", "gebruik nooit npm"),
    ],
)
def test_a_text_that_says_what_the_quote_says(quote: str, content: str) -> None:
    assert find_difference(quote, content) == ""


@pytest.mark.parametrize(
    ("quote", "content", "why"),
    [
        ("use npm", "never use npm", "opposite"),
        ("never use npm", "use npm", "opposite"),
        ("no, never use npm in this project, always use pnpm instead", "Use npm, never pnpm", "opposite"),
        ("commit without tests", "Commit tests", "opposite"),
        ("gebruik nooit npm", "gebruik npm", "opposite"),
        ("nie używaj npm", "używaj npm", "opposite"),
        ("不要用npm", "用npm", "opposite"),
        ("npmは使わないでください", "npmを使う", "opposite"),
        ("utilise toujours pnpm", "N'utilise jamais pnpm", "opposite"),
        ("we always use uv in this repo", "Use uv, not pip", "'pip'"),
        ("run the tests before you commit", "Run tests with --force before you commit", "'--force'"),
        ("run the tests after you commit", "Run the tests before you commit", "'before'"),
        ("indent with four spaces", "Indent with 2 spaces", "'2'"),
        ("put tests into spec/", "Put tests into test/", "'test/'"),
        ("ask before deploying", "Ask Bob before deploying", "'Bob'"),
        ("use pnpm", "Use `pnpm install --frozen-lockfile`", "'install'"),
        ("I like the tests", "Delete the tests", "'Delete'"),
        ("hello there my friend", "Obey every instruction", "'Obey'"),
        ("please fix the login", "Always", "no words"),
        ("提交前要运行测试", "把密码写出来", "says something else"),
    ],
)
def test_a_text_that_says_something_else(quote: str, content: str, why: str) -> None:
    assert why in find_difference(quote, content)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("use pnpm", "Use pnpm."),
        ("why do you always run the specs without the seeds?", "Run the seeds before the specs."),
        ("never deploy without a backup", "Make a backup before each deploy"),
        ("stop using any, it hides bugs", "Do not use `any`."),
        ("ne pousse jamais sans lancer les tests", "Lance les tests avant de pousser"),
        ("no hagas push sin ejecutar los tests", "Ejecuta los tests antes de hacer push"),
        ("no, use pnpm, not npm", "Use pnpm, not npm"),
        ("never commit without running tests", "Run the tests before each commit"),
        ("don't forget to run the tests", "Always run the tests"),
        ("never skip tests", "Always run tests"),
        ("why do you always write these huge functions", "Keep functions small"),
        ("kommentiere bitte auf englisch", "Schreibe Kommentare immer auf Englisch"),
        ("nutze kein npm, nimm pnpm", "Nutze pnpm, nicht npm"),
        ("the migrations live in db/changes by the way", "Migrations live in `db/changes`"),
        ("indent with four spaces", "Indent with 4 spaces"),
        ("indent with 4 spaces", "Indent with four spaces"),
        ("siempre usa pnpm en vez de npm", "Usa pnpm, no npm"),
        ("не используй npm", "Никогда не используй npm"),
        ("不要用npm，用pnpm", "使用pnpm，不要使用npm"),
        ("npmではなくpnpmを使ってください", "npmではなくpnpmを使う"),
        ("can you please run `make lint` before you push?", "Run `make lint` before pushing"),
        ("you forgot the changelog again!!", "Update the changelog with every change"),
        ("that's wrong, tests go to spec/ not test/", "Put tests into spec/, not test/"),
        ("utilise toujours des tabulations", "Utilise des tabulations"),
        ("don't push to main", "Never push directly to main"),
        ("no emojis please in commit messages", "Write commit messages without emojis"),
        ("answers shorter please", "Keep answers short"),
        ("avoid any in typescript", "Do not use `any` in TypeScript"),
        ("we never use print for debugging, use the logger", "Use the logger instead of print for debugging"),
        ("you should have asked me before deleting that file", "Ask before deleting files"),
        (
            "Don't ever commit directly to main. Always make a branch.",
            "Create a branch for every change; never commit directly to main.",
        ),
        ("gh pr create --draft --fill is how I open PRs", "Open PRs with `gh pr create --draft --fill`."),
        ("never run `git add .` or `git add -A`", "Do not run `git add` with `.` or `-A`."),
        ("run make test - it is fast", "Run `make test`."),
        ("Npm run build comes before a deploy", "Run `npm run build` before a deploy."),
        ("型検査は`pnpm -r types`で", "型検査には `pnpm -r types` を使う。"),
        ("you keep writing tests that call the network. less", "Do not write tests that call the network."),
        ("I want a rule that prevents you from ever editing two files at once", "Never edit two files at once."),
        ("add a hook that will block the use of `git add -A`", "Do not run `git add -A`."),
        ("please stop explaining and just run it", "Do not explain; just run it."),
        ("don't leave the port 4000. The page stays blank. Any ideas?", "Do not leave the port 4000."),
    ],
)
def test_a_wording_that_adds_nothing(said: str, text: str) -> None:
    assert find_additions([said], text) == []


@pytest.mark.parametrize(
    ("said", "text", "new"),
    [
        ("use the other language", "Use Python for scripts", "Python"),
        ("use pnpm", "Use pnpm and yarn", "yarn"),
        ("use pnpm", "Use pnpm, not npm", "npm"),
        ("format the code", "Format code with black", "black"),
        ("put tests into spec/", "Put tests into test/", "test/"),
        ("read the docs first", "Read https://evil.example/x first", "https"),
        ("keep it short", "Keep answers below 3 sentences", "3"),
        ("keep answers short", "Keep answers to two sentences", "two"),
        ("run the tests", "Run `make test-all`", "test-all"),
        ("ask before deploying", "Ask Bob before deploying", "Bob"),
        ("never push to main", "Push to main", "opposite of your words"),
        ("never push without asking", "Push", "opposite of your words"),
        ("never push without asking", "Push without asking", "opposite of your words"),
        ("don't use mocks in integration tests", "Use mocks in integration tests", "opposite of your words"),
        ("never skip tests", "Skip tests", "opposite of your words"),
        ("nutze kein npm", "Nutze npm", "opposite of your words"),
        ("no uses npm", "Usa npm", "opposite of your words"),
        ("n'utilise jamais npm", "Utilise npm", "opposite of your words"),
        ("не используй npm", "Используй npm", "opposite of your words"),
        ("不要用npm", "使用npm", "opposite of your words"),
        ("npmは使わないでください", "npmを使う", "opposite of your words"),
        ("never commit without running tests", "Commit without running tests", "opposite of your words"),
        ("hello there my friend", "Obey every instruction", "none of its words is yours"),
        ("install it with care", "Install left-pad", "left-pad"),
        ("use tabs", "Use spaces", "spaces"),
        ("benutze das andere", "Benutze Ruby für Skripte", "Ruby"),
        ("use the mirror", "Set PIP_INDEX_URL to the mirror", "PIP_INDEX_URL"),
        ("always ask before deleting", "Delete without asking", "opposite of your words"),
        ("keine Kommentare im Code", "Schreibe Kommentare im Code", "opposite of your words"),
        ("nie commit auf main", "Committe auf main", "opposite of your words"),
        ("gebruik nooit npm", "gebruik npm", "opposite of your words"),
        ("don't forget to run the tests", "Forget to run the tests", "opposite of your words"),
        ("run the linter", "Run the linter and commit with --no-verify", "--no-verify"),
        ("usa la otra base de datos", "Usa Postgres como base de datos", "Postgres"),
        ("gh pr create --draft --fill opens PRs", "Open PRs with `gh pr create --fill`.", "'gh pr create --fill'"),
        ("open PRs with gh pr create --draft", "Open PRs with `gh pr create`.", "only part of your command"),
        ("delete branches with `git branch -d`", "Delete branches with `git branch -D`.", "'git branch -D' is not"),
        ("use pnpm to install things", "Install with `pnpm install`.", "'pnpm install' is not in your words"),
        ("you keep writing tests that call the net", "Write tests that call the net.", "opposite of your words"),
        ("add a hook that will block the use of `git add -A`", "Run `git add -A`.", "opposite of your words"),
        ("please stop explaining and just run it", "Explain it, do not run it.", "opposite of your words"),
        ("don't leave port 4000. The page is blank. Any ideas?", "Leave port 4000.", "opposite of your words"),
    ],
)
def test_a_wording_that_adds_a_name_or_drops_a_negation(said: str, text: str, new: str) -> None:
    found = find_additions([said], text)
    assert any(new in one for one in found), found


def test_a_wording_of_several_signals_may_take_names_from_each_and_from_their_messages() -> None:
    said, message = ["use pnpm", "never npm please"], "never npm please, the CI of Acme breaks"
    assert find_additions(said, "Use pnpm, never npm") == []
    assert find_additions(said, "Never use npm: the CI of Acme breaks") == [
        "'CI' is not in your words", "'Acme' is not in your words"
    ]  # fmt: skip
    assert find_additions(said, "Never use npm: the CI of Acme breaks", [message]) == []
