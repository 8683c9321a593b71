"""The words that make a frame, in ten languages: what is dropped, what marks a wish, a ban, an alternative.

Marks are upper case; the text they are put into is not, so that none can be typed by a user.
"""

from __future__ import annotations

_SAID = (
    ("VAGUE", """i don't think|i do not think|i dont think|i don't know|i dont know|not sure|not yet|not only|not just
        |not always|not necessarily|not that|why not|if not|or not|no problem|no worries|no idea|not bad|no wonder
        |did not|does not|was not|were not|has not|have not|could not|would not|will not|no one|should have|must have
        |can not|no matter|not really|not quite|not exactly|not so|not enough|do you|did you|why do|why did
        |why are|why is|don't need|do not need|dont need|don't have|do not have|dont have|don't see|don't understand
        |don't get|don't remember|don't care|don't mind|don't work|do not work|don't like|never said|never asked
        |never mind|not working|not correct|not right|not good|not true|not ok|not what|not like|not there|not found
        |not needed|not possible|don't you|can we not|could we not|can't we|can't you|couldn't we|couldn't you
        |kein problem|pas seulement|nicht nur|no solo|no sólo|non solo|não só|не только"""),
    ("", """never forget to|don't forget to|do not forget to|dont forget to|in this project|in this repository
        |in this repo|in this codebase|in this code base|in our project|in our repo|in our codebase|in the project
        |in the repo|in the codebase|for this project|for this repo|on this project|around here|from now on
        |going forward|in the future|next time|in general|as a rule|at all times|make sure that you|make sure you
        |make sure to|be sure to|as well|remember to|try to|it is better to|it's better to|i want you to|i need you to
        |i would like you to|i'd like you to|we want to|we need to|we have to|you need to|you have to|if possible
        |in all my projects|in all projects|across all projects|in every project|for all projects|let's|lets|let us
        |in diesem projekt|in diesem repo|ab jetzt|por favor|en este proyecto|en este repo|a partir de ahora
        |s'il te plaît|s'il vous plaît|dans ce projet|dans ce dépôt|dans ce repo|per favore|in questo progetto
        |neste projeto|nesse projeto|no projeto|в этом проекте|в этом репозитории"""),
    ("ASK", "can you|could you|would you|can we|could we|can you please|could you please"),
    ("BAN", """do not ever|don't ever|do not bother with|don't bother with|dont bother with|do not bother to
        |don't bother to|do not|must not|should not|may not|no longer|no more|no need to|no need for|i don't want you to
        |i do not want you to|i don't want|i do not want|we don't want|we do not want|never ever
        |let's not|lets not|let us not|rather not|better not|refrain from|under no circumstances|auf keinen fall
        |никогда не|больше не|не надо|не нужно|ya no"""),
    ("INSTEAD", """instead of|rather than|in place of|as opposed to|anstelle von|an stelle von|en lugar de|en vez de
        |au lieu de|plutôt que de|plutôt que|à la place de|invece di|al posto di|em vez de|ao invés de|no lugar de"""),
    ("USE", "stick to|stick with|go with|make use of|switch to|switch over to|move to|migrate to"),
    ("before", "prior to|antes de|prima di|avant de"),
    ("after", "después de|depois de"),
)  # fmt: skip


