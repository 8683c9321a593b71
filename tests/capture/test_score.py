"""The shipped model tells a correction from a task, in every language it claims to know."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_git.capture import score, score_features
from reflect_git.errors import ReflectError

REPO = Path(__file__).resolve().parent.parent.parent
KNOWLEDGE = REPO / "reflect_git" / "knowledge"
LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "ru", "zh", "ja", "ko")
WORKED: dict[str, Any] = {"steps": 4, "assistant": "I added the lamp module and ran the build."}

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import score
print(score.score_message(sys.argv[2], "prompt", {}).score)
"""


def verdict(text: str, via: str = "prompt", **context: Any) -> score.ScoreResult:
    return score.score_message(text, via, {**WORKED, **context})


def test_a_complaint_about_what_was_just_done_is_a_correction() -> None:
    found = verdict("you forgot to run the linter again!!")
    assert found.is_signal and found.type == "correction"


@pytest.mark.parametrize(
    "text",
    [
        "no, don't use wget, we always use curl in this repo",
        "why did you change the lamp colour? I told you to leave it",
        "from now on always ask me before you touch the wiring",
        "nein, wir verwenden hier immer ninja statt make",
        "no, aquí siempre usamos ninja en vez de make",
        "non, ici on utilise toujours ninja au lieu de make",
        "no, qui usiamo sempre ninja invece di make",
        "não, aqui sempre usamos ninja em vez de make",
        "нет, мы всегда используем ninja вместо make",
        "不对，以后不要用 make，我们都用 ninja",
        "違います、今後は make ではなく ninja を使ってください",
        "아니요, 앞으로는 make 대신 ninja를 사용해야 합니다",
    ],
)
def test_a_rule_or_correction_is_a_signal(text: str) -> None:
    found = verdict(text)
    assert found.is_signal
    assert found.durable
    assert found.type in ("correction", "convention")


@pytest.mark.parametrize(
    "text",
    [
        "yes please",
        "ok, continue",
        "add a lamp to the hallway",
        "commit and push",
        "what does the dimmer do?",
        "ja, mach weiter",
        "sí, continúa",
        "да, продолжай",
        "好的，继续",
        "```\nnever = always\n```",
        "",
        "   \n",
        "👍",
    ],
)
def test_a_task_or_a_nod_is_none(text: str) -> None:
    found = verdict(text)
    assert not found.is_signal
    assert (found.type, found.durable, found.sentence) == ("none", False, "")


@pytest.mark.parametrize(
    "text",
    [
        "in all my projects write commit messages in English",
        "In all my projects, write commit messages in English.",
        "write commit messages in English in all my projects",
        "use tabs in all my repos",
        "use type hints in all of my python projects",
        "for all my projects, write commit messages in English",
        "in every repo, write commit messages in English",
        "wherever I work, write commit messages in English",
        "schreib commit-nachrichten in allen meinen projekten auf englisch",
        "escribe los mensajes de commit en inglés en todos mis proyectos",
        "dans tous mes projets, écris les messages de commit en anglais",
        "in tutti i miei progetti scrivi i messaggi di commit in inglese",
        "em todos os meus projetos, escreva mensagens de commit em inglês",
        "schrijf commitberichten in al mijn projecten in het Engels",
        "we wszystkich moich projektach pisz komunikaty commitów po angielsku",
        "во всех моих проектах пиши сообщения коммитов на английском",
        "tüm projelerimde commit mesajlarını ingilizce yaz",
        "在我所有的项目中用英文写提交信息",
        "私のすべてのプロジェクトでコミットメッセージは英語で書いて",
        "내 모든 프로젝트에서 커밋 메시지는 영어로 작성해",
    ],
)
@pytest.mark.parametrize("context", [{}, {"first": True}, {"assistant": "Done. I committed the change.", "steps": 3}])
def test_what_is_said_of_all_projects_is_a_lasting_rule(text: str, context: dict[str, Any]) -> None:
    found = score.score_message(text, "prompt", context)
    assert found.is_signal
    assert found.durable
    assert found.confidence > 1


