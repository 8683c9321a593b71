"""The words that what people say may begin with."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_git.review import talk

FORMS = [
    *(form for form, _ in talk.WRAPPINGS),
    *(value for value in vars(talk).values() if isinstance(value, talk.Form)),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form._pattern[:24])
@settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_no_form_is_left_out_by_its_first_words(form: talk.Form, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(form._compiled, alphabet=st.characters(max_codepoint=127)))
    text = text[form._compiled.search(text).start() :]  # type: ignore[union-attr]
    assert form.match(text, talk.first_word(text)), text


@pytest.mark.parametrize("text", ["ı would rather", "İ would", "I would", "i'd"])
def test_a_first_word_is_read_as_patterns_read_it(text: str) -> None:
    assert talk.first_word(text) == "i"
    assert talk.first_word("ſhouldn't") == "shouldn"
