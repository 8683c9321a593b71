"""Define the words and patterns by which `derive` reads a rule: one row for each form of a sentence."""

from __future__ import annotations

import re

from reflect_git.language.words import load_table

TABLE = load_table("guards")
PROGRAMS = frozenset(load_table("programs")["programs"].split()) | frozenset(TABLE["more_programs"].split())
ENGLISH = frozenset(load_table("programs")["english"].split()) | frozenset(
    "open say port task tap standard future screen stack make node less service just black composer kind flux vault "
    "expo next venv ws su dd kill air serve rush karma nose unittest migrate nix xo snap ls echo sleep tree".split()
)
SUBCOMMANDS = frozenset(TABLE["subcommands"].split())
JS = ["*.js", "*.jsx", "*.ts", "*.tsx", "*.mjs", "*.cjs", "*.mts", "*.cts", "*.vue", "*.svelte"]
TESTS = ["**/tests/**", "**/test/**", "**/__tests__/**", "**/spec/**", "test_*", "*_test.*", "*.test.*", "*.spec.*"]
FILE_KINDS = [(re.compile(phrase), globs) for phrase, globs in TABLE["file_kinds"].items()]
BRANCH = r"(?:the )?`?[\w./*-]+`?(?:(?:,| or| and|/|, or) `?[\w./*-]+`?)*(?: branch(?:es)?)?"
BRANCHES = frozenset(
    "main master develop dev development production prod staging release trunk default stable live".split()
)
CONCEPTS = [
    (
        re.compile(each["phrase"].replace("(?P<b>B)", f"(?P<b>{BRANCH})")),
        each["any"],
        re.compile(each.get("only_phrase", ".*")),
    )
    for each in TABLE["concepts"]
]
CONTENT_FILES = [(re.compile(pattern), globs) for pattern, globs in TABLE["content_files"]]
REWRITES = [
    (re.compile(pattern.replace("{code}", "\ue000\\d+\ue001"), re.I), replacement)
    for pattern, replacement in TABLE["rewrites"]
]
LIBRARIES = {name: kind for kind, names in TABLE["libraries"].items() for name in names.split()}

