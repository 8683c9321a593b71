"""Is something said of all of a person's projects, in so many words: `in all my projects`, `across my repos`.

What is captured for that, and what goes into the file of all projects, is told here alone. What a product does with
projects of its own is another thing: `show all projects`, `every repository has an interface`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# What is done *to* all projects is work at hand, what holds *in* them is a rule: so a word of place comes first.
_PLACE = frozenset("in on across throughout within bei en dans sur em nos nei su op we w во в".split())
# What is meant for each project may be what the program does: it takes a word that says whose projects they are.
_FOR = frozenset("for over für pour para por per voor dla для".split())
_OURS = frozenset(
    "my our your meine meinen unsere unseren mis nuestros mes nos miei nostri meus nossos mijn onze moich naszych"
    " моих наших".split()
)
_EVERY = frozenset(
    "all every each any allen alle jedem jedes todos todas cada tous toutes chaque chacun tutti tutte ogni al elk elke"
    " ieder iedere wszystkich każdym każdego всех каждом".split()
)
_EVERY_AFTER = frozenset("tüm bütün her 모든".split())  # languages whose word of place is the end of the noun
_ENDS = ("de", "da", "te", "ta", "에서", "에서는", "에", "에는")
_NOUNS = (
    "project", "projekt", "projet", "proyecto", "progett", "proje", "проект", "프로젝트",
    "reposit", "repozyt", "репозит", "레포", "저장소", "codebase", "dépôt",
)  # fmt: skip
_SHORT_NOUNS = frozenset("repo repos repolarımda session sessions".split())
_UNSAID = frozenset("the which what own other".split())  # `regardless of which project`, `in my other repos`
_LOOSE = frozenset("of one single".split())  # `every single one of my projects`
_WITHIN = _PLACE - _OURS
# Work at hand begins so, wherever it is to be done: `fix the warnings in all projects`.
_ORDERS = frozenset(
    "add bump change check clean clone compare convert copy count create delete deploy explain find fix generate grep"
    " install list look migrate move open print push read rebase refactor remove rename replace review run scan search"
    " show switch tell update upgrade".split()
)
_BETWEEN = 5  # words from `all` to the noun: `every single one of my projects`
_ONE, _MANY = ("project", "repo", "repository", "codebase"), ("projects", "repos", "repositories", "codebases")
_MINE = (
    *(f" {before} {noun} " for before in ("in my", "for my", "on my", "across my", "across our") for noun in _MANY),
    *(f" {every} {noun} of mine " for every in ("any", "every") for noun in _ONE),
    *(f" {before} i {verb} " for before in ("wherever", "everywhere") for verb in ("work", "code", "go", "am")),
)  # fmt: skip
_PHRASES = (
    *_MINE, *(f" across {noun} " for noun in _MANY), " every session ", " immer und überall ",
    *(f" {before} {noun} " for before in ("no matter", "regardless of", "whatever", "independent of") for noun in _ONE),
    " in meinen projekten ", " en mis proyectos ", " dans mes projets ", " nei miei progetti ", " nos meus projetos ",
    " in mijn projecten ", " в моих проектах ", " w moich projektach ", " projelerimde ",
)  # fmt: skip
_WIDE = (
    "所有项目", "所有的项目", "每个项目", "每一个项目", "全部项目", "所有仓库", "每个仓库", "全部仓库", "所有專案",
    "すべてのプロジェクト", "全てのプロジェクト", "全プロジェクト", "どのプロジェクト", "すべてのリポジトリ",
    "全てのリポジトリ", "全リポジトリ",
)  # fmt: skip


def is_of_all(words: Sequence[str]) -> bool:
    """`words` are in small letters, without signs."""
    said, plain = _said(words)
    if any(_is_every(said, at) for at, word in enumerate(said) if word in _EVERY or word in _EVERY_AFTER):
        return True
    return any(phrase in plain for phrase in (_PHRASES if plain.isascii() else _PHRASES + _WIDE))


def is_of_mine(words: Sequence[str]) -> bool:
    """Is it said whose projects they are? Then it holds in all of them, though this one is named as well."""
    said, plain = _said(words)
    if any(_is_every_of_ours(said, at) for at, word in enumerate(said) if word in _EVERY):
        return True
    return any(phrase in plain for phrase in _MINE)


def _said(words: Sequence[str]) -> tuple[list[str], str]:
    """Without what says nothing here, as words and as a text."""
    plain = f" {' '.join(word for word in words if word not in _UNSAID)} ".replace(" code base", " codebase")
    return plain.split(), plain


def is_at_hand(words: Sequence[str]) -> bool:
    """Does it begin as an order for now?"""
    return any(word in _ORDERS for word in [word for word in words[:2] if word != "please"][:1])


def _is_every(words: Sequence[str], at: int) -> bool:
    between, noun = _up_to_noun(words, at)
    if words[at] in _EVERY_AFTER:
        return noun.endswith(_ENDS)
    before = words[at - 1] if at else ""
    if before in _FOR and words[at] != "each" and _LOOSE.issuperset(between):
        return bool(noun)
    return bool(noun) and (before in _PLACE or (before in _FOR and not _OURS.isdisjoint(between)))


def _is_every_of_ours(words: Sequence[str], at: int) -> bool:
    between, noun = _up_to_noun(words, at)
    return bool(noun) and len(_OURS.intersection(between)) == 1 and _LOOSE.issuperset(set(between) - _OURS)


def _up_to_noun(words: Sequence[str], at: int) -> tuple[Sequence[str], str]:
    """What stands between `all` and what there is of it; no noun where that is in a project, or something of one."""
    near = words[at + 1 : at + 1 + _BETWEEN]
    end = next((place for place, word in enumerate(near) if _is_project(word)), -1)
    between = near[: max(0, end)]
    is_part = not _WITHIN.isdisjoint(between) or (
        "of" in between and not _LOOSE.issuperset(between[: between.index("of")])
    )
    return between, "" if end < 0 or is_part else near[end]


def _is_project(word: str) -> bool:
    return word in _SHORT_NOUNS or word.startswith(_NOUNS)