@pytest.mark.parametrize(
    "text",
    [
        "fix the warnings in all projects",
        "please update the readme in all my projects",
        "check all my projects for secrets",
        "grep for TODO across all repos",
        "which of all my projects uses vite?",
        "how do I search across all my repos",
        "in all reports write the date",
        "the dashboard should list the hours for each project",
    ],
)
def test_what_is_done_to_all_projects_now_is_no_rule(text: str) -> None:
    assert not score.score_message(text, "prompt", {}).is_signal


def test_a_plan_handed_over_by_the_client_is_none() -> None:
    plan = "Implement the following plan:\n\nNever use make. Always use ninja, don't touch the lamp."
    assert not verdict(plan).is_signal
    assert not verdict(plan, "feedback").is_signal


@pytest.mark.parametrize("text", ["use the other lamp", "main is fine", "what is the smallest way?", "too bright"])
def test_a_refusal_with_words_is_returned(text: str) -> None:
    assert verdict(text, "feedback").is_signal


def test_the_way_a_message_came_counts() -> None:
    text = "the hallway lamp has three wires"
    typed, queued, refused = (verdict(text, via).score for via in ("prompt", "queued", "feedback"))
    assert typed < queued
    assert typed < refused
    assert typed < verdict(text, after_failure=True).score


def test_confidence_follows_the_score() -> None:
    texts = [
        "the other lamp",
        "hmm, do we need that?",
        "no, stop!! never use wget here, you keep doing it, we always use curl",
    ]
    found = [verdict(text, "feedback") for text in texts]
    ranked = sorted(found, key=lambda one: one.score)
    assert [one.confidence for one in ranked] == sorted(one.confidence for one in found)
    assert {one.confidence for one in found} <= {1, 2, 3}
    assert verdict(texts[2], "feedback").confidence == 3


def test_the_sentence_that_carries_the_signal_is_named() -> None:
    rule = "From now on never push to main without asking me."
    assert verdict(f"The lamp is on. {rule} The hallway is next.\n> quoted text\n").sentence == rule
    around = "The lamp is on. The hallway is next. The dimmer comes later."
    assert verdict(f"{around} {rule} {around}").sentence == rule


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("to build the lamps run `ninja lamps`, that is the command we always use", "command"),
        ("heads up, the dimmer only works if the relay is powered, otherwise it hangs", "gotcha"),
        ("Perfect, well done, exactly what I wanted", "pattern"),
    ],
)
def test_rare_types_are_known(text: str, kind: str) -> None:
    assert verdict(text).type == kind
    assert verdict(text, "feedback").type == kind


@given(st.text(), st.sampled_from(["prompt", "queued", "feedback", "command-args", "?"]))
@settings(deadline=None)
def test_any_text_gets_a_whole_verdict(text: str, via: str) -> None:
    found = score.score_message(text, via, {})
    assert 0.0 <= found.score <= 1.0
    assert found.confidence in (1, 2, 3)
    assert found.is_signal == (found.type != "none") == bool(found.sentence)
    assert found.is_signal or not found.durable


@pytest.mark.parametrize(
    "context", [{"assistant": None, "steps": None}, {"assistant": 5, "steps": "many"}, {"asked": 1, "first": "yes"}]
)
def test_a_strange_context_does_no_harm(context: dict[str, Any]) -> None:
    assert 0.0 <= score.score_message("you forgot the lamp", "prompt", context).score <= 1.0


def test_lone_surrogates_are_scored() -> None:
    assert 0.0 <= verdict("never \ud800 again").score <= 1.0


def test_a_giant_is_read_at_its_ends_only() -> None:
    giant = score_features.MessageFeatures("never use make! " * 100_000, "prompt", {}, score.load_knowledge().phrases)
    assert sum(map(len, giant.lines)) <= score_features.READ_HEAD + score_features.READ_TAIL
    assert len(giant.wording) <= 80
    assert verdict("never use make! " * 100_000).is_signal