def _by_first_word() -> dict[str, list[tuple[list[str], str]]]:
    """First word → the phrases that begin with it, the longest first."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    for mark, phrases in _SAID:
        for phrase in " ".join(phrases.split()).split("|"):
            words = phrase.split()
            found.setdefault(words[0], []).append((words, mark))
    for starting in found.values():
        starting.sort(key=lambda phrase: -len(phrase[0]))
    return found


PHRASES = _by_first_word()

_MARKED = {
    "NOT": "not no non não",
    "PAS": "nicht pas",
    "BAN": """never neither don't dont avoid forbid ban mustn't shouldn't nie niemals kein keine keinen
        vermeide nunca evita jamais évite éviter evite не никогда избегай 不要 别 请勿 勿 禁止 不准 切勿 绝不 永远不要
        不要用 别用 不要使用 不使用 禁止使用 别再 不要再""",
    "VAGUE": """can't cannot doesn't didn't won't wouldn't couldn't hasn't haven't wasn't weren't should've why nothing
        none nobody nowhere hardly barely""",
    "USE": """use using uses utilize choose benutze benutzen verwende verwenden nutze nutzen nimm usa usar use usamos
        utiliza utilizar utilise utiliser utilisez utilisons usate usiamo utilizza usare utilize используй используйте
        использовать используем применяй 用 使用 请用 请使用 改用 要用 统一用 应该用 应使用 都用 采用""",
    "PREFER": "prefer favor favour preferably bevorzuge",
    "ALWAYS": """always must should shall immer stets siempre toujours sempre всегда 总是 始终 一律 必须 务必 请务必
        常に 必ず 항상 반드시 늘""",
    "INSTEAD": "instead-of statt anstatt вместо 而不是 而非 代替",
    "INSTEADPOST": "ではなく ではなくて じゃなくて じゃなく でなく の代わりに 代わりに 말고 대신 대신에 아니라",
    "NOTPOST": """を使わないでください を使わないで は使わないで 使わないで は使わないでください 使わないでください
        を使用しないでください を使用しないで しないでください しないで しないこと 使うな 쓰지 사용하지""",
    "USEPOST": """を使ってください を使って を使います を使う を使用してください を使用して を使用する を使用
        써주세요 써 쓰세요 써요 쓰자 사용 사용하세요 사용해주세요 사용해 사용하자""",
    "ARROW": "→ ⇒",
    "ONLY": "only nur solo sólo seulement soltanto apenas только 只 只能 仅",
    "WITHOUT": "without ohne sin sans senza sem без",
    "USED": "used",
    "GONE": "deprecated legacy obsolete removed outdated gone forbidden disallowed prohibited banned",
    "OVER": "over",
    "BUT": "but sondern sino",
    "WHY": "because since cuz otherwise weil denn sonst porque perché потому 因为",
    "when": "whenever",
    "in": "inside within",
    "ask": "asked told explicitly-asked",
    "instead": "instead stattdessen invece",
}  # fmt: skip

_DROPPED = """a an the this these those my our your all any every each some just really also please kindly pls plz here
    everywhere simply definitely der die das den dem des ein eine einen einem bitte hier immer-nur el los las un una
    le les une de-la aquí ici qui il lo gli uno um uma o os aqui пожалуйста здесь тут 请 这里 ここで ください 下さい
    주세요 여기서 마세요 마 마라 하세요 해주세요 ne mai ever again anymore を は が に 을 를 은 는 이 가 이나 で"""

MARKS = {word: mark for mark, words in _MARKED.items() for word in words.split()}
MARKS.update(dict.fromkeys(_DROPPED.split(), ""))
# French puts its negation around the verb; the second half alone says nothing.
MARKS.update({"n'utilise": "", "n'utilisez": "", "n'utilisons": ""})

# Said before anything is said; dropped at the beginning only, with what follows up to the comma.
OPENERS = frozenset(
    """no nope nah hmm hm um uh ok okay yes yeah yep wait stop actually again remember note fyi btw hey hi oh ah sorry
    look listen mate dude well so and but then right important reminder nein ne ja halt moment also achtung non oui
    attends mais sí si oye espera ehi aspetta não sim espere нет да стой слушай ну 不 不对 不是 不行 嗯 好 いや いいえ
    違う 아니 아니요 아뇨 please bitte tip hint ps nb ugh argh lol guys""".split()
)
SUBJECTS = frozenset("you we claude i i'd wir ich du nosotros nous noi nós мы я ты 我们 我 你".split())
# Who says "we use X".
US = frozenset("we wir nous nosotros noi nós мы 我们".split())
HOUSES = frozenset("project repository codebas".split())
# A sentence of one word that only says no to what was done.
REFUSALS = frozenset("no nop nope nah wrong wait stop nein falsch non нет".split())
# Marks that say how, not what.
SILENT = frozenset(("USE", "USEPOST", "PREFER", "ALWAYS", "ONLY", "instead", "ASK", "will"))
# What one says for running the tool that does it.
RUNNING = {"lint": "run linter", "format": "run formatter", "test": "run test", "run lint": "run linter"}
# The verbs that begin an order; stems, as `frames.stem` gives them.
ORDERS = frozenset(
    """add ask assert assum avoid bas begin build bump call check chang clean clos commit compar compil configur copy
    creat cut declar defin delet deploy document do download drop edit enabl disabl end ensur escap exclud export
    extract fetch fix follow format generat get giv group handl hash hid ignor implement import includ indent inject
    inlin install keep lint link list liv load lock log mak mark match merg migrat mock mov nam nest open order pass
    past pick pin plac prefix print prun publish pull push put quot read rebas refactor rebuild regenerat register
    releas remov renam replac report reply rerun reset resolv restart return reus review rewrit rotat run sav scop
    seed send separat set sign skip sort specify split squash stag start stash stop stor structur suffix switch sync
    tag target test throw touch trim trust typ updat upgrad upload validat verify wait work wrap writ
    schreib führ committ prüf leg mach leer starte ejecut escrib pon haz lanc écri exécut met esegu scriv metti fai
    escrev execut coloc faça пиши запускай запусти делай клади""".split()
)
PREPOSITIONS = frozenset(
    """in for when while during if unless until except before after on at under per once
    für wenn bei vor nach beim en para cuando antes después dans pour quand avant après per quando prima dopo em depois
    в для при когда перед после если""".split()
)
REASONS = frozenset("WHY so it they that this takes which it's that's".split())
# No name of a thing: what stands before a "not" in talk.
TALK = frozenset(
    """still maybe probably definitely certainly better it's that's this that it there there's sure absolutely of is am
    what how i'm you're they he she or and if as only also i we you""".split()
)
IRREGULAR = {
    "written": "writ", "wrote": "writ", "ran": "run", "built": "build", "kept": "keep", "made": "mak", "put": "put",
    "sent": "send", "done": "do", "does": "do", "has": "hav", "have": "hav", "indices": "index", "lives": "liv",
    "live": "liv", "uses": "us", "dependencies": "dependency", "chars": "character", "char": "character",
    "repo": "repository", "repos": "repository", "docs": "doc", "documentation": "doc", "pr": "pr", "prs": "pr",
    "is": "is", "was": "is", "are": "is", "were": "is", "this": "this", "its": "its", "us": "us", "as": "as",
    "message": "messag", "children": "child", "people": "person", "ourselves": "ourselves", "https": "https",
    "rebuilt": "rebuild", "rewritten": "rewrit", "indentation": "indent", "validation": "validat",
    "installation": "install", "deployment": "deploy", "execute": "run", "executing": "run", "folder": "directory",
    "folders": "directory", "dir": "directory", "dirs": "directory", "env": "environment",
    "config": "configuration", "configs": "configuration", "param": "parameter", "params": "parameter",
    "deps": "dependency", "dep": "dependency", "db": "databas",
}  # fmt: skip

for _word in (*PREPOSITIONS, *SUBJECTS, *REASONS, *TALK, "be", "from", "to", "with", "by", "something"):
    MARKS.setdefault(_word, _word)

# Where a script does without spaces: these are set apart before anything else is looked at.
UNSPACED = tuple(
    sorted(
        (
            word
            for mark in ("BAN", "INSTEAD", "INSTEADPOST", "NOTPOST", "USEPOST", "ALWAYS", "USE")
            for word in _MARKED[mark].split()
            if word[0] >= "\u3040" and len(word) > 1
        ),
        key=lambda word: -len(word),
    )
)  # fmt: skip
