"""The words around secrets, and those that only look like secrets: data only, loaded when a text names a secret."""

from __future__ import annotations

# A name that goes on like this is not itself secret: token_type, password_min_length, secretName.
HARMLESS_TAILS = (
    "type", "count", "url", "uri", "name", "file", "path", "expir", "ttl", "limit", "len", "field", "input", "ref",
    "polic", "reset", "iz", "min_", "minl", "max", "stdin", "manager", "store", "endpoint", "issuer", "audience", "alg",
    "usage", "budget", "version", "per_", "rotation", "source", "provider", "env", "arn", "prompt", "label",
    "placeholder", "requir", "valid", "param", "header", "regex", "pattern", "hint", "help", "error", "lifetime",
    "refresh_", "price", "cost", "window", "less", "ed", "ing", "ary", "ariat", "fingerprint", "format", "schema",
    "class", "enabled", "confirm", "index", "mask", "encoding", "list", "map", "service", "form", "page",
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
        " production staging development internal"
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
    "${", "{{", "[a-z", "[0-9", "0-9]",
)  # fmt: skip
# Words of the trade that have digits in them and are no secrets.
TRADE_STARTS = (
    "sha1", "sha2", "sha3", "sha5", "md5", "base64", "utf", "oauth", "rs256", "hs256", "es256", "aes", "ed25519",
    "pbkdf2", "argon2", "bcrypt", "http", "ipv", "x509", "x-", "pkcs", "rfc", "iso", "win32", "python3", "gpt",
    "claude", "p256", "rsa", "node", "vue", "web3", "auth0", "ec2", "route53", "sqlite3", "postgres", "i18n", "l10n",
    "a11y", "k8s", "u2f", "fido2", "totp", "s3:", "arm64", "x86", "unix", "localhost", "127.", "0x", "2fa", "mp3",
    "mp4", "h264", "log4j", "neo4j", "commit",
)  # fmt: skip
COPULAS = frozenset(
    (
        "is are was | - – — / from von = : ist lautet lauten sind est es é è to auf as son zu := -> → => be jest är"
        " er это является mit with using con avec is: ist: equals called named namens è: sei heißt heisst becomes now"
        " jetzt says só olur adalah là usa use uses c'est c’est 's ’s"
    ).split()
)
BACKWARD = frozenset("is was as are sind ist als war est comme es como è come é jest är som это как the".split())
PURPOSES = frozenset("for für pour para per voor для".split())