def test_the_same_message_is_scored_the_same_in_every_process() -> None:
    text = "you forgot the wiring again"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-S", "-c", PROGRAM, str(REPO), text],
            capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert float(done.stdout) == score.score_message(text, "prompt", {}).score


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_its_phrases_and_the_scorer_knows_them(language: str) -> None:
    kinds = json.loads((KNOWLEDGE / "phrases" / f"{language}.json").read_text(encoding="utf-8"))
    assert set(kinds) == set(score_features.KINDS)
    assert sum(map(len, kinds.values())) >= 40
    known = score.load_knowledge().phrases
    for kind, listed in kinds.items():
        assert all(known.get(phrase.lower(), 0) >> score_features.KINDS.index(kind) & 1 for phrase in listed), kind


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_can_be_found(language: str) -> None:
    known = score.load_knowledge().phrases
    kinds = json.loads((KNOWLEDGE / "phrases" / f"{language}.json").read_text(encoding="utf-8"))
    lost = []
    for kind, listed in kinds.items():
        for phrase in listed:
            plain = score_features.normalize_text(phrase.lstrip("^"))
            masks = score_features.find_masks(plain.split(), plain, known)
            if not score_features.count_kinds(masks)[score_features.KINDS.index(kind)]:
                lost.append(phrase)
    assert lost == []


def test_a_knowledge_file_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="knowledge file"):
        score.parse_knowledge(b"something else")


def test_the_cues_are_those_of_their_file_and_the_scorer_knows_them() -> None:
    cues = json.loads((KNOWLEDGE / "cues.json").read_text(encoding="utf-8"))
    assert list(cues) == score_features.CUES
    known = score.load_knowledge().phrases
    for at, (cue, listed) in enumerate(cues.items(), len(score_features.KINDS)):
        assert all(known.get(phrase.lower(), 0) >> at & 1 for phrase in listed), cue


def test_what_is_shipped_is_small() -> None:
    assert (KNOWLEDGE / "messages.bin").stat().st_size < 300_000


def test_a_tree_goes_where_the_facts_lead() -> None:
    root, second, third, fourth = b"\x00", b"\x01\x02", b"\x03\x04\x05\x06", bytes(range(7, 15))
    trees = score.DecisionTrees(
        0.5, root * 2 + second * 2 + third * 2 + fourth * 2, bytes(range(128, 128 + score.TREE_LEAVES)) * 2
    )
    assert trees.compute_score([]) == 0.0
    assert trees.compute_score([0, 2, 6, 14]) == 15.0
    assert trees.compute_score([0]) == 8.0
    assert trees.compute_score([0, 6]) == 8.0


def test_each_type_has_its_own_weights() -> None:
    count, at = len(score.TYPES), score_features.FACT_NAMES.index("shout")
    table = bytearray([score.ZERO_WEIGHT]) * count * len(score_features.FACT_NAMES)
    table[at * count : (at + 1) * count] = bytes(range(score.ZERO_WEIGHT, score.ZERO_WEIGHT + count))
    types = score.TypeHeads((1.0,) * count, {"facts": ((0.5,) * count, bytes(table))})
    known = score.load_knowledge().phrases
    assert types.compute_scores(score_features.MessageFeatures("stop", "prompt", {}, known)) == [1.0] * count
    assert types.compute_scores(score_features.MessageFeatures("stop!", "prompt", {}, known)) == [
        1.0 + 0.5 * kind for kind in range(count)
    ]


@given(st.lists(st.sampled_from("do not don't use the lamp as we always from now on in this repo let's ?".split())))
def test_every_phrase_of_up_to_four_words_is_found(words: list[str]) -> None:
    known = score.load_knowledge().phrases
    every = {" ".join(words[at : at + size]) for size in range(1, 5) for at in range(len(words) - size + 1)}
    every |= {"^" + " ".join(words[:size]) for size in range(1, 5) if words}
    every |= {" ".join(words[-size:]) + "$" for size in range(1, 5) if words}
    found = score_features.find_masks(words, " ".join(words), known)
    assert sorted(found) == sorted(known[gram] for gram in every if gram in known)


