"""The words of orders in other languages, in English: enough to see that two say one thing, or opposite things.

What marks an order or a ban there is in `model/phrases.py`; these are what it is about. A word that also is an English
one of another meaning is left out. Nothing of it goes into a key.
"""

from __future__ import annotations

import re

from reflect_git.model.phrases import MARKS
from reflect_git.model.plainwords import stem

_MEANING = """answer: antworte antworten antwort responde responder respuesta réponds répondre réponse rispondi risposta
    write: schreibe schreiben schreib geschrieben escribe escribir écris écrire scrivi scrivere escreva escrever
    run: laufen ausführen führe ausgeführt ejecuta ejecutar corre exécute exécuter lance lancer esegui execute
    remove: lösche löschen entferne entfernen elimina eliminar borra borrar supprime supprimer rimuovi apague
    edit: ändere ändern bearbeite cambia cambiar modifica modificar modifie modifier altere
    implement: implementierung implementieren implementación
    create: erstelle erstellen anlegen crea crear crée créer criar crie
    ask: frag frage fragen nachfragen pregunta preguntar demande demander chiedi pergunte
    add: hinzufügen ergänze añade añadir agrega ajoute ajouter aggiungi adicione
    check: prüfe prüfen überprüfe comprueba verifica vérifie vérifier controlla
    commit: committe committen commits commite
    test: tests testen pruebas prueba testes essais
    file: datei dateien archivo archivos fichier fichiers arquivo arquivos
    branch: branches zweig zweige rama ramas branche ramo
    comment: kommentar kommentare comentario comentarios commentaire commentaires commento comentários
    message: nachricht nachrichten meldung meldungen mensaje mensajes mensagem
    function: funktion funktionen función funciones fonction fonctions funzione função funções
    variable: variablen variables variabili variáveis
    line: zeile zeilen línea líneas ligne lignes riga linha
    database: datenbank base-de-datos
    tabs: tabulatoren tabuladores tabulations
    spaces: leerzeichen espacios espaces spazi espaços
    indent: einrücken einrückung indentar indentación indenter
    german: deutsch deutsche alemán allemand tedesco alemão
    english: englisch englische inglés anglais inglese inglês
    french: französisch francés français francese francês
    spanish: spanisch español espagnol spagnolo espanhol
    chinese: chinesisch chino chinois
    before: vor bevor antes avant prima
    after: nach nachdem después après dopo depois
    when: wenn beim cuando quand quando
    for: für para
    in: auf im en dans em nel nella
    with: mit con avec com
    new: neu neue neuen neues nuevo nueva nuevos nuevas nouveau nouvelle
    short: kurz kurze knapp corto corta breve court courte
    long: lang lange ausführlich largo larga
    first: zuerst erst primero premier prima
    directly: direkt directamente directement
    deploy: deployen desplegar déployer
    push: pushe pushen empuja
    merge: merge mergen fusiona fusionner
    without: ohne
    it: es lassen jedem jeder jedes cada chaque ogni werden wird müssen soll sollen sein ist son está están todos todas
    name: namen nombre nombres nom noms nome nomi
    secret: geheimnisse secretos
    dependency: abhängigkeit abhängigkeiten dependencias dépendances
    package: paket pakete paquete paquetes paquet paquets
    version: versión"""


def _by_word() -> dict[str, str]:
    found = {}
    for line in _MEANING.split("\n"):
        meaning, _, words = line.strip().partition(": ")
        plain = MARKS.get(meaning, stem(meaning))
        found.update({stem(word): plain for word in words.split() if stem(word) != plain})
    return found


FOREIGN = _by_word()
_CHINESE = dict(
    pair.split("=")
    for pair in """提交=commit 测试=test 运行=run 执行=run 推送=push 部署=deploy 代码=code 注释=comment
    中文=chinese 英文=english 英语=english 回复=answer 回答=answer 分支=branch 合并=merge 删除=remove
    文件=file 修改=edit 询问=ask 编写=write
    数据库=database 日志=log 变量=variable 函数=function 格式化=format 依赖=dependency 安装=install 创建=create
    コミット=commit テスト=test 実行=run コード=code コメント=comment 日本語=japanese 英語=english ファイル=file
    削除=remove
    커밋=commit 테스트=test 실행=run 영어=english 한국어=korean 파일=file""".split()
)
_WORD = "|".join(sorted(_CHINESE, key=lambda word: -len(word)))
_BEFORE = rf"(?:每次|在)?({_WORD}|[a-z]+)\s*(?:する)?(?:之前|以前|前|하기 전)(?:に|必ず|先|,|，)*"
_AFTER = rf"(?:每次|在)?({_WORD}|[a-z]+)\s*(?:した)?(?:之后|以后|后|後)(?:に|,|，)*"


def in_english(text: str) -> str:
    """What scripts without spaces run together, set apart; the rest is looked up word by word."""
    if text.isascii() or max(text) < "\u3040":
        return text
    text = re.sub(_BEFORE, r" before \1 , ", text)  # compiled with the first such text, and kept by `re`
    text = re.sub(_AFTER, r" after \1 , ", text)
    return re.sub(_WORD, lambda found: f" {_CHINESE[found[0]]} ", text)
