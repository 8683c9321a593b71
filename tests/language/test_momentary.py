"""Remarks about the current task are stored, but not asked about."""

from __future__ import annotations

import pytest

from reflect_git.language.rule_form import is_momentary
from tests.candidates.signals import gather, signal

REMARKS = [
    "let's not use that helper", "wrong branch, I meant release-2", "why didn't you add an index for this?",
    "you forgot the changelog again", "the auditor says we log too much, but I don't agree", "put it back",
    "warum hast du die Vorlage gelöscht?", "du hast den Index vergessen", "falsche Datei, ich meinte die andere",
    "mets le premier pour l'instant", "tu as oublié le test", "me refería solo al pie", "hai dimenticato il titolo",
    "ты забыл индекс", "12 is fine but you edited the wrong template", "that's not the report we talked about",
    "only the header should differ, undo the others", "hm, let's not touch the importer yet", "falta el enlace al pie",
    "il manque la légende", "das Menü geht immer noch nicht", "le menu ne marche toujours pas",
    "die Warnung ist immer noch da", "l'alerte est toujours là", "el aviso sigue ahí", "the banner is still there",
    "schau nochmal in den Verlauf, da steht der Grund", "look at the trace again", "no, prima fammi vedere la query",
    "no need to convert the old fonts, they go away next week", "这个以后再说",
    "die Pumpe reagiert nicht", "la pompe ne répond pas", "la bomba no responde", "the pump does not respond",
    "I don't know, you decide", "keine Ahnung, was meinst du",
]  # fmt: skip


@pytest.mark.parametrize("text", REMARKS)
def test_a_remark_about_the_work_at_hand_is_weak(text: str) -> None:
    assert is_momentary(text)
    found = gather([signal(text, confidence=3)])
    assert not found.strong and len(found.weak) == 1


@pytest.mark.parametrize(
    "text",
    [
        "never use that helper in this project", "you forgot the changelog again, always update it",
        "why did you use npm instead of pnpm?", "we don't put this kind of test into unit/", "Use pnpm, not npm",
        "vergiss nie den Index", "utilise toujours le premier modèle",
        "fail the build if a translation is missing from de.json", "never commit while a test is missing",
        "show me the query first, every time", "utilise toujours la police du thème", "no deploys until next week",
        "retry twice when the pump does not respond in time",
    ],
)  # fmt: skip
def test_what_is_meant_to_last_is_no_such_remark(text: str) -> None:
    assert not is_momentary(text)


def test_a_remark_that_comes_back_in_another_session_is_asked_about() -> None:
    said = [signal("you forgot the changelog again", session_id=session) for session in ("one", "two")]
    assert len(gather(said).strong) == 1


def test_a_sentence_that_works_as_a_rule_is_asked_about_although_the_scorer_was_not_sure() -> None:
    found = gather([
        signal("always run the linter before a push", confidence=1), signal("hm, the linter is slow", confidence=1),
        signal("never push to the release branch", confidence=1, meta={"durable": False}),
    ])  # fmt: skip
    assert [one.text for one in found.strong] == ["Always run the linter before a push"]


def test_a_remark_that_the_scorer_was_not_sure_about_stays_weak() -> None:
    found = gather([signal("die Warnung im Fenster ist immer noch da", confidence=1)])
    assert not found.strong and len(found.weak) == 1


def test_of_many_weak_signals_the_words_of_the_newest_are_read() -> None:
    old = [signal(f"always mention page {at} in the index", confidence=1, day=1) for at in range(5)]
    new = [signal(f"page {at} is rather long", confidence=1, day=2) for at in range(199)]
    found = gather([*old, *new, signal("never push to the release branch", confidence=1, day=3)])
    assert [one.text for one in found.strong] == ["Never push to the release branch"]


@pytest.mark.parametrize(
    "text",
    [
        "hm no, the other chart, the one with the legend", "not chapter.md, I said appendix.md",
        "nein, das andere Kapitel", "non, l'autre chapitre", "no, en el otro capítulo", "不是这个章节",
        "そこじゃなくて、表紙の方です",
        "not yet, show me the draft first", "let me read the draft first", "never mind, leave the title",
        "ugh, this whole chapter is a mess", "hold on, still reading", "let's leave the index out of this PR",
        "the editor wants a longer title but I think the short one works",
        "der Verlag will ein Glossar, ich seh das anders",
        "let's skip that footnote here", "how come you didn't add a glossary for that?",
        "why is the index printed twice?", "まだ送らないで",
    ],
)  # fmt: skip
def test_pointing_elsewhere_waiting_and_venting_are_remarks(text: str) -> None:
    assert is_momentary(text)


@pytest.mark.parametrize(
    "text",
    [
        "ugh, use tabs, not spaces", "from today on, every chapter has a summary",
        "never send a draft in this PR template",
        "why is npm used instead of pnpm?", "why don't we have an index?", "i told you to use pnpm",
        "the editor wants British spelling, so always use it",
    ],
)  # fmt: skip
def test_an_order_amid_such_words_is_none(text: str) -> None:
    assert not is_momentary(text)
