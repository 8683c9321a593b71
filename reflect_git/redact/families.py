"""Describe what secrets look like: data only. A pattern is compiled only after its marker was seen in a text."""

from __future__ import annotations

# Characters that show nothing and so can split a secret without anybody seeing it.
INVISIBLE_CHARACTERS = dict.fromkeys(
    [0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
)

# What a text is read as: without these, and with full-width letters and digits as plain ones, one for one.
READABLE_TABLE = {
    **INVISIBLE_CHARACTERS,
    **{wide: wide - 0xFEE0 for first, last in ((0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A)) for wide in range(first, last + 1)},
}  # fmt: skip

_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"
_DOTTED = "[A-Za-z0-9_.~-]"
_BASE64 = "[A-Za-z0-9+/_=-]"
_HEX = "[0-9a-fA-F]"
_CRYPT = r"[A-Za-z0-9./$,=+-]"

# (kind, characters after the prefix, how many at least, prefixes). These prefixes say enough by themselves: they are found
# in the middle of a word too (a branch name, a file name, `%3Dghp_…`, `\nghp_…` in JSON).
TOKEN_PREFIXES = (
    ("github", _WORD, 16, ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
    ("gitlab", _DOTTED, 16, ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-")),
    ("gitlab", _DOTTED, 16, ("glsoat-", "glffct-", "GR1348941")),
    ("atlassian", _BASE64, 20, ("ATATT3x", "ATCTT3x", "ATBB")),
    (
        "slack",
        "[A-Za-z0-9%./+=-]",
        10,
        ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxo-", "xoxe"),
    ),
    ("slack", _WORD, 10, ("xapp-", "xwfp-")),
    ("stripe", _ALNUM, 16, ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_")),
    ("stripe", _BASE64, 20, ("whsec_",)),
    ("anthropic", _WORD, 16, ("sk-ant-",)),
    ("openai", _WORD, 16, ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", "sk-or-v1-", "sk-lf-")),
    ("google", _WORD, 30, ("AIza",)),
    ("google", _DOTTED, 20, ("ya29.", "GOCSPX-", "AQ.Ab")),
    ("aws-session", _BASE64, 80, ("IQoJ", "FwoG", "FQoG")),
    ("digitalocean", _HEX, 32, ("dop_v1_", "doo_v1_", "dor_v1_")),
    ("cloudflare", _WORD, 30, ("cfut_", "cfat_", "cfk_")),
    ("heroku", _WORD, 30, ("HRKU-",)),
    ("fly", _BASE64, 30, ("fm1_", "fm2_", "fm1r_", "fm1a_", "fo1_")),
    ("netlify", _WORD, 30, ("nfp_", "nfo_", "nfc_", "nfb_", "nfu_")),
    ("vercel", _WORD, 20, ("vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_")),
    ("supabase", _WORD, 20, ("sb_secret_", "sbp_")),
    ("planetscale", _DOTTED, 20, ("pscale_tkn_", "pscale_pw_", "pscale_oauth_")),
    ("neon", _ALNUM, 30, ("napi_",)),
    ("npm", _ALNUM, 30, ("npm_",)),
    ("pypi", _WORD, 30, ("pypi-Ag",)),
    ("rubygems", _HEX, 32, ("rubygems_",)),
    ("crates", _ALNUM, 28, ("cioZ", "cioY", "cioX")),
    ("docker", _WORD, 20, ("dckr_pat_", "dckr_oat_")),
    ("huggingface", _ALNUM, 28, ("hf_", "api_org_")),
    ("replicate", _ALNUM, 30, ("r8_",)),
    ("groq", _ALNUM, 30, ("gsk_",)),
    (
        "ai",
        _WORD,
        28,
        ("pplx-", "xai-", "nvapi-", "csk-", "pcsk_", "lsv2_pt_", "lsv2_sk_", "tvly-", "jina_", "tgp_v1_"),
    ),
    ("databricks", _HEX, 30, ("dapi",)),
    ("sendinblue", _WORD, 40, ("xkeysib-", "xsmtpsib-")),
    ("shopify", _ALNUM, 20, ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_")),
    ("square", _WORD, 20, ("sq0atp-", "sq0csp-", "EAAAE", "EAAAl")),
    ("facebook", _ALNUM, 60, ("EAAC", "EAAG", "EAAB", "EAAD")),
    ("paypal", "[A-Za-z0-9$]", 30, ("access_token$",)),
    ("payment", _WORD, 16, ("FLWSECK", "rzp_live_", "shippo_live_", "access-production-", "access-sandbox-")),
    ("payment", _WORD, 30, ("EZAK", "EZTK", "duffel_live_", "duffel_test_")),
    ("sentry", _BASE64, 30, ("sntrys_", "sntryu_", "sntryi_")),
    ("newrelic", _WORD, 20, ("NRAK-", "NRJS-", "NRII-", "NRAA-", "NRRA-", "NRBR-")),
    ("grafana", _BASE64, 20, ("glsa_", "glc_eyJ", "eyJrIjoi")),
    ("dynatrace", _DOTTED, 30, ("dt0c01.", "dt0s01.", "dt0s16.")),
    ("linear", _ALNUM, 20, ("lin_api_", "lin_oauth_")),
    ("notion", _ALNUM, 36, ("ntn_", "secret_")),
    ("figma", _WORD, 20, ("figd_", "figo_", "figu_", "figoh_")),
    ("postman", _WORD, 30, ("PMAK-", "PMAT-")),
    ("hubspot", _WORD, 30, ("pat-na1-", "pat-eu1-", "pat-na2-")),
    ("vault", _DOTTED, 20, ("hvs.", "hvb.", "hvr.")),
    ("doppler", _ALNUM, 30, ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.")),
    ("doppler", _DOTTED, 40, ("dp.st.",)),
    ("pulumi", _HEX, 30, ("pul-",)),
    ("1password", _BASE64, 40, ("ops_eyJ",)),
    ("age", "[A-Za-z0-9]", 20, ("AGE-SECRET-KEY-1", "AGE-PLUGIN-", "AGE-SECRET-KEY-PQ-1")),
    ("sonar", _HEX, 30, ("squ_", "sqp_", "sqa_")),
    ("circleci", _WORD, 20, ("CCIPAT_", "CCIPRJ_")),
    (
        "ci",
        _ALNUM,
        30,
        ("bkua_", "bkct_", "pnu_", "pnb_", "rdme_", "sgp_", "tfp_", "CFPAT-", "CLOJARS_", "ico-", "rnd_"),
    ),
    ("tailscale", _WORD, 16, ("tskey-",)),
    ("jfrog", _ALNUM, 50, ("AKCp", "cmVmdGtu")),
    ("alibaba", _ALNUM, 16, ("LTAI",)),
    ("twitter", "[A-Za-z0-9%]", 40, ("AAAAAAAAAAAAAAAAAAAAA",)),
    ("password-hash", _CRYPT, 20, ("$2a$", "$2b$", "$2y$", "$apr1$", "$argon2", "$y$", "$6$", "$5$", "$1$")),
    (
        "password-hash",
        _CRYPT,
        16,
        ("{SHA}", "{SSHA}", "{SSHA512}", "{CRYPT}", "pbkdf2_sha256$", "pbkdf2:sha", "scrypt:"),
    ),
)

# What may stand before a short prefix: no letter or digit, unless it is the end of an escape.
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtb])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=\[\d\dm))"
_JWT_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtb]))"
_COMMAND = r"\b[^\n|;]{0,120}?\s"
_SHELL = r"(?:\\?[\"'])?([^\s\"'\\]+)"
_LOGIN_TOOLS = (
    "cargo", "vault", "doctl", "wrangler", "supabase", "railway", "fly", "npm", "sentry-cli", "pulumi", "hf", "wandb",
    "stripe", "netlify", "vercel", "argocd", "infracost", "ngrok", "snyk", "codecov",
)  # fmt: skip

_LOGIN_PHRASES = (
    "log in", "log into", "logging into", "login", "log on", "sign in", "signin", "logging in", "einlogg", "anmeld", "logge dich", "melde dich", "verbind", "connect", "connexion", "conéct", "conect", "collega", "подключ",
    "identifi", "accedi", "entra con", "entra como", "inicia sesi", "iniciar sesi", "acced", "entre com", "logar", "credential", "credenci", "credenz", "identifiants", "creds",
    "zugang", "accès", "acceso", "accesso", "acesso", "доступ", "user:", "benutzer", "войти", "войди", "вход", "логин", "зайти", "зайди", "登录", "登入", "登陆", "ログイン", "サインイン", "로그인",
)  # fmt: skip

# Words for a key that no other kind of secret is called, and the keys that everybody may see.
_FOREIGN_KEY_WORDS = ("clé", "clave", "chiave", "chave")
_PUBLIC_KEY_WORDS = (
    "public", "primary", "foreign", "cache", "idempotency", "partition", "sort", "object", "host", "unique", "group", "publishable", "from", "to", "at",
    "row", "index", "lookup", "message", "event", "routing", "dedup", "deduplication", "storage", "redis", "s3", "map",
)  # fmt: skip
_NAMING_KEY_WORDS = (
    "build",
    "hash",
    "lock",
    "file",
    "content",
    "checksum",
    "job",
    "entry",
    "blob",
    "commit",
    "ssh",
    "gpg",
    "pgp",
    "cached",
)
_IS_PHRASES = ("-> ", "→ ", " is ", ": ", "= ", " ist ", " lautet ", " est ", " es ", " è ", " é ")
_UNLOCK_PHRASES = ("unlock", "can sudo", "to sudo", "entsperr", "déverrouill", "desbloque", "sblocca", "разблокир")
_WITH_WORDS = (" with ", " using ", " mit ", " avec ", " con ", " com ", " с ")

# Settings that are followed by a password, with nothing but a space between them.
_DIRECTIVES = ("requirepass", "masterauth", "storepass", "keypass", "bindpw", "rootpw", "sasl_passwd", "wpa-psk")

# (kind, evidence, markers, pattern). A marker is looked for in the lower-cased text; of the inner tuples each needs one hit.
# Group 1 is the secret, else the whole match. Evidence names the check in looks.py that has to hold for it.
# No pattern has something to find behind an unbounded run: that is what makes time quadratic.
WORD_SHAPES = (
    ("aws", "real", (("akia", "asia", "abia", "acca"),), r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}"),
    ("jwt", "real", (("eyj",), (".",)), _JWT_EDGE + r"eyJ[\w-]{8,}\.[\w-]{0,}(?:\.[\w-]*){0,3}"),
    ("jwt", "real", (("eyj",),), r"sk\.eyJ[\w-]{8,}(?:\.[\w-]+)?"),
    ("openai", "digits", (("sk-",),), _EDGE + r"sk-[A-Za-z0-9]{20,}"),
    ("openai", "real", (("t3blbkfj",),), r"[\w-]{0,200}T3BlbkFJ[\w-]{8,}"),
    ("elevenlabs", "digits", (("sk_",),), _EDGE + r"sk_[a-z0-9]{40,}"),
    ("sendgrid", "real", (("sg.",),), r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("mailgun", "real", (("key-",),), _JWT_EDGE + r"key-[0-9a-f]{32}\b"),
    ("mailchimp", "real", (("-us",),), r"(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}\b"),
    ("resend", "real", (("re_",),), _EDGE + r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}"),
    ("telegram", "real", ((":aa",),), r"(?<!\d)\d{6,12}:AA[\w-]{30,}"),
    ("discord", "real", (("discord",), ("webhooks/",)), r"(?:https?://)?[\w.]{0,20}discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w-]+"),
    ("slack", "real", (("hooks.slack",),), r"(?:https?:\\?/\\?/)?hooks\.slack(?:-gov)?\.com[\\/]+(?:services|workflows|triggers)[\w/\\+-]{10,}"),
    ("webhook", "real", (("webhook.office.com", "/webhookb2/"),), r"(?:https?://)?[\w.]{0,60}webhook\.office\.com/[\w@/-]{20,}"),
    ("google", "real", (("1//0",),), r"(?<![\w/])1//0[\w-]{30,}"),
    ("azure", "real", (("8q~", "7q~"),), r"[\w.~-]{3}[78]Q~[\w.~-]{31,}"),
    ("airtable", "real", (("pat",), (".",)), _EDGE + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}"),
    ("asana", "real", (("1/1", "2/1", "1/2", "0/"), (":",)), _EDGE + r"[0-2]/\d{12,}(?:/\d{12,})?:[0-9a-f]{32}\b"),
    ("terraform", "real", ((".atlasv1.",),), r"[A-Za-z0-9]{8,20}\.atlasv1\.[\w-]{20,}"),
    ("nuget", "real", (("oy2",),), _EDGE + r"oy2[a-z0-9]{43}\b"),
    ("newrelic", "real", (("nral",),), r"\b[0-9a-f]{30,40}NRAL\b"),
    ("cloudflare", "real", (("v1.0-",),), r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("square", "digits", (("eaaa",),), r"(?<![\w/+=-])EAAA[\w-]{56,62}(?![\w/+=-])"),
    ("basic", "basic", (("auth=", "auth\"", "auth'", "auth:", "auth\\"),), r"(?<![a-z])auth[\\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\\"']{0,4}([A-Za-z0-9+/]{8,512}={0,2})"),
    ("launchdarkly", "real", (("sdk-", "mob-"),), _EDGE + r"(?:sdk|mob)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    ("webhook", "keyed", (("hook",), ("://",)), r"(?i)://(?:[\w.-]{1,80}/(?:[\w-]{1,20}/){0,2}(?:web)?hooks?|hooks?\.[\w.-]{1,60})/(?:[\w-]{1,40}/){0,4}([\w-]{16,256})"),
    ("webhook", "any", (("hooks.zapier.com",),), r"hooks\.zapier\.com/hooks/(?:catch|standard)/\d{1,20}/([\w-]{4,64})"),
    ("token", "mixed", (("/invit", "/reset", "/verif", "/confirm", "/magic", "/activat", "/unsubscribe", "/join/", "/share/", "/with/key/", "/unlock", "/recover"), ("://",)), r"(?i)://[\w.:-]{1,120}/(?:[\w.-]{1,60}/){0,6}?(?:invit\w{0,8}|reset[\w-]{0,12}|verif\w{0,12}|confirm\w{0,8}|magic[\w-]{0,8}|activat\w{0,8}|unsubscribe|join|share|key|unlock|recover\w{0,4})/(?:[\w-]{1,20}/){0,1}?([\w-]{20,256})"),
    ("azure", "real", (("azdo",),), r"[A-Za-z0-9]{60,80}AZDO[A-Za-z0-9]{4}"),
)  # fmt: skip
# The same, but these need more of the text than one word.
SHAPES = (
    ("aws", "strict", (("akia", "asia"),), r"A[KS]IA[A-Z0-9]{16}[^A-Z0-9][\s\S]{0,80}?(?<![\w/+])([A-Za-z0-9/+]{40})(?![\w/+=])"),
    ("mailgun", "real", (("mailgun",), ("-",)), r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    ("putty", "any", (("private-mac",),), r"Private-MAC: (\w+)"),
    ("mnemonic", "any", (("seed", "mnemonic", "recovery"),), r"(?i)(?:seed|mnemonic|recovery)[^\n:=]{0,40}[:=][\s\"']{0,4}((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"),
    ("card", "card", (("card", "visa", "amex", "credit", "cvv", "cvc", "karte", "carte", "tarjeta"),), r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d.-])"),
    ("url", "userinfo", (("@",), ("://", ":\\/\\/", ":%2f%2f")), r":\\?/\\?/[^\s/@:\"'<>\\]{0,100}:(?!\d{1,5}[/?#])([^\s/\"'<>\\]{1,256})@(?=[\w.\[{$<%-])"),
    ("url", "strict", (("@",), ("://",)), r"://([^\s/@:\"'<>\\]{16,256})(?::[^\s/@:\"'<>\\]{0,40})?@"),
    ("header", "header", (("authorization",),), r"(?i)authorization[\\\"'\]]{0,5}\s{0,4}[:=,]\s{0,4}[\\\"'`]{0,4}(?:[a-z][\w-]{1,20}[ :]\s{0,4})?([^\s\"'`\\]+)"),
    ("header", "strict", (("aws4-hmac", "digest "), ("signature=", "response=")), r"(?i)(?:signature|response)=\"?([\w/+=-]{16,})"),
    ("bearer", "header", (("bearer",),), r"(?i)bearer(?:\s|%20|\+|:|=){1,4}[\"']?([\w.~+/=-]{12,})"),
    ("bearer", "strict", (("bearer\",", "bearer',"),), r"(?i)bearer[\"'],\s{0,4}[\"']([\w.~+/=-]{12,})"),
    ("basic", "strict", (("basic ", "basic\",", "basic',"),), r"(?i)\bbasic(?:[\"'],\s{0,4}[\"']| +)([A-Za-z0-9+/]{12,}={0,2})"),
    ("cookie", "cookie", (("cookie",),), r"(?i)cookies?[\\\"'\]]{0,4}\s{0,4}[:=,]\s{0,4}[\\\"']{0,4}([^\s\"'\\][^\n\"'\\]{8,4096})"),
    ("cookie", "strong", (("sess", "connect.sid="), ("sessid=", "sessionid=", "connect.sid=", "laravel_session=", "auth_session=")), r"(?i)(?:sessi(?:on)?d|sessid|connect\.sid|sessionid|_session)=([\w%.:+/-]{16,})"),
    ("signature", "strict", (("=",), ("sig=", "signature=", "code=", "?key=", "&key=", "-d key=", "-d \"key=", "-d 'key=", "hmac="),), r"(?i)(?:[?&;]|^|(?<=[\s\"']))(?:sig|code|key|hmac|x-amz-signature|x-goog-signature|signature)=([\w%+/=~-]{24,})"),
    ("otp-seed", "any", (("otpauth",),), r"(?i)otpauth(?::|%3a)[^\s\"']{1,200}?secret(?:=|%3d)([A-Z2-7]{8,128})"),
    ("signature", "real", (("x-amz-", "x-goog-"),), r"(?i)x-(?:amz|goog)-(?:signature|security-token|credential)=([\w%+/=~-]{16,})"),
    ("password", "argument", (("-u", " -a ", "--auth"), (" -u", "--user", "--proxy-user", " -a ", "--auth", "\n-u")), r"(?:^|\s)(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]?[\\\"']{0,2}[^\s:\"'/\\]{1,80}:([^\s\"'\\]+)"),
    ("password", "argument", (("curl ",), ("fu ", "gu ", "iu ", "ku ", "lu ", "su ", "vu ")), r"curl" + _COMMAND + r"-[a-zA-Z]{1,8}u\s{0,4}[\\\"']{0,2}[^\s:\"'/\\]{1,80}:([^\s\"'\\]+)"),
    ("password", "shell", (("sshpass",),), r"sshpass" + _COMMAND + r"?-p\s{0,4}" + _SHELL),
    ("password", "shell", (("ssh-keygen",), (" -n ", " -p ")), r"ssh-keygen" + _COMMAND + r"-[NP]\s{1,4}" + _SHELL),
    ("password", "shell", (("encrypt_string",),), r"encrypt_string\s{1,4}(?:--?\S{1,40}\s{1,4}){0,2}(?!-)" + _SHELL),
    ("password", "argument", ((" -p ",), (" -u ", " --user ", "--username ")), r"\s(?:-u|--user|--username)\s{1,4}[\w.@-]{1,60}\s(?:[^\n|;&]{0,60}?\s)?-p\s{1,4}" + _SHELL),
    ("password", "pair", (("/",), ("log in", "login", "sign in", "einlogg", "anmeld")), r"(?i)(?<![\w/.:-])[\w.@-]{2,40} ?/ ?([^\s\"'`,;/)]{6,80})\s[^\n]{0,20}?(?:log ?in|sign in|einlogg|anmeld)"),
    ("password", "shell", (("-p",), ("mysql", "mariadb", "7z")), r"(?:mysql|mariadb|7z)\w{0,24}" + _COMMAND + r"[\"']?-p(?=[^\s])" + _SHELL),
    ("password", "shell", ((" -p",), (" login ", "mongo", "twine ", "rdesktop", "psexec", "ncftp", "useradd", "usermod", "winrm")), r"(?:login|mongo\w{0,24}|twine|rdesktop|psexec\w{0,24}|ncftp\w{0,24}|useradd|usermod|winrm)" + _COMMAND + r"-p[ =:]{1,4}" + _SHELL),
    ("password", "shell", ((" -p",), ("zip ", "sqlcmd", "bcp ", "mosquitto")), r"(?:zip|sqlcmd|bcp|mosquitto_\w{1,24})" + _COMMAND + r"-P\s{0,4}" + _SHELL),
    ("password", "shell", (("redis-cli",), (" -a",)), r"redis-cli" + _COMMAND + r"-a\s{0,4}" + _SHELL),
    ("password", "shell", (("ldap",), (" -w",)), r"ldap\w{1,24}" + _COMMAND + r"-w\s{0,4}" + _SHELL),
    ("password", "shell", (("openssl", "cryptsetup"), ("pass:", " -k ")), r"(?:-pass(?:in|out)?\s{1,4}[\"']?pass:|-k\s{1,4})" + _SHELL),
    ("password", "shell", (("%",), ("smbclient", "rpcclient", "smbmap", "winexe", "mount")), r"(?:-U|--user)[ =]?[\"']?[^\s%\"']{1,60}%([^\s\"']+)"),
    ("password", "shell", (("sqlplus", "expdp", "impdp"), ("/",)), r"(?:sqlplus|expdp|impdp)" + _COMMAND + r"[\"']?[\w$]{1,40}/([^\s@\"'/]+)(?=@|\s|$)"),
    ("password", "shell", (("thin:",),), r"thin:[\w$]{1,40}/([^\s@\"'/]+)@"),
    ("password", "shell", (("lftp",), (",",)), r"lftp" + _COMMAND + r"-u\s{0,4}[\w.@-]{1,60},([^\s\"']+)"),
    ("password", "shell", (("htpasswd",),), r"htpasswd\s{1,4}-\w{0,6}b\w{0,6}\s{1,4}(?:\S{1,200}\s{1,4}){2}" + _SHELL),
    ("password", "shell", (("htpasswd",),), r"htpasswd\s{1,4}-\w{0,6}n\w{0,6}\s{1,4}\S{1,200}\s{1,4}" + _SHELL),
    ("password", "shell", (("user", "pass"), ("add_user", "change_password", "net user", "wpa_passphrase", "authenticate_user"),), r"(?:add_user|change_password|net user|wpa_passphrase|authenticate_user)\s{1,4}[\"']?[\w.@-]{1,60}[\"']?\s{1,4}(?!/)" + _SHELL),
    ("password", "shell", (("net use",), ("/user:",)), r"(?i)/user:\S{1,80}\s{1,4}" + _SHELL),
    ("password", "shell", (("/p:",), ("freerdp", "mstsc", "msbuild", "/u:")), r"(?i)/p:" + _SHELL),
    ("password", "shell", (("echo", "printf", "<<<", "yes "), ("chpasswd", "sudo -s", "cryptsetup", "-stdin", "with-token", "su -c", "| su", "| passwd", "-fd 0", "-fd=0", "| kinit", "passwd ")), r"(?:echo|printf|yes|<<<)\s{0,4}(?:-\w{1,3}\s{1,4})?(?:[\"']?%s[^\s\"']{0,4}[\"']?\s{1,4})?" + _SHELL),
    ("password", "shell", ((" password ",), ("user", " as ")), r"(?im)(?:\buser(?:name)?[ :]{1,2}(?!(?:and|or|with|for|und|et|y|e)\b)[\w.@-]{1,60},? (?:and )?|(?:log|sign|ssh)[^\n]{0,40} as [\w.@-]{1,60},? (?:and |with )?)password {1,2}(?!(?:is|for|and|from|via)\b|auth|login|prompt|reset|hash|protect|field|manag|expir|rotat|fail|require)([^\s\"'`,;.]{6,80})[.,;]?[ \t]{0,4}$"),
    ("password", "pair", (("pass ", "p/w"), ("with pass ", "use pass ", "using pass ", "p/w ", "p/w:", "mit pass "),), r"(?i)(?:(?:with|use|using|mit) pass|\bp/w)[ :]{1,3}[\"'`]?([^\s\"'`,;]{6,80}?)(?=[.,;]?(?:[\s\"'`]|$))"),
    ("token", "keyed", (("pat",), ("pat=", "pat =", "pat:", "pat\":", "pat':"),), r"(?i)(?<![a-z])(?:\w{1,40}_)?pat[\"']?\s{0,4}[:=]\s{0,4}[\"']?([\w-]{20,256})(?![\w/.(])"),
    ("password", "argument", (("(",), ("crypt", "argon2", "passw", "hash::make", "_user("), ("(\"", "('", ", \"", ", '")), r"(?i)(?:b?crypt|argon2\w{0,8}|hash::make|\w{0,24}passw\w{0,24}|create_(?:super)?user)(?:[.:]{1,2}\w{1,24})?\((?:\s{0,8}[\"'][^\"'\n]{0,80}[\"'],){0,3}\s{0,8}[\"']([^\s\"']{6,200})[\"']"),
    ("password", "marked", ((" -p ",),), r"\s-p\s{1,4}[\"']?([^\s\"']{8,200})"),
    ("password", "marked", ((" pass ",),), r"(?i)\bpass\b[^\n]{0,40}?\s[\"'`]?([^\s\"'`,;/()=]{8,80}?)(?=[.,;]?(?:[\s\"'`]|$))"),
    ("password", "strong", (("auth ", "setuser "),), r"(?m)(?:^|> |\d>)\s{0,4}(?:AUTH(?: \w{1,40}(?= \S))?|ACL SETUSER [^\n]{1,80}?\s>) {0,4}[\"']?([^\s\"']{6,200})[\"']?(?=\s|$)"),
    ("password", "strong", (("connect ", "conn "), ("/",), ("@",)), r"(?i)\bconn(?:ect)?\s{1,4}[\w$]{1,40}/([^\s@\"'/]{4,80})@"),
    ("password", "argument", (("set-env ", "env:set "),), r"(?:set-env\s{1,4}\S{1,80}|env:set)\s{1,4}\w{0,60}(?:PASS\w{0,6}|PW|PWD|SECRET|TOKEN|KEY)\s{1,4}" + _SHELL),
    ("password", "pair", (("sudo",), (" wants ", " needs ", " takes ", " expects ", " asks for ", " is ")), r"(?i)\bsudo\b[^\n.;!?]{0,40}?\s(?:wants|needs|takes|expects|asks for|is) [\"'`]?([^\s\"'`,;/()]{6,80}?)(?=[.,;]?[\s\"'`]|[.]?$)"),
    ("password", "marked", (("user", "account"), _WITH_WORDS), r"(?i)\b(?:user|account)\b[^\n]{0,40}?(?:" + "|".join(_WITH_WORDS) + r")[\"'`]?([^\s\"'`,;/()]{8,80}?)(?=[.,;]?[\s\"'`]|[.]?$)"),
    ("password", "pair", ((":",), ("log in", "login", "sign in"), (" with ", " as ", " using ")), r"(?i)(?:log ?in|sign in)[^\n]{0,20}?\s(?:with|as|using) [\"'`]?[\w.@-]{1,60}:([^\s\"'`,;/()]{6,80}?)(?=[.,;]?[\s\"'`]|[.]?$)"),
    ("password", "argument", (("-p=",),), r"(?:^|\s)-p=[\"']?([^\s\"']{6,200})"),
    ("vault", "any", (("secret_id", "secret-id"), ("role_id", "role-id", "approle")), r"secret[_-]id[\"']?\s{0,4}[:=]\s{0,4}[\"']?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"),
    ("otp-seed", "any", (("oathtool",),), r"oathtool" + _COMMAND + r"[\"']?([A-Za-z2-7]{16,128}={0,6})(?=[\s\"']|$)"),
    ("password", "argument", (("echo ", "printf "), (" >", "\">", "'>"), ("key", "secret", "token", "passw", "credential", ".pw")), r"(?:echo|printf)\s{1,4}(?:-\w{1,3}\s{1,4}|[\"']?%s\S{0,4}\s{1,4})?[\"']?([^\s\"'|<>$]{8,512})[\"']?\s{0,4}>{1,2}\s{0,4}[\"']?[^\s\"'|;&]{0,120}(?:key|secret|token|passw|credential|\.pw)"),
    ("private-key", "real", (("accounts", "wallet"),), r"(?i)(?:accounts[\"']?\s{0,4}[:=]\s{0,4}\[|wallet\w{0,20}\()\s{0,8}[\"']((?:0x)?[0-9a-f]{64})[\"']"),
    ("password", "shell", (("wifi", "wi-fi"), (".begin(", ".connect(", ".join(")), r"(?i)wi-?fi\w{0,16}\.(?:begin|connect|join)\(\s{0,8}[\"'][^\"'\n]{1,64}[\"']\s{0,4},\s{0,8}[\"']([^\"'\n]{4,64})[\"']"),
    ("password", "shell", (("define",), ("pass", "pw ")), r"(?i)#\s{0,4}define\s{1,8}\w{0,60}(?:pass(?:w(?:or)?d)?|passphrase|pw)\s{1,20}[\"']([^\"'\n]{4,200})[\"']"),
    ("password", "shell", (("login ",), ("password ",)), r"(?i)\blogin\s{1,8}(?!(?:with|by|using|and|mit|via)\s)\S{1,120}\s{1,8}password\s{1,8}(\S+)"),
    ("password", "shell", (("identified",),), r"(?i)identified\s{1,4}(?:with\s{1,4}\S{1,60}\s{1,4})?by\s{1,4}(?:password\s{1,4})?\\?[\"']([^\"'\\\n]{1,200})"),
    ("password", "strong", (("identified",),), r"(?i)identified\s{1,4}by\s{1,4}([^\s\"'\\;]+)"),
    ("password", "argument", (("pass", "auth", "pw", "psk"), _DIRECTIVES), r"(?i)(?:" + "|".join(_DIRECTIVES) + r")(?:[\s=:]{1,8}|[\"'],\s{0,4}(?=[\"']))(?:--plaintext\s{1,4})?[\\\"']{0,2}([^\s\"'\\;]+)"),
    ("password", "shell", (("pass", "auth", "pw", "psk"), _DIRECTIVES), r"(?i)(?:" + "|".join(_DIRECTIVES) + r")[\s=:]{1,8}[\\\"']{0,2}([^\s\"'\\;]+)(?=[\"'\\;]|[ \t]{0,8}(?:$|[\n#|&-]))"),
    ("password", "argument", (("--from-literal",), ("create secret", "secret generic")), r"--from-literal[ =][\\\"']{0,2}[\w.-]{1,80}=" + _SHELL),
    ("password", "shell", ((":",), (":5432:", ":5433:", ":*:", ":6432:")), r"(?<![\w:*.-])[\w.*-]{1,120}:(?:543\d|6432|\*):[^:\s]{1,64}:[^:\s]{1,64}:([^\s]+)"),
    ("password", "shell", ((",",), ("auth=", "auth(", "auth = (")), r"(?i)auth(?:\s?=\s{0,4}|=?\s{0,4}\()\(?\s{0,4}[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,4}[\"']([^\"'\n]{1,200})[\"']"),
    ("password", "argument", (("(",), ("login(", "log_in(", "signin(", "sign_in(", "credential(", "credentials(", "authenticate(", "authentication(", "connect(", "connection(", "client(", "pdo(")), r"(?i)(?:log_?in|sign_?in|credentials?|authenticat(?:e|ion)|connect(?:ion)?|client|pdo)\((?:\s{0,8}(?:[\"'][^\"'\n]{0,80}[\"']|[\w.$]{1,40})\s{0,4},){1,2}\s{0,8}[\"']([^\"'\n]{1,200})[\"']"),
    ("password", "argument", (("(",), (".auth(", "password(", "passwd(", "passphrase(")), r"(?i)(?:\.auth|(?:set|with|from|_|\.)_?(?:password|passwd|passphrase))\(\s{0,4}[\"'`]([^\"'`\n]{1,200})[\"'`]\s{0,4}[,)]"),
    ("password", "shell", (("bw unlock", "rclone obscure"),), r"(?:bw unlock|rclone obscure)\s{1,4}(?:--?\w{1,12}\s{1,4})?" + _SHELL),
    ("password", "shell", (("alias set ", "host add "),), r"(?:alias set|host add)\s{1,4}\S{1,80}\s{1,4}\S{1,200}\s{1,4}\S{1,80}\s{1,4}" + _SHELL),
    ("password", "argument", (("<(echo", "<(printf"),), r"<\((?:echo|printf)\s{1,4}(?:-\w{1,3}\s{1,4}|[\"']?%s\S{0,4}\s{1,4})?[\"']?([^\s\"')]+)"),
    ("password", "strong", (("_pass ", "_pw ", "_key "), ("env ", "arg ", "setx ", "set -")), r"(?:ENV|ARG|setx|set -\w{1,4})\s{1,4}\w{0,60}(?:PASS|PW|_KEY)\s{1,4}" + _SHELL),
    ("password", "spoken", (("pass",), ("pass is ", "pass was ", "pass: ")), r"(?i)\bpass(?: is| was|:)\s{1,4}[\"'`]?([^\s\"'`]+)"),
    ("password", "pair", ((" pass ",), ("user", "login", "benutzer")), r"(?i)\b(?:user(?:name)?|login|benutzer)[ :=]{1,3}[\w.@-]{1,60}(?:[,;] {1,2}| (?:and|with|und|mit) )pass {1,2}[\"'`]?([^\s\"'`?]+)"),
    ("password", "marked", ((" pass ",), ("user", "login", "benutzer")), r"(?i)\b(?:user(?:name)?|login|benutzer)[ :=]{1,3}[\w.@-]{1,60} pass {1,2}[\"'`]?([^\s\"'`]+)"),
    ("password", "marked", (("pass ",), ("pass de", "pass di", "pass do", "pass da", "pass du", "pass fo", "pass of", "pass vo", "pass fü", "pass es", "pass è", "pass é", "pass ist")), r"(?i)\bpass(?: (?:de|del|della|di|do|da|du|for|of|vom|von|für)(?: [^\s.:;,!?]{1,30}){1,3}?)? (?:is|was|es|est|è|é|ist|lautet):? [\"'`]?([^\s\"'`]+?)(?=[.,;]?(?:[\s\"'`]|$))"),
    ("password", "marked", (("パス",),), r"パス(?:は|が|を|：|:) ?[「『\"'`]?([!-~]{6,80})"),
    ("password", "shell", (("keychain", "security import"), (" -p ",)), r"(?:(?:unlock|create|set)-keychain\w{0,12}|security import)" + _COMMAND + r"-[pP]\s{1,4}" + _SHELL),
    ("password", "lone", ((" pass ",), ("user", "root", "admin", "login", "ssh")), r"(?i)\bpass\s{1,4}[\"'`]?([^\s\"'`?]+)"),
    ("password", "shell", (("--value", "--secret-string"), ("secret", "put-parameter")), r"(?:secret|put-parameter)[^\n]{0,200}?\s--(?:value|secret-string)[ =]" + _SHELL),
    ("password", "pair", (("/",), ("log in", "login ", "sign in", "credential", "creds")), r"(?i)(?:log in|login|sign in|credentials?|creds)\b[^\n/]{0,40}?[\s:\"'`][\"'`]?[\w.@-]{2,60}/([^\s\"'`,;/。、）)]{6,80}?)(?=[.,;)]?[\s\"'`)]|[.]?$)"),
    ("password", "shell", (("@tcp(", "@unix("),), r"(?<![\w/])[\w.-]{1,60}:([^\s\"'/]{1,200})@(?:tcp|unix)\("),
    ("password", "owned", (("@",), (":",)), r"(?<![\w/.@:-])[\w.-]{2,40}:([^\s/\"'@:<>(){}]{6,80})@(?=[A-Za-z][\w-]{0,60}(?:\.[A-Za-z]|:\d{2,5}(?!\d)))"),
    ("password", "argument", (("snmp",), (" -a ", " -x ", " -c ", "community ")), r"snmp[\w-]{0,24}" + _COMMAND + r"?(?:-[AXc]|community)\s{1,4}" + _SHELL),
    ("password", "argument", (("snmp",), (" -x ",)), r"snmp[\w-]{0,24}" + _COMMAND + r"-X\s{1,4}" + _SHELL),
    ("password", "argument", (("http-basic", "bundle config"),), r"(?:http-basic\.\S{1,100}\s{1,4}\S{1,80}\s{1,4}|bundle config(?: set)?(?: --\w{1,10})? \S{1,100} [\w.@-]{1,60}:)" + _SHELL),
    ("password", "argument", (("pass",), (".fill(", ".type(", "keys(", "text(", "value(", ".set(", "sequentially(", "input(")), r"(?i)pass[^\n;]{0,48}?[\"'\])]{1,6}\s?\.(?:clear\(\)\.)?(?:fill|type|send_?keys|(?:set|update)_?value|set|(?:enter|type|replace|input)_?text|press_?sequentially|input)\(\s{0,4}(?:[\w.]{1,40},\s{0,4})?[\"'`]([^\"'`\n]{1,200})"),
    ("basic", "basic", (("64", "atob"), ("b64decode", "atob", "frombase64", "decode64", "base64 -d", "base64 --d"),), r"(?i)(?:b64decode|atob|frombase64string|decode64|base64[_.]?decode|decodestring|echo)[\s(]{1,4}b?[\"']?([A-Za-z0-9+/]{12,512}={0,2})"),
    ("vendor-key", "keyed", (("key",), ("invalid key", "expired key", "revoked key", "wrong key", "bad key", "rejected key", "leaked key", "disabled key", "key is invalid", "key expired", "key revoked"),), r"(?i)(?:invalid|expired|revoked|wrong|bad|rejected|leaked|disabled) key[^\n\w]{1,4}([\w-]{20,256})"),
    ("password", "owned", ((":", " / "), ("admin / ", "admin:", "administrator:", "root:", "root / ", "deploy:", "deploy / ", "postgres:", "demo:", "demo / "),), r"(?i)(?<![\w/.@:-])(?:admin|administrator|root|deploy|postgres|demo)(?: / |:)(?![0-9a-f]{40}(?:[0-9a-f]{24})?\b)([^\s\"'`,;/:]{6,80}?)(?=[.,;)]?[\s\"'`)]|[.]?$)"),
    ("password", "account", (("/",), (": admin/", ": root/", "= admin/", "= root/", "(admin/", "(root/"),), r"(?i)(?:[:=] |\()(?:admin|root)/([^\s\"'`,;/:]{6,80}?)(?=[.,;)]?[\s\"'`)]|[.]?$)"),
    ("vendor-key", "mixed", (("key",), ("key\"", "key'", "key =", "key=", "key:")), r"(?i)(?<![\w-])[\"']?key[\"']?\s{0,4}(?::|=|:=|=>)\s{0,4}(?:\(\s{0,40})?[\"']([A-Za-z0-9_+/=-]{24,256})[\"']"),
    ("vendor-key", "mixed", (("key=",),), r"(?<![\w.-])(?:key|KEY)=([A-Za-z0-9_+/-]{24,256}={0,2})(?![\w.(\[])"),
    ("vendor-key", "real", (("key",), ("key = \"", "key = '", "key=\"", "key='", "key := \"")), r"(?<![\w-])(?<!cache\.)(?<!\w_)(?:key|KEY) ?:?= ?[\"']((?:[0-9a-fA-F]{32}){1,4})[\"']"),
    ("vendor-key", "keyed", (("key\"", "key:", "key'"), ("jwt", "auth", "crypt", "hmac", "sign")), r"(?i)(?:jwt|auth|crypt|hmac|sign)\w{0,12}[\"']?\s{0,4}[:=]\s{0,4}\{?\s{0,40}[^{}\n]{0,80}?(?<![\w-])[\"']?key[\"']?\s{0,4}[:=]\s{0,4}[\"']?([^\s\"',}]{16,256})"),
    ("token", "keyed", (("key ",), ("with the key", "use the key", "using the key", "with this key", "use this key", "with key", "mit dem key", "mit dem schlüssel")), r"(?i)(?:with|use|using|mit) (?:the |this |my |dem )?(?:key|schlüssel) [\"'`]?([A-Za-z0-9_-]{32,256})"),
    ("cookie", "cookie", ((" -b ", "--cookie"),), r"(?:\s-b|--cookie)[ =][\"']?([^\n\"']{8,4096})"),
    ("cookie", "keyed", (("=",), ("session=", "sid=", "sess=", "session_id=", "auth="),), r"(?i)(?<![\w-])(?:\w{1,20}[._-])?(?:session(?:_?id)?|sid|sess|auth)=(?![0-9a-fA-F]{8}-[0-9a-fA-F]{4}-)([\w%.:+/-]{20,1024})"),
    ("cookie", "mixed", ((":",), ("session", "sid\"", "sid'"), ("\":", "':")), r"(?i)(?:session(?:_?id)?|sess_?id|\bsid)[\"']\s{0,4}:\s{0,4}[\"']([\w%.+/-]{16,1024})[\"']"),
    ("password", "argument", (("\n",), ("op read", "pass show", "bw get", "kubectl get secret", "secrets versions access", "get-secret-value", "find-generic-password", "secret-tool lookup", "vault read", "kv get", "vault get", "config:get", "get-parameter"),), r"(?:op read|pass show|bw get|kubectl get secret|secrets versions access|get-secret-value|find-generic-password|secret-tool lookup|vault read|kv get|vault get|config:get|get-parameter)\b[^\n]{0,200}\n[\"']?([^\s\"'{}]{6,512})[\"']?[ \t]{0,8}(?:\n|$)"),
    ("token", "mixed", (("bearer", "cookie"), (" is ", ": ", " ist ", " est ")), r"(?:[Bb]earer|[Cc]ookie)\b[^\n:=?!;,\"]{0,40}?(?::| is| ist| est)\s{1,4}[\"'`]{0,3}([\w-]{20,256})"),
    ("token", "mixed", (("key", *_FOREIGN_KEY_WORDS), _IS_PHRASES), r"(?i)(?<!" + r")(?<!".join(_PUBLIC_KEY_WORDS) + r")(?:^|[ \t-])(?:key|" + "|".join(_FOREIGN_KEY_WORDS) + r")\b[^\n:=?!;,\"]{0,40}?(?:[:=]|->|→|\s(?:is|ist|lautet|est|es|è|é))\s{1,4}[\"'`«]{0,3}\s?([\w+/-]{14,256}={0,2})"),
    ("vendor-key", "real", (("key", *_FOREIGN_KEY_WORDS), _IS_PHRASES), r"(?<![\w-])(?!(?i:" + "|".join((*_PUBLIC_KEY_WORDS, *_NAMING_KEY_WORDS)) + r")\b)[A-Za-zäöüéè]{2,20}[ -](?i:key|" + "|".join(_FOREIGN_KEY_WORDS) + r")(?:[:=]| (?:is|ist|lautet|est|es|è|é):?)\s{1,4}[\"'`]?([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?![\w-])"),
    ("password", "argument", (("wifi", "wi-fi", "wlan", "ssid"), (" key", *_FOREIGN_KEY_WORDS)), r"(?i)(?:wi-?fi|wlan|ssid)\b[^\n]{0,80}?\b(?:key|" + "|".join(_FOREIGN_KEY_WORDS) + r")(?: (?:is|ist|est|es|è|é))?[ :=]{1,3}[\"'`]?([^\s\"'`,;]{6,63})"),
    ("password", "pair", (_UNLOCK_PHRASES, _WITH_WORDS), r"(?i)(?:" + "|".join(_UNLOCK_PHRASES) + r")[^\n.;:!?]{0,60}?(?:" + "|".join(_WITH_WORDS) + r")[\"'`]?([^\s\"'`,;/()]{6,80}?)(?=[.,;]?[\s\"'`]|[.]?$)"),
    ("password", "pair", (("sudo",), ("try ", "type ", "enter ", "use ", "answer ", "give ")), r"(?i)\b(?:try|type|enter|use|answer|give)(?: it)? [\"'`]?([^\s\"'`,;/()]{6,80}?)[\"'`]? (?:for|at|to|on|as|when|in)\b[^\n.;!?]{0,40}?\bsudo\b"),
    ("token", "keyed", ((" login ", " auth "), _LOGIN_TOOLS), r"\b(?:" + "|".join(_LOGIN_TOOLS) + r")\s{1,4}(?:login|auth)\s{1,4}(?:(?:login|init|add|set|-t|--token)\s{1,4}){0,2}" + _SHELL),
    ("token", "argument", (("(",), ("hmac(", "hmac.new(", "jwt.sign", "jwt.verify", "jwt.encode", "jwt.decode")), r"(?i)(?:hmac(?:\.new)?|jwt\.(?:sign|verify|encode|decode))\((?:[^\n'\"()]{0,80}(?:[\"'][\w-]{2,12}[\"'],\s{0,4})?)b?[\"']([^\"'\n]{1,200})[\"']"),
    ("azure", "lone", (("pat", "devops"), ("pat ", "pat=", "pat:", "devops")), r"(?<![A-Za-z0-9])[a-z2-7]{52}(?![A-Za-z0-9])"),
    ("vendor-key", "real", (("snyk", "postmark"), ("api", "auth", "key", "token")), r"(?i)(?:snyk|postmark)[^\n]{0,40}?(?:api|auth|key|token)[^\n]{0,16}?\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    ("basic", "strict", (("auth ",),), r"auth[ \t]{1,4}([A-Za-z0-9+/]{16,}={0,2})"),
    ("password", "argument", (("securestring",),), r"(?i)securestring\s{1,4}(?:-string\s{1,4})?[\"']?([^\s\"']+)"),
    ("password", "argument", (("send ", "send_keys", "sendline"), ("expect", "spawn", "password")), r"(?:send|sendline|send_keys|send_user)[\s(]{1,4}(?:-- )?[\\]?[\"']([^\"'\\\n]{1,200})"),
    ("password", "shell", (("secret set", "secrets set"),), r"secrets? set \S{1,80} (?:-b|--body)[ =]" + _SHELL),
    ("twilio", "real", (("twilio", "auth_token"),), r"(?i)twilio[^\n]{0,48}?\b((?:AC|SK)?[0-9a-f]{32})\b"),
    ("heroku", "real", (("heroku",), ("key", "token", "auth")), r"(?i)heroku[^\n]{0,40}?(?:key|token|auth)[^\n]{0,16}?\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    ("vendor-key", "real", (("key", "token"), ("datadog", "dd-api", "dd_api", "algolia", "fastly", "pagerduty", "rollbar", "bugsnag", "honeycomb")), r"(?i)(?:datadog|dd[-_]api|algolia|fastly|pagerduty|rollbar|bugsnag|honeycomb)[^\n]{0,40}?(?:key|token)[^\n]{0,16}?\b([0-9a-z]{32,40})\b"),
    ("azure", "strict", (("==",), ("azure", "storage", "cosmos", "servicebus"), ("key",)), r"(?i)key[^\n]{0,30}?(?<![\w/+-])([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)"),
    ("private-key", "real", (("ls0tls1crudjti",),), r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJMSUMg|BDRVJ)[A-Za-z0-9+/=_-]{20,}(?:\s{1,8}[A-Za-z0-9+/=]{40,}){0,400}"),
    ("private-key", "any", (("private-lines",),), r"Private-Lines: \d+(?:(?:\\n|\s){1,4}[A-Za-z0-9+/=]{8,})+"),
)  # fmt: skip

# The same for texts that speak of signing in. Most do not, and a few stems tell: of SIGNING_STEMS one is in each of _SIGNING.
LOGIN_SHAPES = (
    ("password", "pair", ((" / ",), _LOGIN_PHRASES), r"(?i)(?:" + "|".join(_LOGIN_PHRASES) + r")[^\n/]{0,60}?(?<![\w/.-])[\"'`]?[\w.@-]{2,60}[\"'`]? {0,2}/ {0,2}[\"'`]?([^\s\"'`,;/。、）)]{6,80}?)(?=[.,;)]?[\s\"'`。、)）]|[.]?$|[^\x00-\x7f])"),
    ("password", "pair", ((" and ", " und ", " et ", " y ", " e ", " и "), _LOGIN_PHRASES), r"(?i)(?:" + "|".join(_LOGIN_PHRASES) + r")[^\n/]{0,30}?\s(?:using|with|as|are|it's|it’s|it is|is|mit|als|sind|avec|sont|con|son|sono|com|são|как)\s[\w.@-]{2,60} (?:and|und|et|y|e|и) [\"'`]?([^\s\"'`,;/)]{6,80}?)(?=[.,;)]?[\s\"'`)]|[.]?$)"),
    ("password", "pair", ((" as ", " als ", "@", " como ", " en tant que ", " come ", " под "), _LOGIN_PHRASES), r"(?i)(?:" + "|".join(_LOGIN_PHRASES) + r")[^\n/]{0,40}?(?:\s(?:as|als|como|come|en tant que|под) [\w.@-]{2,60}|\s[\w.-]{1,40}@[\w.-]{1,60})(?: user)?(?:,)? (?:with|using|mit|avec|con|com|с) (?:the |dem )?[\"'`]?([^\s\"'`,;/)]{6,80}?)(?=[.,;)]?[\s\"'`)]|[.]?$)"),
    ("password", "marked", ((" with ", " using ", " mit ", " avec ", " con ", " com ", " с "), _LOGIN_PHRASES), r"(?i)(?:" + "|".join(_LOGIN_PHRASES) + r")[^\n/]{0,60}?\s(?:with|using|mit|avec|con|com|с) [\"'`]?([^\s\"'`,;/)]{6,80}?)(?=[.,;)]?[\s\"'`)]|[.]?$)"),
    ("password", "marked", ((", ",), _LOGIN_PHRASES), r"(?i)(?:" + "|".join(_LOGIN_PHRASES) + r")[^\n/,]{0,60}?[\s(:][\"'`]?[\w.@-]{2,60}[\"'`]?, [\"'`]?([^\s\"'`,;/)]{6,80}?)(?=[.,;)]?[\s\"'`)]|[.]?$)"),
)  # fmt: skip
LOGIN_STEMS = (
    "log", "sign", "meld", "verbind", "conn", "cone", "colleg", "identif", "acce", "entr", "inicia", "cred", "zugang",
    "acess", "user:", "benutzer",
)  # fmt: skip

# Base64 of PASS, pass, Pass, SECRET, TOKEN, _KEY, KEY= and :// at each of the three offsets, as far as it is the same anywhere.
ENCODED_MARKERS = (
    "UEFTU", "QQVNT", "BBU1", "cGFzc", "wYXNz", "Bhc3", "UGFzc", "QYXNz", "U0VDUkVU", "TRUNSRV", "NFQ1JFV", "c2VjcmV0",
    "zZWNyZX", "NlY3Jld", "U2VjcmV0", "TZWNyZX", "VE9LRU", "UT0tFT", "RPS0VO", "dG9rZW", "0b2tlb", "Rva2Vu", "VG9rZW",
    "Ub2tlb", "X0tFW", "fS0VZ", "9LRV", "X2tle", "fa2V5", "9rZX", "S0VZP", "LRVk9", "tFWT", "S2V5P", "Oi8v", "6Ly", "ovL",
)  # fmt: skip
# Members of a JSON Web Key that only its owner may know.
KEY_MEMBERS = ("d", "p", "q", "dp", "dq", "qi", "k", "r", "t")
# What the names of codes have in common.
ASCII_CODE_NAMES = ("pin", "otp", "code", "kode", "tan", "codice")
CODE_NAMES = (
    *ASCII_CODE_NAMES,
    "пин",
    "код",
    "código",
    "验证码",
    "驗證碼",
    "动态码",
    "校验码",
    "コード",
    "ワンタイム",
    "暗証番号",
    "인증",
    "핀번호",
)
# What opens a map of secrets.
SECRET_MAP_OPENINGS = {
    name: tuple([name + end for end in (":\n", '": {', '":{', ":\\n", " = {", "={")])
    for name in ("data", "keys", "secrets", "tokens", "credentials", "passwords")
}
# What may put two strings together.
_JOINING_SIGNS = ("+", " +", "\n", "\\n", ".", " .", " ||", " &", "&", "\\\n", " \\\n")
STRING_JOINTS = {quote: tuple([quote + joint for joint in _JOINING_SIGNS]) for quote in "\"'`"}
STRING_JOINTS["\\"] = ("\\\n",)
STRING_JOINTS["("] = ("join(", "concat(", ").append(")

# Names under which secrets are kept, lower-cased, space, dash and dot written as underscore.
PASSWORD_NOUNS = (
    "password", "passwd", "passwort", "passphrase", "passcode", "kennwort", "pwd", "mot_de_passe", "contraseña", "contrasena",
    "senha", "wachtwoord", "hasło", "lösenord", "adgangskode", "parola", "şifre", "salasana", "jelszó", "heslo", "пароль",
    "пароля", "паролем", "パスフレーズ", "parole", "密码短语", "парольная_фраза", "кодовая_фраза", "phrase_de_passe", "frase_de_contraseña", "frase_segreta", "frase_secreta", "phrase_secrète", "geheime_phrase", "секретная_фраза", "合言葉", "seed_phrase", "losungswort", "wifi_key", "wi_fi_key", "wlan_key", "wlan_schlüssel", "network_key", "codeword", "contrasenya", "пассворд", "пасс", "비번", "palavra_passe", "clave_de_acceso", "chave_de_acesso", "clé_d'accès", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "كلمة_المرور", "סיסמה", "mật_khẩu", "kata_sandi", "पासवर्ड",
)  # fmt: skip
_BASIC_TOKEN_NOUNS = (
    "secret", "token", "api_key", "apikey", "access_key", "accesskey", "private_key", "privatekey", "auth_key", "authkey",
    "account_key", "accountkey", "encryption_key", "encryptionkey", "encrypt_key", "signing_key", "signingkey", "master_key",
    "masterkey", "license_key", "licensekey", "storage_key", "storagekey", "app_key", "appkey", "application_key",
    "service_key", "shared_key", "sharedkey", "session_key", "deploy_key", "admin_key", "global_key", "integration_key",
    "client_key", "consumer_key", "hmac_key", "jwt_key", "aes_key", "cipher_key", "role_key", "security_key",
    "subscription_key", "function_key", "host_key_base", "webhook_key", "key_data", "seed_hex", "api_schlüssel",
    "api_密钥", "密钥", "令牌", "clé_api", "clé_d'api", "clave_api", "clave_de_api", "chiave_api", "chave_api", "токен", "ключ",
    "トークン", "apiキー", "토큰", "geheimnis", "jeton", "anon_key", "ingest_key", "write_key", "otp_seed", "tls_key",
    "schlüssel", "chave_da_api", "clave_de_la_api", "clave_del_api", "clé_de_l'api", "clé_privée",
    "chiave_di_accesso", "chiave_dell'api", "chiave_privata", "シークレット", "アクセスキー", "秘密鍵", "私钥", "mfa_seed", "totp_seed", "2fa_seed", "recovery_key",
    "clé_secrète", "chiave_segreta", "chave_secreta", "chave_de_api", "clave_secreta", "segreto", "segredo", "секрет", "api_키",
)  # fmt: skip
# The same written together, as `integrationKey=` is.
_JOINED_KEY_NOUNS = [noun.replace("_", "") for noun in _BASIC_TOKEN_NOUNS if noun.endswith("_key")]
TOKEN_NOUNS = (*_BASIC_TOKEN_NOUNS, *[noun for noun in _JOINED_KEY_NOUNS if noun not in _BASIC_TOKEN_NOUNS])
# Too common to be read in prose: `pass` needs a sign after it, `login` a value that is beyond doubt.
SHORT_PASSWORD_NOUNS = ("pass", "pw", "pin", "psk", "mdp", "clave")
ASSIGNED_NOUNS = (*SHORT_PASSWORD_NOUNS, "_key", "jwt", "appid", "auth", "otp", "encrypted", "salt")
LOGIN_NOUNS = (
    "login",
    "log_in",
    "sign_in",
    "basic_auth",
    "creds",
    "credential",
    "zugangsdaten",
    "identifiants",
    "credenciales",
    "anmeldung",
    "логин",
    "登录",
    "ログイン",
    "로그인",
)

# By what they have in common: three looks save a hundred. The last are those that only a text beyond ASCII has.
_ALL_NOUNS = (*PASSWORD_NOUNS, *TOKEN_NOUNS, *ASSIGNED_NOUNS, *LOGIN_NOUNS)
ASCII_NOUNS = tuple([noun for noun in _ALL_NOUNS if noun.isascii()])
PASS_NOUNS = tuple([noun for noun in ASCII_NOUNS if "pass" in noun])
KEY_NOUNS = tuple([noun for noun in ASCII_NOUNS if "key" in noun and "pass" not in noun])
OTHER_NOUNS = tuple([noun for noun in ASCII_NOUNS if "key" not in noun and "pass" not in noun])
FOREIGN_NOUNS = tuple([noun for noun in _ALL_NOUNS if not noun.isascii()])