CODE = re.compile(r"`+([^`]+)`+|\"([^\"\s][^\"]*)\"|“([^”]+)”")
MASK = re.compile("\ue000(\\d+)\ue001")
STATEMENT = re.compile(r"(?<=[.!?])\s+|\.$|!$|;\s*|\s+[—–]\s*|\s+-{1,2}\s+|:\s+|\n+|\s*→\s*|\s*=>\s*")
PIECE = re.compile(
    r",?\s+(?:but|and)\s+(?=(?:never|don't|do not|not|no|must not|should not|may not|must never|should never)\b)|,\s+(?:so\s+)?(?=(?:use|run|prefer|call|do not|don't|never|not|always|make|"
    r"create|go through|instead|please|import|instead|leave|ask|move|no|avoid|only|let|add|write|put)\b|[\w-]+ (?:instead of|rather than) )"
)
REASON = re.compile(
    r",?\s+(?:because|since|otherwise|so that|which|due to)\b.*|,\s+(?:it|they|this|that|these|those|we|our|the|so|as|i|my|your?|he|she|there|a|an|ci|someone|people|humans?|nothing|"
    r"everything|nobody|everyone|each|every)\b.*|\s+as (?:it|they|this|that|the|we)\b.*|\s+\(it .*",
    re.S | re.I,
)
BAN = re.compile(
    r"^(?:(?:please|we|you|and|but|claude|agents?|also|important|rule|note|seriously)[,:]? )*(?:(?:must|should|may|can|shall) )?"
    r"(?:never(?: ever)?|do not(?: ever)?|don't(?: ever)?|dont|not|mustn't|shouldn't|can't|cannot|avoid|stop|quit|refrain from|no(?: more)?|"
    r"(?:always )?(?:ask|check with|check|confirm with|confirm)(?: (?:me|us|first|for (?:permission|approval|confirmation)|the user|with me|the team|a human))* before(?: you)?|"
    r"(?:get|wait for) (?:my |explicit )*(?:approval|permission|confirmation|ok) before|(?:it is|it's) (?:forbidden|not allowed) to|"
    r"(?:you're|you are) not allowed to|forbidden|banned|prohibited|nie|niemals|kein|keine)[:,]? (?P<what>.*)$",
    re.I | re.S,
)
WANT = re.compile(
    r"^(?:(?:please|always|we|instead|but|and|only|just|you should|you must|rather|then)[,:]? )*"
    r"(?P<verb>import from|import|use|run|prefer|call|choose|go through|go with|stick to|stick with|move|make|create|let|do|write|add|put|switch to|work with|rely on|reach for|test with|install with|manage \w+ with|install \w+ with|run \w+ with|run \w+ through|run \w+ via) (?P<what>.*)$",
    re.I | re.S,
)
INSTEAD = re.compile(
    r"^(?P<wanted>.*?),?\s+(?:instead of|rather than|in place of|over|not|never|and not|and never|but not|but never)\s+(?:(?:using|running|calling|use|the|with|plain|raw|bare|old|legacy|from) )*(?P<unwanted>.*)$",
    re.I | re.S,
)
INSTEAD_FIRST = re.compile(
    r"^(?:instead of|rather than) (?:(?:using|running|calling) )?(?P<unwanted>.*?),\s*(?P<wanted>.*)$", re.I | re.S
)
REPLACED = re.compile(r"^(?:replace|swap) (?P<unwanted>.*?) (?:with|by|for) (?P<wanted>.*)$", re.I | re.S)
PASSIVE = re.compile(
    r"^(?P<subject>.*?),? (?:is|are|must|should|may|can|has to|have to) (?:never|not|never to|not to)(?: ever)?(?: be)?(?: manually| directly)? "
    r"(?P<verb>\w+(?:ed|en|un|ad|t))\b(?P<rest>.*)$",
    re.I | re.S,
)
STATE = re.compile(
    r"^(?P<subject>.*?) (?:(?:is|are) (?P<adjective>forbidden|banned|prohibited|not allowed|disallowed|off[- ]limits|read-?only|final|frozen|"
    r"generated|auto-?generated|machine-generated|immutable|deprecated|taboo|not installed|not available|unavailable|broken here|managed by \w+|vendored|gone|removed|retired|obsolete|reserved for (?:the )?\w+|"
    r"only (?:ever )?(?:changed|edited|modified|updated|written|generated) (?:by|through|via|with|using) [^,]+|"
    r"no longer (?:used|supported|allowed)|not (?:how|what) we [^,]+|not (?:used|permitted|acceptable|an option|welcome|ok|okay)|"
    r"never (?:the answer|ok|okay|allowed|acceptable|an option|permitted)|"
    r"only (?:ever )?(?:done|run|executed|called|invoked|performed) (?:by|in|from) (?:the )?(?:ci|cd|pipeline|bot|\w+ (?:workflow|pipeline|job|bot)|github actions|jenkins))"
    r"|(?:doesn't|does not|don't|do not) (?P<missing>exist|work)|isn't (?:installed|available))\b(?P<rest>.*)$",
    re.I | re.S,
)
OWNED = re.compile(
    r"^(?P<subject>.*?) (?:is|are|belongs?|comes?) (?:owned by|maintained by|produced by|managed by|to|from|copied from|synced from|vendored from) .*$",
    re.I | re.S,
)
SUBJECT = re.compile(
    r"^(?P<subject>.+?) (?:is|are|was|were|has|have|hangs?|breaks?|needs?|destroys?|deletes?|removes?|wipes?|blocks?|kills?|"
    r"overwrites?|corrupts?|locks?|fails?|takes?|resets?|costs?|leaks?|crashes|crash|drops?|discards?|publish(?:es)?|"
    r"deploys?|uploads?|sends?) .+$",
    re.I | re.S,
)
VERB_PAIR = re.compile(r"^(?P<first>\w+) (?:or|and|nor) (?P<second>\w+) (?P<rest>.+)$")
SSH = re.compile(
    r"^(?:ssh|connect|log ?in) (?:in|into|to|onto|on to) (?P<host>\ue000\d+\ue001|[\w.@-]*[-.\d@][\w.-]*)(?: with ssh| via ssh)?$",
    re.I,
)
FILES_MUST_NOT = re.compile(
    r"^(?P<place>.*?) (?:may|must|should|can|shall) ?(?:not|never) (?P<what>(?:use|import|call|contain|include|have|add) .*)$",
    re.I | re.S,
)
TAIL = re.compile(
    r"[,\s]*\b(?:for (?:security|safety|legal|compliance|performance|cost|historical) reasons|for good reasons?|by hand|manually|directly|yourself|ever|again|anywhere|at all|please|on your own|in this (?:repo|repository|project|codebase)|"
    r"in (?:the|our) (?:repo|repository|codebase|project)|(?:in|on|for|against) (?:every|any|all|each) (?:cluster|environment|repo|project|machine|branch|stage|server|namespace)s?|here|for now|anymore|any more|under any circumstances|no matter what|on its own|in the shell|in bash|with bash|"
    r"from the command line|in the terminal|from (?:the|your|a) (?:shell|terminal|console|command line|laptop)|when (?:looking|searching|exploring|browsing)\b.*|(?:on|in|against|from) (?:(?:our|any|my) (?:buckets?|databases?|branch(?:es)?|repos?|tables?)|the database)|on this (?:machine|laptop|box)|locally|"
    r"unless (?:i|we|you are|you're|the user|told|asked|explicitly|someone|instructed|requested)\b.*|"
    r"without (?:asking|permission|approval|my|explicit|confirm|confirmation|telling|checking|being asked|consent|a review|prior|first asking|the user)\b.*)\s*$",
    re.I | re.S,
)
CONDITION = re.compile(
    r"\b(?:when|whenever|if|while|until|during|unless|except|after|before|as long as|once|outside|without|for|only|between|more than|less than|other than|apart from|besides|just)\b",
    re.I,
)
NARROWS = re.compile(
    r"\b(?:when|if|while|until|during|unless|only|(?:in|on|for) (?!every|all\b|any|this|our|the (?:whole|repo)|package|depend|install|everything)\w+)",
    re.I,
)
FLAG = r"(?:\ue000\d+\ue001|--?[a-zA-Z][\w-]*(?:=[\w./:@-]*\w| (?!(?:first|flag|option|when|with|to|on|for|in|and|or|set|again|always|every|everywhere|here|at|so|if|as|but|unless|there|too|please)\b)[\w./]+)?)"
NAMED = r"(?:\ue000\d+\ue001|[a-z][\w.-]*(?: [a-z][\w:-]*){0,2}?)"
HEADER = re.compile(
    r"^(?:every|each|all|any)(?: new)? (?P<place>.+?) (?:must|should|needs? to|has to|have to|needs?|requires?)(?: always)?"
    r"(?: (?:start|begin|open) with| have| carry| contain| include)? (?:the |a |an |our )?(?P<text>\ue000\d+\ue001|[A-Z][\w-]*(?:-[\w-]+)+|copyright|licen[sc]e)"
    r"(?: (?:licen[sc]e|copyright))?(?: (?:header|line|comment|notice|identifier|banner)s?)(?: at the top)?$",
    re.I,
)
WANTS_TOOL = re.compile(
    r"^(?:always |please |instead,? )*use (?P<what>(?:the )?(?:Read|Grep|Glob|Edit|Write)(?: tool)?)\b"
)
# "Secrets live in `x/`; never open anything in there."
STORED_IN = re.compile(
    r"^.+? (?:live|lives|are|is|sit|sits|belong|belongs)(?: stored| kept| only)? (?:in|under) (?P<subject>\ue000\d+\ue001|[\w./-]+/)$",
    re.I,
)
PRODUCTION = re.compile(r"(?:the |our )?prod(?:uction)? code", re.I)
NO_FOLDERS = frozenset(
    "root current same home working parent top-level main wrong temporary temp build project".split()
)
SLASHED = re.compile(r"(?<![\w./-])[a-z][\w-]*(?:/[a-z][\w-]*)+(?![\w./-])")
SCRIPT = re.compile(r"(?:\.{0,2}/)?(?:[\w.-]+/)*[\w.-]+\.(?:sh|py|rb|js|mjs|ts|pl|php)")
INTERPRETERS = {
    "sh": "bash|sh|zsh|source|.", "py": "python|python3", "rb": "ruby", "js": "node|bun|deno", "mjs": "node|bun|deno",
    "ts": "ts-node|tsx|bun|deno", "pl": "perl", "php": "php",
}  # fmt: skip
NAMED_IN_BRACKETS = re.compile(r"[^()]+ \((?P<names>\ue000\d+\ue001(?:,? (?:and |or )?\ue000\d+\ue001)*)\)")
GIT_VERBS = frozenset("commit push merge rebase pull clone fetch cherry-pick".split())
THERE = re.compile(
    r"^(?P<head>\w+(?: or \w+)?)(?: (?:anything|files?|something|things|any file|stuff))?(?: (?:in|from|under))?(?: there| it| that folder| this folder)$",
    re.I,
)
MUST = [
    re.compile(pattern, re.I)
    for pattern in (
        rf"^(?:please )?(?:always )?(?:pass|give|add|include|set|specify|supply|append) (?:the )?(?P<flag>{FLAG})(?: flag| option)? (?:to|with|when (?:you )?(?:run|running|call|calling|using|use|invoking)|for|on|in) (?:every |all |any |each |the |a )*(?P<cmd>{NAMED})(?: commands?| calls?| runs?| invocations?| builds?)?$",
        rf"^(?:please )?always use (?:the )?(?P<flag>{FLAG})(?: flag| option)? (?:with|when (?:you )?(?:run|running|call|calling|using|use|invoking)|for|on) (?:every |all |any |each |the |a )*(?P<cmd>{NAMED})(?: commands?| calls?)?$",
        rf"^(?:please )?(?:always )?(?:give|pass) (?P<cmd>{NAMED}) (?:the )?(?P<flag>{FLAG})(?: flag| option)?$",
        rf"^(?:please )?(?:always )?(?:give|pass|run|call) (?P<cmd>{NAMED}) (?:a |an |the |with a |with an )[\w -]+\((?P<flag>{FLAG})\)$",
        rf"^(?:please )?(?:(?:always|only) (?:run|use|call|invoke|execute|start)|run) (?P<cmd>{NAMED}) with (?:the )?(?P<flag>{FLAG})(?: flag| option| set)?$",
        rf"^(?:every |all |any |the )?(?P<cmd>{NAMED})(?: commands?| calls?| runs?)? (?:must|should|has to|have to|needs to|needs?|always needs?|requires?|always takes?|always runs?|is always run|is always called|always)(?: always)?(?: be)?(?: run| called| used| invoked)?(?: with| have| use)? (?:the )?(?P<flag>{FLAG})(?: flag| option)?$",
        rf"^(?:every |all |any |the )?(?P<cmd>{NAMED}) (?:commands?|calls?|runs?|invocations?) (?:must|should|have to|has to|need to) (?:always )?(?:name|pass|set|specify|state|give|include|select) [\w ]+? (?:with|via|using|through) (?:the )?(?P<flag>{FLAG})(?: flag| option)?$",
        rf"^.*? needs? (?P<flag>{FLAG})(?: flag| option)? (?:on|for|with|in) (?:every|each|all|any) (?P<cmd>{NAMED})(?: commands?| calls?| runs?)?$",
        rf"^(?P<cmd>{NAMED}) without (?:the )?(?P<flag>{FLAG})(?: flag| option)? (?:breaks|fails|hangs|does not work|doesn't work|is wrong|is broken|corrupts|crashes)\b.*$",
        rf"^(?:run |use |call |invoke |execute )?(?P<cmd>{NAMED}) without (?:the )?(?P<flag>{FLAG})(?: flag| option)?$",
    )
]
VERBS = {
    "run": "use run call invoke execute launch type start try touch pass",
    "edit": "edit change modify touch alter update write overwrite rewrite delete remove rename move reformat format create patch tweak regenerate adjust "
    "add put clean replace fix",
    "read": "read open view cat print access inspect display show expose look see",
    "content": "use add write leave introduce put import include have commit call access reach hardcode contain",
}
VERB_KINDS = {kind: frozenset(words.split()) for kind, words in VERBS.items()}
ALL_VERBS = frozenset(" ".join(VERBS.values()).split())
IRREGULAR = {
    "written": "write",
    "run": "run",
    "read": "read",
    "put": "put",
    "overwritten": "overwrite",
    "rewritten": "rewrite",
    "left": "leave",
}
FILLER = frozenset(
    "the a an any or and command commands tool tools program programs cli file files anything everything folder folders directory directories dir "
    "contents content of in under inside within below from to at into its all our my code plain raw statement statements call calls "
    "function functions comment comments line lines keyword operator method hook hooks package library module type types existing "
    "stuff things them it these those that this via through with using macro decorator suppressions suppression directives directive "
    "either both nor keywords operators methods macros decorators libraries modules checked-in binary executable anywhere flag flags option bare naked direct installer installers".split()
)
PATH_NAMES = frozenset(
    "src lib app tests test docs scripts packages backend frontend api server client migrations vendor dist build generated node_modules infra deploy config public static assets fixtures proto protos schemas internal pkg cmd web".split()
)
NETWORK = "pg_dump|pg_restore|mysqldump|mongo|mongodump|pgcli|curl|wget|http|https|xh|ssh|scp|sftp|rsync|psql|mysql|redis-cli|mongosh|nc|telnet"
FUNCTIONS = frozenset(
    "print eval exec alert sleep fetch require input breakpoint open println pprint setattr getattr".split()
)
DIRECTIVES = re.compile(
    r"^(?:#|//|/\*|<!--|@ts-|eslint-|noqa|nolint|type: ?ignore|pylint|prettier-ignore|istanbul|nosonar|rubocop:|biome-|pragma|c8 |v8 |noinspection|coverage:|nosec)",
    re.I,
)


