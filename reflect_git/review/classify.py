"""Where a learning belongs: whose it is, which side it changes, its category, its target, its title."""

from __future__ import annotations

import re

from reflect_git.model.scopes import is_of_all, is_of_mine
from reflect_git.model.tuples import NamedTuple

AGENT, PROJECT_SIDE = "agent", "project"
_TITLE = 60

# A taste, or how to talk: it goes with the person. "I want" is mostly a wish for the work at hand.
_PERSONAL = re.compile(
    r"\b(i (always|never|usually|prefer|hate|dislike)|my (preference|style|terminal|shell|editor)|"
    r"(answers?|repl(y|ies)|responses?|explanations?) (short|brief|concise|in \w+)|"
    r"(shorter|briefer|longer) (answers?|repl\w*|responses?)|apologi[sz](e|ing)|no apologies|be (brief|concise)|"
    r"always ask me|talk to me)\b",
    re.IGNORECASE,
)
_LOCAL = re.compile(
    r"\b(this (project|repo|repository|codebase|app|service|package)|here|our (project|repo|codebase|team|app|api)|"
    r"diese[mnrs]? (projekt|repo)|este proyecto|ce projet|questo progetto|neste projeto|этом проекте)\b|"
    r"这个项目|このプロジェクト",
    re.IGNORECASE,
)
_FLAW = re.compile(
    r"\b(flaky|undocumented|not documented|nowhere documented|keeps? breaking|missing (from|in) the "
    r"(readme|docs)|should be (documented|fixed|unified|cleaned up)|tech(nical)? debt)\b",
    re.IGNORECASE,
)
# The first that is found decides; more telling ones first.
_CATEGORIES = (
    ("naming", (r"\b(nam(e|es|ed|ing)|call(ed)? it|prefix|suffix|camelcase|snake_case|kebab-case|pascalcase|benennen?|"
               r"nombre|nommer)\b|命名|名前")),
    ("test-structure", (r"\b(tests? (files?|live|go|belong|next to)|fixtures?|mock(s|ing)?|stubs?|spec files?|"
                       r"test structure|snapshots?|describe blocks?|(unit|e2e|integration) tests?)\b")),
    ("documentation", r"\b(readme|changelog|docs?|documentation|docstrings?|comments?|jsdoc|document)\b|文档|注释"),
    ("configuration", (r"\b(config(uration)?s?|settings|env(ironment)? (vars?|variables?)|tsconfig|eslintrc|"
                      r"feature flags?|ports?|version \d\S*)\b|(?<!\w)\.env\b")),
    ("project-structure", (r"\b((live|lives|go|goes|belong|belongs|put|is|are|moved?) (in|into|under|to) "
                          r"[`'\"]?[\w.-]*/|director(y|ies)|folders?|monorepo|packages/|src/)")),
    ("command", (r"`[a-z][\w./-]*( [^`]+)?`|\b(run|execute|npm|pnpm|yarn|docker|git|cargo|pip|uv) |"
                r"\bmake (?!(sure|use|it|this|that|the|an?|no|all|each|every|your|our|my|them|sense|changes?)\b)")),
    ("preference", (r"\b(i (prefer|like|want|always|never|hate)|prefer|answers?|repl(y|ies)|short(er)?|concise|"
                   r"apologi[sz]\w*|tone|emojis?)\b")),
)  # fmt: skip
_PATTERNS = tuple((category, re.compile(pattern, re.IGNORECASE)) for category, pattern in _CATEGORIES)
_OPEN = ("convention", "gotcha")
_PATHS = re.compile(r"(?<![\w/])`?((?:[\w.@-]+/)*\*{1,2}(?:/[\w.*{},-]+)*(?:\.\w+)?)`?(?![\w*])")


class Place(NamedTuple):
    scope: str
    side: str
    category: str
    target: str
    title: str
    paths: tuple[str, ...]


def place(text: str, kind: str, category: str, projects: int = 1, words: str = "") -> Place:
    """`words` are the user's own, where the proposed text has lost what they said of its scope."""
    scope = scope_of(text, projects, words)
    side = side_of(kind, text)
    paths = paths_in(text)
    found = category_of(text, kind, category)
    return Place(scope, side, found, target_of(scope, side, paths), title_of(text), paths)


def scope_of(text: str, projects: int = 1, words: str = "") -> str:
    """The project's, unless the words say otherwise or it was said in several: a rule in the wrong project does more
    harm than one that is missing in another."""
    said = f"{text}\n{words}"
    if projects > 1 or is_of_mine(_words(text)):
        return "global"
    if _LOCAL.search(said):
        return "project"
    is_wide = is_of_all(_words(said)) or is_of_mine(_words(said)) or _PERSONAL.search(text)
    return "global" if is_wide else "project"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def side_of(kind: str, text: str = "") -> str:
    """What the project itself does badly is an improvement of the project; all else is for the agent."""
    is_flaw = kind == "project_friction" or (kind == "gotcha" and _FLAW.search(text))
    return PROJECT_SIDE if is_flaw else AGENT


def category_of(text: str, kind: str, given: str) -> str:
    """A detector's own word stands, except where it is the one it uses for anything."""
    if given not in _OPEN or kind == "gotcha":
        return given
    return next((category for category, pattern in _PATTERNS if pattern.search(text)), given)


def target_of(scope: str, side: str, paths: tuple[str, ...]) -> str:
    if side == PROJECT_SIDE:
        return "improvements"
    if scope == "global":
        return "global"
    return "rules" if paths else "project"


def paths_in(text: str) -> tuple[str, ...]:
    """Globs that say for which files it holds: `src/api/**/*.ts`."""
    found = [path for path in _PATHS.findall(text) if "/" in path or path.startswith("*.")]
    return tuple(dict.fromkeys(found))


def title_of(text: str) -> str:
    """The first clause, at a length for the subject of a commit."""
    first = re.split(r"(?<=[^\s.]{2})[.!?;](?:\s|$)|\n", text.strip(), maxsplit=1)[0].strip().rstrip(".:,;!")
    if len(first) <= _TITLE:
        return first
    cut = first[: _TITLE - 1].rsplit(" ", 1)[0].rstrip(" ,;:")
    return f"{cut}…"