@pytest.mark.parametrize(
    ("text", "kind", "confidence"),
    [
        ("no, that's not right, the lamp should be green", "correction", 2),
        ("don't use the red relay, we switched to the blue one", "correction", 2),
        ("in this repo we always put lamp drivers in drivers/, that's our convention", "convention", 2),
        ("our naming convention is snake_case, never use camelCase", "convention", 2),
        ("use ninja instead of make", "correction", 3),
    ],
)
def test_each_row_of_words_gives_its_type(text: str, kind: str, confidence: int) -> None:
    found = verdict(text)
    assert found.is_signal
    assert found.type in (kind, "correction" if kind == "convention" else "convention")
    assert found.confidence >= confidence


@pytest.mark.parametrize(
    "text",
    [
        "Perfect, exactly what I wanted!",
        "Brilliant, well done",
        "完璧です、素晴らしい",
        "perfect",
        "Looks good!",
        "genau so",
    ],
)
def test_praise_counts_after_several_steps_only(text: str) -> None:
    found = verdict(text, steps=5)
    assert (found.is_signal, found.type, found.confidence) == (True, "pattern", 1)
    assert not verdict(text, steps=0).is_signal
    assert not verdict(text, steps=1).is_signal


@pytest.mark.parametrize("text", ["ok", "great, next: the hallway", "perfect, now add a dimmer?"])
def test_a_nod_is_no_praise(text: str) -> None:
    assert not verdict(text, steps=5).is_signal


@pytest.mark.parametrize(
    "text",
    [
        "use pnpm instead of npm",
        "No, use pnpm not npm",
        "never use wget here, always use curl",
        "please run the tests with pytest rather than unittest",
        "verwende hier bitte pnpm statt npm",
        "nimm ninja anstelle von make",
        "usa pnpm en vez de npm",
        "usa pnpm en lugar de npm para instalar",
        "utilise pnpm au lieu de npm",
        "utilise plutôt uv à la place de pip",
        "usa pnpm invece di npm",
        "usa pnpm al posto di npm",
        "use pnpm em vez de npm",
        "usa o pnpm ao invés de npm",
        "используй pnpm вместо npm",
        "не используй npm, используй pnpm",
        "请用 pnpm 而不是 npm",
        "用pnpm，不要用npm",
        "npm ではなく pnpm を使ってください",
        "npmの代わりにpnpmを使って",
        "npm 대신 pnpm을 사용하세요",
        "npm 말고 pnpm을 사용해 주세요",
        "run `lamp check` instead of `lamp test`",
    ],
)
def test_one_tool_instead_of_another_is_a_sure_correction(text: str) -> None:
    found = verdict(text, steps=0)
    assert (found.is_signal, found.type, found.confidence, found.durable) == (True, "correction", 3, True)
    assert found.sentence == text


@pytest.mark.parametrize(
    "text",
    [
        "should we use pnpm instead of npm?",
        "show a table instead of a list",
        "run `ninja lamps` to see that there are no regressions",
        "```\nuse pnpm instead of npm\n```\nwhat does this say?",
        "> use pnpm instead of npm\nplease explain the quote",
    ],
)
def test_a_question_a_wish_or_a_quote_is_no_workflow(text: str) -> None:
    assert verdict(text).confidence < 3