CONCEPT_VERBS = frozenset(
    "push merge install deploy publish prune squash rebase amend skip bypass discard force drop kill pipe connect stash stage tag "
    "close open approve create make delete remove upgrade bump migrate destroy reset restart stop disable truncate sign comment upload pass wipe release terminate".split()
)
LEADING_PLACE = re.compile(
    r"^(?P<word>in|under|inside|within|for|on|when|whenever|while|if|during|outside|before|after|once|unless|until|except) (?P<place>[^,]+), (?P<rest>.*)$",
    re.I | re.S,
)
BAN_WITH_WISH = re.compile(
    r"^(?P<unwanted>.*?)(?:,? (?:use|prefer)|, run) (?P<wanted>.*?)(?: instead)?$|^(?P<dropped>.*?),? in favou?r of (?P<other>.*)$"
)
PRONOUN = re.compile(
    r"\w+ (?:them|it|these|those|any of them|these files|that file|this file|this folder)(?: directly)?"
)
BRACKETS = re.compile(
    r"^(?P<head>.*?) ?\((?:e\.g\.,? |like |such as |no |i\.e\.,? |for example,? )?(?P<list>[^()]*)\)(?P<rest>.*)$"
)
HOST_PHRASE = re.compile(r"^(?:connect |use |point |run )?(?P<cmd>\S+)(?: to| into| against| on| with)? .*$")
COMMAND_WITH_FLAG = re.compile(
    rf"^(?:(?:use|run|call|invoke|do|make) )?(?:the )?(?P<a>{NAMED}|{FLAG})(?: flag| option)? (?:with|using|to|on|in|for) (?:the )?(?P<b>{FLAG}|{NAMED})(?: flag| option)?$"
)
FLAG_FOR_COMMAND = re.compile(
    rf"^(?:pass|add|give|set) (?:the )?(?P<a>{FLAG})(?: flag| option)? (?:to|with|on|in|when running) (?P<b>{NAMED})$"
)
COMMAND_WITH_SETTING = re.compile(
    r"^(?:use |run |call )?(?P<cmd>\S+) (?:with|against|in|on) (?:the |our )?(?P<name>(?!(?:every|any|all|each|this|that|an?|no|our|my|your|another|which)\b)\S+) (?P<kind>profile|context|namespace|workspace|project|account|region|cluster|subscription)$"
)
COMMAND_FOR_FILES = re.compile(
    r"^use (?P<names>.*?) to (?P<verb>read|view|print|show|edit|change|modify|search|create|write)(?: (?:files?|code|text|in|source|contents|the|any|new|or|write|create|edit|change|to))*$"
)
FILES_WITH_COMMAND = re.compile(
    r"^(?P<verb>read|view|print|show|display|open|inspect|edit|change|modify|search|find|create|write|list|install|download|fetch|background|manage|run|execute|lint|format|test|build)(?: (?:sql|queries|raw|scripts?|services?|processes|anything|stuff|files?|code|text|in|source|contents|the|packages|dependencies|things|any|new|file|or|write|create|edit|change|python|node))* (?:with|via|using|through|by) (?P<names>.*)$",
    re.I,
)
IN_COMMITS = re.compile(
    r"^(?:(?:add|use|put|include|write|have|mention|leave) )?(?:any |a |the )*(?P<what>.+?)(?: lines?| trailers?| footers?| tags?| prefix(?:es)?| mentions?)? (?:in|to|from) (?:the |git |your )*commits?(?: messages?)?$"
)
IN_PLACE = re.compile(
    r"^(?P<names>.*?)(?: anywhere)? (?:in|under|inside|within|from|into|to) (?:(?:the|our|any|your) )?(?P<place>[^,]+)$"
)
PATH = re.compile(r"\.?[\w@*{},.-]+(?:/[\w@*{},.\[\]-]+)+/?|[\w.@-]+/|\*\*?[\w./*-]+|\.[a-zA-Z][\w.-]{2,}")
FILE_NAME = re.compile(
    r"[\w.-]+\.(?:json|ya?ml|toml|lock|md|ts|tsx|js|jsx|mjs|cjs|py|rs|go|java|rb|sql|sh|cfg|ini|env|xml|gradle|tf|proto|snap|ipynb|prisma|css|scss|html|txt|csv|conf|sum|mod)|Makefile|Dockerfile|Jenkinsfile|Procfile|LICENSE|Gemfile|Justfile"
)
KEYWORD = re.compile(
    r"var|eval|goto|unsafe|unwrap|debugger|useEffect|alert|innerHTML|print|println|puts|assert|lambda|global|any"
)
EXCEPTED = re.compile(
    r",? (?:except|other than|apart from|unless (?:it|that)(?:'s| is)|besides|but not|outside(?: of)?)(?: (?:for|in|on|under|inside|from|within))? (?P<names>.*)$"
)
ADVICE = re.compile(
    r", (?:(?:open|ask|send|push|create|generate|regenerate|change|edit|update|talk|check|go|keep|stick|switch|fix|list|do|"
    r"extend|raise|return|pick|work|wait|tell|copy|wrap|commit|start|stage|build|rebase|squash|inject|define|declare|handle|"
    r"log|mock|store|read|load|set|get|test|format|lint|type|just|simply|instead|better|rather)\b(?! (?:or|and) ).*"
    r"|\S+ (?:is|are) (?:fine|ok|okay|allowed)\b.*)$",
    re.I,
)
PURPOSE = re.compile(
    r",? (?:for|to|when(?: you)?) (?:(?P<install>install(?:ing)?|add(?:ing)?)|manag(?:e|ing)|run(?:ning)?) "
    r"(?:(?:python|node|js|javascript|new|our|all|any|the|npm|your|project) )*(?:packages?|dependenc(?:y|ies)|deps|libraries|modules|scripts?|things|tools|anything)$",
    re.I,
)
WITHOUT_NAMES = re.compile(
    r" without (?:naming|specifying|giving|passing|listing|selecting) (?:a |an |the |any |one |specific |single |test )*(?:files?|paths?|targets?|tests?|arguments?|packages?|modules?|folder|names?)$",
    re.I,
)
_SQL_WORD = r"(?:DROP|TRUNCATE|DELETE|ALTER|UPDATE|INSERT|GRANT|VACUUM|REINDEX)(?: (?:TABLE|DATABASE|SCHEMA|FROM|INDEX|COLUMN|INTO|FULL|ROLE|VIEW))?"
SQL = re.compile(
    rf"(?:(?:run|use|execute|issue|send|write) )?(?:any |raw |a )*(?P<statements>{_SQL_WORD}(?:(?:,? or |,? and |, ){_SQL_WORD})*)"
    r"(?: statements?| queries| query| commands?)?(?: (?:on|against|in) (?:(?:the|any|our|a) )?(?:databases?|db|tables?))?"
)
OBJECTS = frozenset("process os sys console window document time datetime jest vi".split())
LANGUAGES = frozenset("sql json css yaml python typescript javascript rust java ruby csv terraform html".split())
SQL_CLIENTS = "psql|pgcli|mysql|mariadb|mycli|sqlite3|sqlcmd|cockroach|clickhouse-client|duckdb|snowsql|bq"
MCP_SERVER = re.compile(
    r"^(?P<verb>\w+)\b(?: .*?)?(?: (?:with|using|via|through|over))? (?:the )?(?P<name>\ue000\d+\ue001|(?!(?:with|using|via|through|over|the|an?|any|our)\b)\w+) mcp(?: server| tools?| integration)?$",
    re.I,
)
THROUGH_MCP = re.compile(
    r"^(?P<verb>\w+)\b(?: .*?)? (?:to|in|on|into) (?P<name>\w+) (?:with|using|via|through|over) (?:the )?mcp$", re.I
)
_SENDS = "send post reply create add"
MCP_VERBS = {
    "send": _SENDS,
    "post": _SENDS,
    "write": _SENDS + " update edit write",
    "create": "create add",
    "delete": "delete remove",
    "merge": "merge",
    "update": "update edit",
    "close": "close",
}
THROUGH = re.compile(r"^(?P<head>.+?) (?:with|using|via|through|by running) (?P<names>.*)$")
SETTING_WITH_COMMAND = re.compile(
    r"^(?:use|touch|access|change|modify|target|connect to|query) (?:the |our )?(?P<name>\S+) (?P<kind>profile|context|namespace|workspace|project|account|region|cluster|subscription) (?:with|using|via|through) (?P<cmd>\S+)$"
)
KIND_AND_PATHS = re.compile(
    r"^(?P<kind>.*?),? ?(?:in|under|inside|within|below|from)? ?(?P<names>(?:(?:the|our|any) )?(?:\ue000|[\w.*]*[/.*]).*)$"
)
NAMED_FOLDER = re.compile(
    r"(?:(?:anything|files?|code|stuff|things|everything|something) )?(?:in|under|inside|within|below|of)? ?(?:the )?([\w.-]+)(?: folder| directory| dir)"
)
IN_FOLDER = re.compile(r"(?:anything|files?|code|everything) (?:in|under|inside|within|below) (?:the )?([\w-]+)")
ALLOWED = re.compile(
    r"((?:\ue000\d+\ue001(?:, | and | or |/)?)+|[\w./*-]+) (?:is|are) (?:fine|ok|okay|allowed|good|an exception)\b"
)
