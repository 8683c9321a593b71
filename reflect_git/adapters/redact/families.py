"""What secrets look like: data only. A pattern here is a string until its marker was seen in a text."""

from __future__ import annotations

# Characters that show nothing and so can split a secret without anybody seeing it.
INVISIBLE = dict.fromkeys(
    [0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
)

_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"
_DOTTED = "[A-Za-z0-9_.~-]"
_BASE64 = "[A-Za-z0-9+/_=-]"
_HEX = "[0-9a-fA-F]"
_CRYPT = r"[A-Za-z0-9./$,=+-]"

# (kind, characters after the prefix, how many at least, prefixes). These prefixes say enough by themselves: they are found
# in the middle of a word too (a branch name, a file name, `%3Dghp_…`, `\nghp_…` in JSON).
PREFIXES = (
    ("github", _WORD, 20, ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
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
_SIGNING_IN = (
    "cargo", "vault", "doctl", "wrangler", "supabase", "railway", "fly", "npm", "sentry-cli", "pulumi", "hf", "wandb",
    "stripe", "netlify", "vercel", "argocd", "infracost", "ngrok", "snyk", "codecov",
)  # fmt: skip

# (kind, evidence, markers, pattern). A marker is looked for in the lower-cased text; of the inner tuples each needs one hit.
# Group 1 is the secret, else the whole match. Evidence names the check in looks.py that has to hold for it.
# No pattern has something to find behind an unbounded run: that is what makes time quadratic.
WORD_SHAPES = (
    ("aws", "real", (("akia", "asia", "abia", "acca"),), r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}"),
    ("jwt", "real", (("eyj",), (".",)), _JWT_EDGE + r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
    ("jwt", "real", (("eyj",),), r"sk\.eyJ[\w-]{8,}(?:\.[\w-]+)?"),
    ("openai", "digits", (("sk-",),), _EDGE + r"sk-[A-Za-z0-9]{20,}"),
    ("openai", "real", (("t3blbkfj",),), r"[\w-]{0,200}T3BlbkFJ[\w-]{8,}"),
    ("elevenlabs", "digits", (("sk_",),), _EDGE + r"sk_[a-z0-9]{40,}"),
    ("sendgrid", "real", (("sg.",),), r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("mailgun", "real", (("key-",),), _JWT_EDGE + r"key-[0-9a-f]{32}\b"),
    ("mailchimp", "real", (("-us",),), r"(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}\b"),
    ("resend", "real", (("re_",),), _EDGE + r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}"),
    ("telegram", "real", ((":aa",),), r"(?<!\d)\d{8,10}:AA[\w-]{30,}"),
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
    ("signature", "strict", (("sig=", "signature=", "code="),), r"(?i)[?&;](?:sig|code|x-amz-signature|x-goog-signature|signature)=([\w%+/=~-]{24,})"),
    ("signature", "real", (("x-amz-", "x-goog-"),), r"(?i)x-(?:amz|goog)-(?:signature|security-token|credential)=([\w%+/=~-]{16,})"),
    ("password", "argument", (("-u", " -a ", "--auth"), (" -u", "--user", "--proxy-user", " -a ", "--auth", "\n-u")), r"(?:^|\s)(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]?[\\\"']{0,2}[^\s:\"'/\\]{1,80}:([^\s\"'\\]+)"),
    ("password", "argument", (("curl ",), ("fu ", "gu ", "iu ", "ku ", "lu ", "su ", "vu ")), r"curl" + _COMMAND + r"-[a-zA-Z]{1,8}u\s{0,4}[\\\"']{0,2}[^\s:\"'/\\]{1,80}:([^\s\"'\\]+)"),
    ("password", "shell", (("sshpass",),), r"sshpass" + _COMMAND + r"?-p\s{0,4}" + _SHELL),
    ("password", "shell", (("mysql", "mariadb", "7z"),), r"(?:mysql|mariadb|7z)\w{0,24}" + _COMMAND + r"[\"']?-p(?=[^\s])" + _SHELL),
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
    ("password", "shell", (("add_user", "change_password", "net user", "wpa_passphrase", "authenticate_user"),), r"(?:add_user|change_password|net user|wpa_passphrase|authenticate_user)\s{1,4}[\"']?[\w.@-]{1,60}[\"']?\s{1,4}(?!/)" + _SHELL),
    ("password", "shell", (("net use",), ("/user:",)), r"(?i)/user:\S{1,80}\s{1,4}" + _SHELL),
    ("password", "shell", (("/p:",), ("freerdp", "mstsc", "msbuild", "/u:")), r"(?i)/p:" + _SHELL),
    ("password", "shell", (("echo", "printf", "<<<"), ("chpasswd", "sudo -s", "password-stdin", "with-token", "su -c")), r"(?:echo|printf|<<<)\s{0,4}(?:-\w{1,3}\s{1,4})?(?:[\"']?%s[^\s\"']{0,4}[\"']?\s{1,4})?" + _SHELL),
    ("password", "shell", (("login ",), ("password ",)), r"(?i)\blogin\s{1,8}\S{1,120}\s{1,8}password\s{1,8}(\S+)"),
    ("password", "shell", (("identified",),), r"(?i)identified\s{1,4}(?:with\s{1,4}\S{1,60}\s{1,4})?by\s{1,4}(?:password\s{1,4})?\\?[\"']([^\"'\\\n]{1,200})"),
    ("password", "strong", (("identified",),), r"(?i)identified\s{1,4}by\s{1,4}([^\s\"'\\;]+)"),
    ("password", "shell", (("pass", "masterauth"), ("requirepass", "masterauth", "storepass", "keypass")), r"(?i)(?:requirepass|masterauth|storepass|keypass)[\s=:]{1,4}[\\\"']{0,2}([^\s\"'\\;]+)"),
    ("password", "shell", ((":5432:", ":5433:", ":*:", ":6432:"),), r":(?:543\d|6432|\*):[^:\s]{1,64}:[^:\s]{1,64}:([^\s]+)"),
    ("password", "shell", (("auth=", "auth("), (",",)), r"(?i)auth(?:=\s{0,4}|=?\s{0,4}\()\(?\s{0,4}[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,4}[\"']([^\"'\n]{1,200})[\"']"),
    ("password", "strong", (("(",), ("login(", "credential(", "credentials(", "authenticate(", "connect(", "client(")), r"(?i)(?:login|credentials?|authenticate|connect|client)\((?:\s{0,8}[\"'][^\"'\n]{0,80}[\"']\s{0,4},){1,2}\s{0,8}[\"']([^\"'\n]{1,200})[\"']"),
    ("password", "shell", (("bw unlock", "rclone obscure"),), r"(?:bw unlock|rclone obscure)\s{1,4}(?:--?\w{1,12}\s{1,4})?" + _SHELL),
    ("password", "shell", (("alias set ", "host add "),), r"(?:alias set|host add)\s{1,4}\S{1,80}\s{1,4}\S{1,200}\s{1,4}\S{1,80}\s{1,4}" + _SHELL),
    ("password", "strong", (("<(echo", "<(printf"),), r"<\((?:echo|printf)\s{1,4}(?:-\w{1,3}\s{1,4}|[\"']?%s\S{0,4}\s{1,4})?[\"']?([^\s\"')]+)"),
    ("password", "strong", (("_pass ", "_pw ", "_key "), ("env ", "arg ", "setx ", "set -")), r"(?:ENV|ARG|setx|set -\w{1,4})\s{1,4}\w{0,60}(?:PASS|PW|_KEY)\s{1,4}" + _SHELL),
    ("password", "spoken", (("pass",), ("pass is ", "pass was ", "pass: ")), r"(?i)\bpass(?: is| was|:)\s{1,4}[\"'`]?([^\s\"'`]+)"),
    ("password", "lone", ((" pass ",), ("user", "root", "admin", "login", "ssh")), r"(?i)\bpass\s{1,4}[\"'`]?([^\s\"'`?]+)"),
    ("password", "shell", (("--value", "--secret-string"), ("secret",)), r"secret[^\n]{0,200}?\s--(?:value|secret-string)[ =]" + _SHELL),
    ("token", "lone", (("key",), ("a key", "e key", "s key", "my key", "r key", "w key", "d key", "t key")), r"(?i)\b(?:a|the|this|my|our|your|new|old|live|prod\w{0,6}|staging|test|root)\s{1,4}key\b[^\n:=?!;,\"]{0,40}?(?:[:=]| is)\s{1,4}[\"'`]{0,3}([\w-]{20,256})"),
    ("token", "strict", ((" login ", " auth "), _SIGNING_IN), r"\b(?:" + "|".join(_SIGNING_IN) + r")\s{1,4}(?:login|auth)\s{1,4}(?:(?:login|init|add|set|-t|--token)\s{1,4}){0,2}" + _SHELL),
    ("token", "strong", (("hmac", "jwt."), ("hmac(", "hmac.new(", "jwt.sign", "jwt.verify", "jwt.encode", "jwt.decode")), r"(?i)(?:hmac(?:\.new)?|jwt\.(?:sign|verify|encode|decode))\((?:[^\n'\"()]{0,80}(?:[\"'][\w-]{2,12}[\"'],\s{0,4})?)b?[\"']([^\"'\n]{1,200})[\"']"),
    ("azure", "lone", (("pat", "devops"), ("pat ", "pat=", "pat:", "devops")), r"(?<![A-Za-z0-9])[a-z2-7]{52}(?![A-Za-z0-9])"),
    ("vendor-key", "real", (("snyk", "postmark"), ("api", "auth", "key", "token")), r"(?i)(?:snyk|postmark)[^\n]{0,40}?(?:api|auth|key|token)[^\n]{0,16}?\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    ("basic", "strict", (("auth ",),), r"auth[ \t]{1,4}([A-Za-z0-9+/]{16,}={0,2})"),
    ("password", "strong", (("securestring",),), r"(?i)securestring\s{1,4}(?:-string\s{1,4})?[\"']?([^\s\"']+)"),
    ("password", "strong", (("send ", "send_keys", "sendline"), ("expect", "spawn", "password")), r"(?:send|sendline|send_keys|send_user)[\s(]{1,4}(?:-- )?[\\]?[\"']([^\"'\\\n]{1,200})"),
    ("password", "shell", (("secret set", "secrets set"),), r"secrets? set \S{1,80} (?:-b|--body)[ =]" + _SHELL),
    ("twilio", "real", (("twilio", "auth_token"),), r"(?i)twilio[^\n]{0,48}?\b((?:AC|SK)?[0-9a-f]{32})\b"),
    ("heroku", "real", (("heroku",), ("key", "token", "auth")), r"(?i)heroku[^\n]{0,40}?(?:key|token|auth)[^\n]{0,16}?\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    ("vendor-key", "real", (("key", "token"), ("datadog", "dd-api", "dd_api", "algolia", "fastly", "pagerduty", "rollbar", "bugsnag", "honeycomb")), r"(?i)(?:datadog|dd[-_]api|algolia|fastly|pagerduty|rollbar|bugsnag|honeycomb)[^\n]{0,40}?(?:key|token)[^\n]{0,16}?\b([0-9a-z]{32,40})\b"),
    ("azure", "strict", (("==",), ("azure", "storage", "cosmos", "servicebus"), ("key",)), r"(?i)key[^\n]{0,30}?(?<![\w/+-])([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)"),
    ("private-key", "real", (("ls0tls1crudjti",),), r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJMSUMg|BDRVJ)[A-Za-z0-9+/=_-]{20,}(?:\s{1,8}[A-Za-z0-9+/=]{40,}){0,400}"),
    ("private-key", "any", (("private-lines",),), r"Private-Lines: \d+(?:(?:\\n|\s){1,4}[A-Za-z0-9+/=]{8,})+"),
)  # fmt: skip

# Names under which secrets are kept, lower-cased, space, dash and dot written as underscore.
PASSWORDS = (
    "password", "passwd", "passwort", "passphrase", "passcode", "kennwort", "pwd", "mot_de_passe", "contraseña", "contrasena",
    "senha", "wachtwoord", "hasło", "lösenord", "adgangskode", "parola", "şifre", "salasana", "jelszó", "heslo", "пароль",
    "пароля", "паролем", "비번", "palavra_passe", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "كلمة_المرور", "סיסמה", "mật_khẩu", "kata_sandi", "पासवर्ड",
)  # fmt: skip
TOKENS = (
    "secret", "token", "api_key", "apikey", "access_key", "accesskey", "private_key", "privatekey", "auth_key", "authkey",
    "account_key", "accountkey", "encryption_key", "encryptionkey", "encrypt_key", "signing_key", "signingkey", "master_key",
    "masterkey", "license_key", "licensekey", "storage_key", "storagekey", "app_key", "appkey", "application_key",
    "service_key", "shared_key", "sharedkey", "session_key", "deploy_key", "admin_key", "global_key", "integration_key",
    "client_key", "consumer_key", "hmac_key", "jwt_key", "aes_key", "cipher_key", "role_key", "security_key",
    "subscription_key", "function_key", "host_key_base", "webhook_key", "key_data", "seed_hex", "api_schlüssel",
    "api_密钥", "密钥", "令牌", "clé_api", "clé_d'api", "clave_api", "clave_de_api", "chiave_api", "chave_api", "токен", "ключ",
    "トークン", "apiキー", "토큰", "geheimnis", "jeton", "anon_key", "ingest_key", "write_key", "otp_seed",
)  # fmt: skip
# Too common to be read in prose: `pass` needs a sign after it, `login` a value that is beyond doubt.
SHORT_PASSWORDS = ("pass", "pw", "pin", "psk", "mdp", "clave")
ASSIGNED = (*SHORT_PASSWORDS, "_key", "jwt", "appid", "auth", "otp", "encrypted", "salt")
SPOKEN = (
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
)

ASCII_NOUNS = tuple([noun for noun in (*PASSWORDS, *TOKENS, *ASSIGNED, *SPOKEN) if noun.isascii()])