def test_the_workflow_sentence_is_the_content() -> None:
    text = "The hallway works now, and the lamps too. Use pnpm instead of npm. Then go on with the dimmer."
    assert verdict(text).sentence == "Use pnpm instead of npm."


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nnever use make, always use ninja instead of make\n```",
        "    never = use(make) or always(ninja)",
        "error: you should never use make here, always use ninja",
        "2031-04-05 10:11:12 WARN never use make, always ninja",
        "> no, never use make, we always use ninja",
        'Traceback (most recent call last):\n  File "lamp.py", line 3, in never_use\nValueError: always wrong',
        "$ ninja lamps # never use make",
    ],
)
def test_what_was_pasted_is_never_the_content(pasted: str) -> None:
    words = "you forgot the hallway lamp again"
    for text in (f"{words}\n{pasted}", f"{pasted}\n{words}", f"{pasted}\n\n{words}\n{pasted}"):
        assert verdict(text, "feedback").sentence == words


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "_knowledge", None)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("kind", "phrase", "text", "type_"),
    [
        ("correction", "Wrong Lamp", "ok, wrong lamp", "correction"),
        ("convention", "the captain's way of doing things", "do it the captain’s way of doing things", "convention"),
        ("prohibition", "hands off the dimmer", "hands off the dimmer, add a relay", "convention"),
        ("workflow", "^lampctl", "lampctl status", "correction"),
        ("correction", "灯不对", "今天灯不对了", "correction"),
        ("correction", "램프 아님", "이건 램프 아님", "correction"),
    ],
)
def test_a_phrase_of_the_user_is_heard(kind: str, phrase: str, text: str, type_: str) -> None:
    before = verdict(text)
    score.add_phrases({kind: [phrase]})
    found = verdict(text)
    assert found.is_signal
    assert found.type == type_
    assert found.confidence >= 2
    assert found.score >= before.score
    assert not verdict(f"```\n{text}\n```").is_signal


@pytest.mark.usefixtures("untouched")
def test_a_phrase_is_whole_words_and_stands_where_it_says() -> None:
    score.add_phrases({"correction": ["lampo", "^dimmer first"]})
    assert not verdict("add a lampoon to the page").is_signal
    assert not verdict("add the dimmer first").is_signal
    assert verdict("Dimmer first!").is_signal


@pytest.mark.usefixtures("untouched")
def test_a_phrase_of_the_user_may_have_more_than_two_words() -> None:
    score.add_phrases({"durable": ["as the captain does"]})
    words = "paint it as the captain does".split()
    assert score_features.count_kinds(
        score_features.find_masks(words, " ".join(words), score.load_knowledge().phrases)
    )[score_features.KINDS.index("durable")]


@pytest.mark.usefixtures("untouched")
def test_phrases_of_the_user_leave_other_messages_alone() -> None:
    texts = ["add a lamp", "you forgot the lamp again", "yes please"]
    before = [verdict(text).score for text in texts]
    score.add_phrases({"correction": ["wrong lamp"], "gotcha": ["the relay sticks"]})
    assert [verdict(text).score for text in texts] == before


def test_a_file_of_phrases_is_read() -> None:
    data = '\ufeff{"correction": ["so nicht"], "durable": []}'.encode()
    assert score.parse_user_phrases(data) == {"correction": ["so nicht"], "durable": []}


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"not json", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'["correction"]', "object"),
        (b'{"mood": ["x"]}', "'mood'"),
        (b'{"correction": "x"}', "'correction'"),
        (b'{"workflow": ["x", 5]}', "'workflow'"),
        (b'{"gotcha": ["a b c d e f g h i"]}', "'gotcha'"),
        (b'{"gotcha": [" ^ "]}', "'gotcha'"),
        (json.dumps({"praise": ["x" * 81]}).encode(), "'praise'"),
        (json.dumps({"durable": ["x y"] * 1001}).encode(), "'durable'"),
    ],
)
def test_a_wrong_file_of_phrases_is_named(data: bytes, names: str) -> None:
    with pytest.raises(ReflectError, match=names) as caught:
        score.parse_user_phrases(data)
    assert caught.value.hint


@pytest.mark.usefixtures("untouched")
def test_wrong_phrases_change_nothing() -> None:
    with pytest.raises(ReflectError, match="'mood'"):
        score.add_phrases({"correction": ["wrong lamp"], "mood": ["x"]})
    assert not verdict("ok, wrong lamp").is_signal
