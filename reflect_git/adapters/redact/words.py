"""The words around secrets, and those that only look like secrets: data only, loaded when a text names a secret."""

from __future__ import annotations

# A name that goes on like this is not itself secret: token_type, password_min_length, secretName.
HARMLESS_TAILS = (
    "type", "count", "url", "uri", "name", "file", "path", "expir", "ttl", "limit", "len", "field", "input", "ref",
    "polic", "reset", "iz", "min_", "minl", "max", "stdin", "manager", "store", "endpoint", "issuer", "audience", "alg",
    "usage", "budget", "version", "per_", "rotation", "source", "provider", "env", "arn", "prompt", "label",
    "placeholder", "requir", "valid", "param", "header", "regex", "pattern", "hint", "help", "error", "lifetime",
    "refresh_", "price", "cost", "window", "less", "ed", "ing", "ary", "ariat", "fingerprint", "format", "schema",
    "class", "enabled", "hasher", "confirm", "index", "mask", "encoding", "list", "map", "service", "form", "page",
    "view", "screen", "rule", "strength", "created", "updated", "changed", "column", "table", "script", "dir",
    "group", "scope", "role_", "public",
)  # fmt: skip
# What stands before it can take the secrecy away: next_page_token, cache_key.
HARMLESS_TOKENS = (
    "page", "next", "public", "sync", "continuation", "cancellation", "pad", "eos", "bos", "stop", "special", "design",
    "unk", "sep", "mask", "cls", "resume", "cursor", "return", "syntax", "image", "string", "eof", "unexpected",
    "unrecognized", "unrecognised",
)  # fmt: skip
HARMLESS_KEYS = (
    "public", "primary", "foreign", "cache", "idempotency", "partition", "sort", "object", "ssh", "host", "row",
    "i18n", "translation", "group", "lookup", "unique", "composite", "surrogate", "routing", "dedup", "dedupe",
    "shard", "map", "dict", "hash", "storage", "query", "mutation", "s3", "registry", "hot", "state", "gpg", "pgp",
)  # fmt: skip

