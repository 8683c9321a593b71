"""Is something said of all of a person's projects, in so many words: `in all my projects`, `across my repos`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# What is done *to* all projects is work at hand, what holds *in* them is a rule: so a word of place comes first.
_PLACE = frozenset("in on across throughout within bei en dans sur em nos nei su op we w во в".split())
# What is meant for each project may be what the program does: it takes a word that says whose projects they are.
_FOR = frozenset("for over für pour para por per voor dla для".split())
_OURS = frozenset(
    "my our meine meinen unsere unseren mis nuestros mes nos miei nostri meus nossos mijn onze moich naszych"
    " моих наших".split()
)
_EVERY = frozenset(
    "all every each any allen alle jedem jedes todos todas cada tous toutes chaque tutti tutte ogni al elk elke ieder"
    " iedere wszystkich każdym każdego всех каждом".split()
)
_EVERY_AFTER = frozenset("tüm bütün her 모든".split())  # languages whose word of place is the end of the noun
_ENDS = ("de", "da", "te", "ta", "에서", "에서는", "에", "에는")
_NOUNS = (
    "project", "projekt", "projet", "proyecto", "progett", "proje", "проект", "프로젝트",
    "reposit", "repozyt", "репозит", "레포", "저장소", "codebase", "dépôt",
)  # fmt: skip
_SHORT_NOUNS = frozenset("repo repos repolarımda".split())
# Work at hand begins so, wherever it is to be done: `fix the warnings in all projects`.
_ORDERS = frozenset(
    "add bump change check clean clone compare convert copy count create delete deploy explain find fix generate grep"
    " install list look migrate move open print push read rebase refactor remove rename replace review run scan search"
    " show switch tell update upgrade".split()
)
_BETWEEN = 4  # words from `all` to the noun: `all of my python projects`
_PHRASES = (
    " in my projects ", " for my projects ", " across my projects ", " in my repos ", " across my repos ",
    " across projects ", " across repos ", " everywhere i work ", " everywhere i code ", " wherever i work ",
    " wherever i code ", " no matter the project ", " no matter which project ", " no matter which repo ",
    " in meinen projekten ", " en mis proyectos ", " dans mes projets ", " nei miei progetti ", " nos meus projetos ",
    " in mijn projecten ", " в моих проектах ", " w moich projektach ", " projelerimde ",
)  # fmt: skip
_WIDE = (
    "所有项目", "所有的项目", "每个项目", "每一个项目", "全部项目", "所有仓库", "每个仓库", "所有專案",
    "すべてのプロジェクト", "全てのプロジェクト", "全プロジェクト", "どのプロジェクト", "すべてのリポジトリ",
    "全てのリポジトリ", "全リポジトリ",
)  # fmt: skip


def is_of_all(words: Sequence[str]) -> bool:
    """`words` are in small letters, without signs."""
    if any(_is_every(words, at) for at, word in enumerate(words) if word in _EVERY or word in _EVERY_AFTER):
        return True
    plain = f" {' '.join(words)} "
    return any(phrase in plain for phrase in (_PHRASES if plain.isascii() else _PHRASES + _WIDE))


def is_at_hand(words: Sequence[str]) -> bool:
    """Does it begin as an order for now?"""
    return any(word in _ORDERS for word in [word for word in words[:2] if word != "please"][:1])


def _is_every(words: Sequence[str], at: int) -> bool:
    near = words[at + 1 : at + 1 + _BETWEEN]
    noun = next((word for word in near if _is_project(word)), "")
    if words[at] in _EVERY_AFTER:
        return noun.endswith(_ENDS)
    before = words[at - 1] if at else ""
    return bool(noun) and (before in _PLACE or (before in _FOR and not _OURS.isdisjoint(near)))


def _is_project(word: str) -> bool:
    return word in _SHORT_NOUNS or word.startswith(_NOUNS)
