"""Sentences that only point: "leave it alone", "I meant the second file". Who was not there cannot follow them."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# What is meant stands before the eyes of who says it, and in no rule.
_POINTING = frozenset(
    """it its it's this that that's these those them they here there both either neither one ones other another same es
    das dies dieses diese dieser diesen den die der beide beides hier da andere anderen anderes ça cela ceci celui
    celle ceux celles ici là autre autres eso esto este esta ese esa aquello aquí ahí otro otra otros questo
    questa quello quella qui lì altro altra isto isso este esse aqui ali outro outra это эту этот эти то там
    тут""".split()
)
_ORDINALS = frozenset(
    """first second third fourth fifth last next previous former latter top bottom middle left upper lower above below
    1st 2nd 3rd 4th 5th erste ersten zweite zweiten dritte dritten letzte letzten premier première deuxième second
    seconde troisième dernier dernière primero primera segundo segunda tercero tercera último última primo prima
    secondo seconda terzo ultimo ultima primeiro primeira первый первую второй вторую последний""".split()
)
_ARTICLES = frozenset("the my your die der den das le la el il lo o a".split())
# Of these, one that is pointed at is no more than a "one".
_THINGS = frozenset(
    """file files line lines one ones option options change changes edit edits part parts bit version approach way thing
    things paragraph sentence section block function method test example suggestion idea item point row column
    datei zeile option änderung teil stelle variante fichier ligne partie modification archivo línea opción cambio
    parte riga modifica arquivo linha opção файл строку вариант""".split()
)
# Words that say nothing of what it is about; "always", "never" and "again" do: they make a rule of it.
_EMPTY = frozenset(
    """i i'm i've you you're we me us my your our he she the a an of to in on at for with from by as and or but so if
    then than not no nope nah don't dont do does did didn't doesn't is are was were isn't wasn't be been being am
    will would can could should shouldn't may might must have has had let let's please pls just only also too yes
    yeah ok okay well about actually really rather instead now still already back alone away up down out off over
    like what which where who how sorry wait stop leave left leaving mean meant means want wanted wants need
    needed like liked talk talking talked refer referring said say saying put keep kept take took go going went
    get got make made use used using try tried give gave look see think thought know pick choose undo redo revert
    restore show tell continue done right wrong ich du wir mich mir nicht nein kein keine doch nur lass lasse
    lassen meine meinte will wollte nimm mach mache tu weg zurück so wie bitte ist war sein ja je tu nous vous ne
    pas non le la les de du un une laisse laissez veux voulais parlais parle dis disais fais mets remets garde
    prends c'est est était oui s'il plaît yo tú no el los las un una deja déjalo quiero quería decía digo pon haz
    es era sí por favor io non il lo gli lascia lascialo voglio volevo intendevo metti fai eu não o os as um uma
    deixa quero queria põe faz я ты не нет оставь хочу имел виду верни сделай""".split()
)


def only_points(text: str) -> bool:
    """Whether nothing in it says what it is about: pronouns and ordinals, and verbs that go with anything."""
    words = [word.replace("’", "'") for word in _WORD.findall(text.lower())]
    pointed = False
    for word, before in zip(words, ["", *words]):
        if word in _POINTING or (word in _ORDINALS and before in _ARTICLES):
            pointed = True
        elif word not in _EMPTY and not (word in _THINGS and before in _POINTING | _ORDINALS):
            return False
    return pointed