# Values that say that there is no value.
STOP_WORDS = frozenset(
    (
        "string str text varchar char bytes none null nil undefined true false yes no required optional password"
        " passwd pass secret token key value default any number object boolean bool hidden input bearer basic auto"
        " empty user username root admin postgres mysql guest test foo bar baz foobar unset missing invalid expired"
        " wrong correct changed here passwort kennwort contraseña api apikey api_key mypassword mysecret mytoken mykey"
        " hunter pwd pw login email name file env int integer uuid json unknown disabled enabled redacted removed"
        " masked encrypted hashed toor redis mongo rabbitmq minio sa letmein oauth oauth2 jwt saml service repository"
        " production staging development internal falsch leer vergessen abgelaufen"
    ).split()
)
DUMMY_STARTS = (
    "<", "${", "$(", "{", "%(", "%{", "#{", "[", "…", "...", "@{", "env.", "env:", "env[", "process.env",
    "os.environ", "os.getenv", "getenv", "secrets.", "vars.", "vault:", "op://", "arn:", "ssm:", "file:", "http://",
    "https://", "!ref", "&", "data:", "self.", "this.", "config.", "settings.", "import.meta", "sha256:", "sha1:",
    "sha512-", "sha256-", "sha384-", "sops:", "enc[", ".*", "[^", "context.", "props.", "state.", "\\${", "|", "==",
    "*args", "var.", "local.", "module.", "each.", "=>", "workspace:", "npm:", "catalog:", "link:", "git+",
)  # fmt: skip
DUMMY_PARTS = (
    "xxxx", "your", "example", "changeme", "change_me", "change-me", "placeholder", "redacted", "insert", "replace",
    "dummy", "****", "....", "…", "•••", "todo", "<", ">", "_here", "-here", "my-secret", "my_secret", "not-a-real",
    "notreal", "fakefake", "goes-here", "put-", "my-api-key", "my_api_key", "my-token", "my_token", "foobar", "::",
    "${", "{{", "@sha256:", "[a-z", "[0-9", "0-9]",
)  # fmt: skip
# Words of the trade that have digits in them and are no secrets.
TRADE_STARTS = (
    "sha1", "sha2", "sha3", "sha5", "md5", "base64", "b64", "utf", "oauth", "rs256", "hs256", "es256", "aes", "ed25519",
    "pbkdf2", "argon2", "bcrypt", "http", "ipv", "x509", "x-", "pkcs", "rfc", "iso", "win32", "python3", "gpt",
    "claude", "p256", "rsa", "node", "vue", "web3", "auth0", "ec2", "route53", "sqlite3", "postgres", "i18n", "l10n",
    "a11y", "k8s", "u2f", "fido2", "totp", "s3:", "arm64", "x86", "unix", "localhost", "127.", "0x", "2fa", "mp3",
    "mp4", "h264", "log4j", "neo4j", "commit", "saml", "1pass",
)  # fmt: skip
# Things that people number: step2, user1.
NUMBERED = frozenset(
    (
        "step phase option version chapter section figure table item line column test user field param arg v page part"
        " round case input host server node worker client level layer stage db"
    ).split()
)
COPULAS = frozenset(
    (
        "is are was | - – — / from von = : ist lautet lauten sind est es é è to auf as son zu := -> → => be jest är"
        " er это является mit with using con avec is: ist: equals called named namens è: sei heißt heisst becomes now"
        " jetzt says só olur adalah là usa use uses c'est c’est 's ’s будет: такой: такой это: является: equals: new"
        " neu neue"
        " waren wird wurde será fue foi était sera sarà era stays remains contains reads like als war nun"
        " it's it’s bisher now: currently still actually aktuell derzeit maintenant désormais ahora agora adesso ora"
        " теперь сейчас sondern sino bensì"
    ).split()
)
# The same in scripts that write it together with the word before it.
ENDINGS = (
    "是",
    "为",
    "為",
    "：",
    "は",
    "が",
    "「",
    "『",
    "는",
    "은",
    "로",
    "成",
    "用",
    "를",
    "을",
    "に",
    "、",
    "，",
    "“",
)
# What begins a sentence that goes on about the noun of the last one; what names the new value after a verb of change.
PRONOUNS = frozenset("it it's it’s es er c'est c’est il elle è es ele ela он это its".split())
TARGETS = frozenset("in a à para pra pro en на by by: su".split())
CHANGES = (
    "cambi", "mude", "mud", "alter", "chang", "impost", "änder", "смени", "измен", "помен", "replac", "updat", "set",
    "met", "troc", "troq", "поставь", "установи", "pon", "pus", "mis", "defin",
)  # fmt: skip
# Behind the noun: not in English, where `changed in PR-12` says where and not to what.
CHANGED = (
    "cambi", "mud", "troc", "troq", "changé", "modifi", "impost", "aggiorn", "поменя", "сменён", "сменен", "измен",
    "geänder",
)  # fmt: skip
BACKWARD = frozenset("is was as are sind ist als war est comme es como è come é jest är som это как the".split())
# What says that a password is meant as one, whatever verb comes before it: "als Passwort nehmen wir …".
ROLES = (" als", " as", " as the", " comme", " como", " come", " в качестве")
EASTERN_LINKS = ("作为", "作為", "当作", "是", "を", "が", "は", "として", "로", "을", "를")
# What begins a remark behind a value: `"…"  # the password`.
REMARKS = frozenset("# // -- <- ← <!-- /*".split())
PURPOSES = frozenset("for für pour para per voor для".split())
# What no passphrase of drawn words has in it, and what sentences about passphrases do.
COMMON_WORDS = frozenset(
    (
        "the and but for not nor with without from into onto over under when while who whom whose which that this these"
        " those then than there here has have had was were are been being will would shall should can could may might"
        " must does did done its his her their our your you they them she him one only once ever never always every"
        " each"
        " all any some both few more most other such own same too very just also after before again until about above"
        " below between through during against per via out off down time times long short old new set get got let"
        " password passphrase passwort secret token key keys pin code user users account login wrong invalid incorrect"
        " expired missing required optional empty stored encrypted hashed asked prompted entered typed changed rotated"
        " reset sent link email please try use used using see read file files disk environment variable vault manager"
        " characters letters digits words least correct valid failed error failure successful successfully match"
        " matches"
        " matching different weak strong field value values input output provided given unknown found authentication"
        " der die das den dem des ein eine einer einem und oder aber nicht kein keine ist sind war wird werden wurde"
        " für"
        " von vom zum zur mit ohne aus bei nach auf über unter wenn muss nur noch sehr les des une pour dans avec sans"
        " est sont pas que qui sur par plus trop los las una uno con sin por del que para est muy son gli che per non"
        " nel della dei dal uma dos das com sem não nos ser mais"
    ).split()
)
# Parts of addresses that say where a secret is kept, not what it is.
REFERENCES = (
    "arn:", "secretsmanager", "vault.azure.net", "projects/", "op://", "vault://", "vault:", "ssm:", "gcp-sm://",
    "sm://",
    "keyvault", "akv:", "awssm", "/versions/", "secretref", "ref+", "bws:", "infisical:", "doppler:",
)  # fmt: skip
# Functions and classes that are given a key, and those that are given a checksum or the name of a thing.
CALLEES = (
    "client", "api", "sdk", "init", "configure", "setup", "connect", "auth", "login", "key", "token", "search", "bot",
    "gateway",
    "provider", "credential", "service", "start", "analytics", "mixpanel", "segment", "amplitude", "stripe", "twilio",
    "sendgrid",
    "mailgun", "posthog", "sentry", "pusher", "vonage", "nexmo", "mapbox", "openai", "rollbar", "bugsnag", "newrelic",
    "datadog",
    "secret", "session", "sign", "hmac", "crypt", "cipher", "aes", "chacha", "fernet",
    "webhook", "account", "license", "register", "create_app",
)  # fmt: skip
NAMING_CALLEES = (
    "id", "uuid", "hash", "sha", "md5", "digest", "commit", "checkout", "etag", "checksum", "revision", "ref", "find",
    "expect",
    "equal", "assert", "blob", "tree", "image", "url", "path", "open", "test", "describe", "print", "log", "error",
    "exception",
    "version", "span", "trace", "public", "cachekey", "cache_key", "getelement", "queryselector", "classname",
    "import", "require",
)  # fmt: skip
