"""Secrets are removed, everything else stays, and both are fast. All values are made up at run time."""

from __future__ import annotations

import random
import string
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.redact import families, find_secrets, redact, redact_value

REPO = Path(__file__).resolve().parents[2]
ALNUM = string.ascii_letters + string.digits
MIXED = "aB3xK9mQ7tZ2wR5yL8nP4cV6dF1gH0jS"
HEX = "3f9a1c7e5b2d8046" * 4
PASSWORD = "Walnut" + "482!kRt"
WORDY = "walnut" + "-ferry-" + "4827"


def token(length: int, seed: int = 0, alphabet: str = ALNUM) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


def armoured(name: str, lines: int = 4, newline: str = "\n") -> str:
    body = newline.join(token(64, line, ALNUM + "+/") for line in range(lines))
    return f"-----{'BEGIN'} {name}-----{newline}{body}{newline}-----{'END'} {name}-----"


PREFIXED = [
    ("gh" + "p_", 36),
    ("gh" + "s_", 36),
    ("github" + "_pat_", 60),
    ("gl" + "pat-", 20),
    ("AT" + "ATT3x", 40),
    ("xo" + "xb-", 40),
    ("xa" + "pp-", 40),
    ("sk" + "_live_", 24),
    ("rk" + "_test_", 24),
    ("wh" + "sec_", 32),
    ("sk" + "-ant-api03-", 80),
    ("sk" + "-proj-", 48),
    ("sk" + "-", 48),
    ("AI" + "za", 35),
    ("ya" + "29.", 60),
    ("GOC" + "SPX-", 28),
    ("npm" + "_", 36),
    ("pypi" + "-AgEI", 100),
    ("dckr" + "_pat_", 27),
    ("hf" + "_", 34),
    ("r8" + "_", 37),
    ("gs" + "k_", 52),
    ("pplx" + "-", 48),
    ("shp" + "at_", 32),
    ("sntr" + "ys_", 60),
    ("NR" + "AK-", 27),
    ("gl" + "sa_", 40),
    ("lin" + "_api_", 40),
    ("nt" + "n_", 46),
    ("fig" + "d_", 40),
    ("PM" + "AK-", 58),
    ("hv" + "s.", 90),
    ("dp" + ".pt.", 43),
    ("AGE-" + "SECRET-KEY-1", 58),
    ("ts" + "key-auth-", 40),
    ("sb" + "_secret_", 31),
    ("IQ" + "oJ", 200),
    ("$2" + "b$12$", 53),
    ("AK" + "IA", 16),
    ("SG" + "." + token(22) + ".", 43),
    ("123456789" + ":AA", 33),
    ("ey" + "J" + token(20) + ".", 40),
]
SHAPED = [
    "dop" + "_v1_" + HEX,
    "key" + "-" + HEX[:32],
    HEX[:32] + "-us" + "12",
    "M" + token(23) + "." + token(6) + "." + token(27),
    token(14) + ".atlas" + "v1." + token(60),
    "pat" + token(14) + "." + HEX,
    "https://hooks." + "slack.com/services/T" + token(8) + "/B" + token(8) + "/" + token(24),
    "https://discord" + ".com/api/webhooks/123456789/" + token(60),
    token(3) + "8Q" + "~" + token(34),
    "LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURSBLRVkt" + token(200),
    armoured("RSA PRIVATE" + " KEY"),
    armoured("OPENSSH PRIVATE" + " KEY"),
    armoured("PRIVATE" + " KEY", newline="\\n"),
    armoured("PGP PRIVATE" + " KEY BLOCK"),
    armoured("EC PRIVATE" + " KEY").partition("-----" + "END")[0].rstrip(),
]
FAMILIES = [
    prefix + token(length, 7, ALNUM.upper() if prefix[:2] == "AK" else ALNUM) for prefix, length in PREFIXED
] + SHAPED

AROUND = [
    "{}",
    "use {} for the release",
    'error: "{}" was rejected',
    '{{"prompt": "take\\n{}\\nplease"}}',
    "https://example.com/x?value={}&y=1",
    "-H 'X-Thing: {}'",
    "({})",
]


@pytest.mark.parametrize("secret", FAMILIES, ids=lambda secret: secret[:7])
def test_a_family_goes_wherever_it_stands(secret: str) -> None:
    for around in AROUND:
        text = around.format(secret)
        assert secret not in redact(text), text
        assert "[REDACTED:" in redact(text)


ANNOUNCED = [
    "DB_PASSWORD={}",
    "export SMTP_PASS='{}'",
    "REDIS_PW={}",
    'POSTGRES_PASSWORD: "{}"',
    "  - MYSQL_ROOT_PASSWORD={}",
    "TF_VAR_db_password={} terraform apply",
    "password = {}",
    'let password = "{}";',
    "'password' => '{}',",
    "define('DB_PASSWORD', '{}');",
    '{{"user": "x", "password": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    '"adminPassword": {{"value": "{}"}}',
    "<password>{}</password>",
    '<add key="ApiKey" value="{}"/>',
    "Server=db;Uid=sa;Pwd={};",
    "client_secret={}&grant_type=x",
    "connect(host='db', password='{}')",
    "-Djavax.net.ssl.keyStorePassword={}",
    "mysql -uroot -p{} shop",
    "mysqldump -p'{}' --all-databases",
    "mysql --password={} shop",
    "sshpass -p {} ssh root@10.0.0.1",
    "PGPASSWORD={} psql -h db",
    'psql "host=db password={} dbname=x"',
    "curl -u admin:{} https://example.com",
    'curl --user "admin:{}" https://example.com',
    "docker login -u ci -p {} r.example.com",
    "docker login --password {} r.example.com",
    "echo {} | docker login -u ci --password-stdin",
    "echo '{}' | sudo -S true",
    'echo "root:{}" | chpasswd',
    "redis-cli -a {} ping",
    "unzip -P {} a.zip",
    "7z x -p{} a.7z",
    "ldapsearch -D cn=x -w {} -b dc=x",
    "openssl rsa -passin pass:{}",
    "gpg --passphrase {} -d a.gpg",
    "keytool -storepass {}",
    "smbclient //s/x -U bob%{}",
    "sqlcmd -U sa -P {}",
    "htpasswd -b .htpasswd bob {}",
    "CREATE USER x IDENTIFIED BY '{}';",
    "ALTER USER x WITH PASSWORD '{}';",
    "requirepass {}",
    "machine example.com login bob password {}",
    "kubectl create secret generic x --from-literal=password={}",
    "helm install x --set auth.password={}",
    "auth=('bob', '{}')",
    'smtp.login("bob@example.com", "{}")',
    'send "{}\\r" to answer password:',
    "postgres://app:{}@db:5432/app",
    "redis://:{}@cache:6379/0",
    "https:\\/\\/bob:{}@example.com",
    "the password is {}",
    "The password for the staging database is {}, keep it",
    "password: {}",
    "**Password:** {}",
    "Password:\n{}",
    "| password | {} |",
    "set the password to `{}` and restart",
    "log in as admin with password {}",
    "use {} as the password",
    "{} is the root password",
    "the root pw is {}",
    "mein Passwort ist {}",
    "das Passwort für die Datenbank lautet {}",
    "le mot de passe est {}",
    "la contraseña es {}",
    "a senha é {}",
    "la password del database è {}",
    "het wachtwoord is {}",
    "hasło to {}",
    "пароль от базы: {}",
    "密码是{}",
    "数据库密码：{}",
    "パスワードは {} です",
    "비밀번호는 {} 입니다",
    "비번은 {}",
    "a palavra-passe é {}",
    "la clave es {}",
    "mon mdp c'est {}",
    "my pass is {}",
    "jdbc:oracle:thin:bob/{}@//db:1521/lamp",
    "the password's {}",
    "az keyvault secret set --name lamp --value {}",
    "aws secretsmanager create-secret --name lamp --secret-string '{}'",
    "wp config create --dbpass={}",
    "basic auth is bob / {}",
    'credentials = ("bob", "{}")',
    "login: bob@example.com / {}",
    '{{"name": "DB_PASSWORD", "value": "{}"}}',
    "- name: DB_PASSWORD\n  value: {}",
    '{{"Key": "DB_PASSWORD", "Value": "{}"}}',
    "<key>password</key>\n\t<string>{}</string>",
    "SSHPASS={} sshpass -e ssh bob@10.0.0.1",
    "ROOTPW={}",
    "ENV DB_PASS {}",
    "curl -sSu bob:{} https://example.com",
    "useradd -p {} bob",
    "winrm -u:bob -p:{} quickconfig",
    "mc alias set lamp http://localhost:9000 bob {}",
    "ansible-playbook --vault-password-file <(echo {}) site.yml",
    'let password = String::from("{}");',
    'password=SecretStr("{}")',
    'variable "db_password" {{\n  type        = string\n  description = "of the lamp"\n  default     = "{}"\n}}',
    "| host | password | port |\n|:-----|---------:|------|\n| lamp | `{}` | 5432 |",
    " name | password \n------+----------\n bob  | x\n eve  | {}\n(2 rows)",
    "host | password\n---|---\n| lamp | {} (rotated) |",
    "password | host\n---|---\n{} | lamp",
    "| host | DB password |\n|---|---|\n| a\\|b | {} – prod |",
    "+------+----------+\n| name | password |\n+======+==========+\n| bob  | x |\n+------+----------+\n| eve  | {} |",
    "│ name │ password │\n├──────┼──────────┤\n│ bob  │ {} │",
    "> | password |\n> |---|\n> | {} |",
    '"| host | password |\\n|---|---|\\n| lamp | {} |"',
    '{{"said": "| host | password |\\n|---|---|\\n| lamp | {} |"}}',
    'password: Some(String::from("{}"))',
]


@pytest.mark.parametrize("secret", [PASSWORD, WORDY, token(16, 3)], ids=["mixed", "wordy", "random"])
@pytest.mark.parametrize("text", ANNOUNCED)
def test_a_password_goes_where_its_context_names_it(text: str, secret: str) -> None:
    assert secret not in redact(text.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer {}",
        "> authorization: Basic {}",
        '"Authorization": "token {}"',
        "bearer {}",
        "Proxy-Authorization: Basic {}",
        "X-Api-Key: {}",
        "PRIVATE-TOKEN: {}",
        "Cookie: theme=dark; session={}",
        "Set-Cookie: sid={}; HttpOnly",
        "//registry.example.com/:_authToken={}",
        '{{"auths": {{"r": {{"auth": "{}"}}}}}}',
        "AccountName=media;AccountKey={};EndpointSuffix=x",
        "aws_secret_access_key = {}",
        "--api-key {}",
        "the cloudflare API token is {}",
        "the api key {} does not work",
        "ENCRYPTION_KEY={}",
        "https://example.com/?access_token={}",
        "https://{}@github.com/acme/app.git",
        "https://x.blob.core.windows.net/c?sv=1&sig={}",
        "https://b.example.com/o?X-Amz-Signature={}",
        "https://{}:x-oauth-basic@github.com/acme/app.git",
        "- name: API_KEY\n  value: {}",
        "jwt: '{}'",
        "jwt.sign(payload, '{}')",
        "createHmac('sha256', '{}')",
        'hmac.new(b"{}", body, "sha256")',
        "cargo login {}",
        "doctl auth init -t {}",
        "use {} for the password",
        "nimm {} für das Passwort",
        "the otp seed is {}",
        "https://example.com/data?appid={}&q=x",
        "our old password, {}, is gone",
        'new AuthenticationHeaderValue("Bearer", "{}")',
        "auth_header('Basic', '{}')",
    ],
)
@pytest.mark.parametrize("secret", [MIXED + token(8, 5), HEX], ids=["mixed", "hex"])
def test_a_token_goes_where_its_context_names_it(text: str, secret: str) -> None:
    assert secret not in redact(text.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        "commit " + HEX[:40],
        "fixed the token bug in " + HEX[:40],
        "session 0b3f2a6e-1c1d-4b7a-9f39-6f0e2d1c5a77 was resumed",
        "Idempotency-Key: 0b3f2a6e-1c1d-4b7a-9f39-6f0e2d1c5a77",
        '"integrity": "sha512-' + token(86, 1, ALNUM + "+/") + '=="',
        "image@sha256:" + HEX,
        "Cache restored from key: Linux-node-" + HEX,
        "data:image/png;base64,iVBORw0KGgo" + token(120, 2, ALNUM + "+/"),
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5" + token(48) + " me@host",
        armoured("CERTIFICATE"),
        armoured("PGP PUBLIC" + " KEY BLOCK"),
        "API_KEY=<your-token>",
        "API_KEY=YOUR_API_KEY",
        "OPENAI_API_KEY=sk-...",
        "GITHUB_TOKEN=gh" + "p_" + "x" * 36,
        "AWS_ACCESS_KEY_ID=AK" + "IAABCDEFGHEXAMPLE",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer ${API_TOKEN}",
        "DB_PASSWORD=${DB_PASSWORD}",
        "DB_PASSWORD=changeme",
        "DB_PASSWORD=",
        "token: ${{ secrets.CODECOV_TOKEN }}",
        'token = os.environ["API_KEY"]',
        "const token = process.env.API_TOKEN",
        "TOKEN=$(gh auth token)",
        "password: ********",
        "password: string",
        "password: z.string().min(8)",
        "password = models.CharField(max_length=128)",
        "token: Optional[str] = None",
        'primary_key=True, foreign_key="users.id"',
        "if (!token) throw new Error('missing token')",
        '<input type="password" id="password1">',
        '"password": "Password must have 8 characters"',
        '"token_type": "bearer", "expires_in": 3600',
        "max_tokens=4096",
        "next_page_token=CiAKGjBpNDd2Nmp2Zml",
        "PASSWORD_FILE=/run/secrets/db_password",
        "PWD=/srv/project2",
        "postgres://user:password@localhost:5432/db",
        "postgres://<user>:<password>@<host>/<db>",
        "https://me@bitbucket.org/acme/app.git",
        "http://localhost:4873/@scope/pkg",
        "docker run -p 8080:80 -u 1000:1000 nginx",
        "mysql -u root -p shop",
        "the password field is too narrow",
        "the reset token expires after 15 minutes",
        "the password is hashed with bcrypt",
        "the password hash uses sha256",
        "JWT tokens use RS256 here",
        "tests pass in 35.2s, 128 passed",
        "press any key to continue",
        "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
        "das Passwort-Feld ist zu schmal",
        "la contraseña debe tener 8 caracteres",
        "пароль должен содержать 8 символов",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
        "dist/cache-key-" + HEX[:32] + ".tar",
        "JsonParseException: Unrecognized token 'lamp42x'",
        "the password must match ^[A-Za-z0-9]{8,}$",
        "the first pass is O(n2), the second pass is linear",
        "BYPASS=Lamp2040x make check",
        "compass=Lamp2040x",
        '"@lamp/auth-token": "workspace:^1.2.3"',
        "Token(type=NUMBER, value='42')",
        "the user may pass lampId2 to it",
        "the password, as ever, is in the vault",
        "auth = HTTPBasicAuth(user, password)",
        "['password' => 'required|min:8|confirmed']",
        "see LAMP-1204 for the password form",
        "we take LampSQLite for passwords",
        "Use LampQL-API for the token",
        "it supports basic HTTP-based authentication credentials",
        'log.info("POST /lamp/ 200")\nlog.info("credentials were refused")',
        "the key of the row is " + HEX[:40],
        "the public key is RWQf6LRC" + MIXED,
        "- name: LAMP_LEVEL\n  value: " + MIXED,
        "jwt.sign(payload, process.env.JWT_SECRET)",
        "gh auth status",
        "cargo login crates-io",
        "useradd -m bob",
        "Set-Item Env:LAMP_TOKEN -Value (Get-Secret -Name LampToken -AsPlainText)",
        'resolved "https://example.com/lamptoken/-/lamptoken-9.0.2.tgz#' + HEX[:40] + '"',
        "| token | meaning |\n|---|---|\n| NUMBER | digits |\n| IDENT_2 | a name |",
        'variable "lamp_password" {\n  type = string\n}\nvariable "b" {\n  default = "Lamp2040x"\n}',
        'let token = Some("lamp.next");',
        "| endpoint | Token required |\n|---|---|\n| /lamp | No, since 3.10 |",
        "| model | tokens |\n|---|---|\n| lamp | 200k in 8k out |",
        "| day | Password resets |\n|---|---|\n| mon | 1024 |",
        "| server | Password login |\n|---|---|\n| lamp | OpenSSH8 |",
        "| Pin | Login |\n|---|---|\n| GPIO17 | bob42 |",
        "Password rules\n-----\nAt least 12 | see below",
        'tokens: "Bearer","Authorization12"',
    ],
)
def test_a_clean_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_keys_without_a_shape_go_where_their_owner_is_named() -> None:
    drawn = token(51, 4, string.ascii_lowercase + "234567") + "7"
    name = "-".join((HEX[:8], HEX[:4], HEX[4:8], HEX[:4], HEX[:12]))
    for text in ("PAT {}", "AZURE_DEVOPS_EXT_PAT={}"):
        assert drawn not in redact(text.format(drawn))
    assert redact(f"nix hash {drawn}") == f"nix hash {drawn}"
    for text in ("snyk auth {}", "snyk config set api={}", "POSTMARK_API={}"):
        assert name not in redact(text.format(name))
    assert redact(f"snyk project {name}") == f"snyk project {name}"
    assert MIXED not in redact(f"here is the new key for production: {MIXED}")
    assert MIXED not in redact(f"as user root and pass {MIXED}?")
    assert token(84, 6)[:8] not in redact(f"{token(76, 6)}AZDO{token(4)}")


def test_invisible_characters_do_not_save_a_secret() -> None:
    secret = "gh" + "p_" + token(36)
    split = "\u200b".join(secret)
    assert redact(f"a\u200bb {split} c") == "a\u200bb [REDACTED:github] c"
    assert redact("👩\u200d💻 has no password here") == "👩\u200d💻 has no password here"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a <private>b</private> c", "a [REDACTED:private] c"),
        ("a <PRIVATE>b\nc</Private> d", "a [REDACTED:private] d"),
        ("a <private>b", "a [REDACTED:private]"),
        ("a <private>b <private>c</private> d</private> e", "a [REDACTED:private] e"),
        ("a <pri\u200bvate>b</private> c", "a [REDACTED:private] c"),
        ("a </private> b", "a </private> b"),
        ("private methods", "private methods"),
    ],
)
def test_private_parts_are_left_out(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/bob/x.py", "~/x.py"),
        ("in /home/bob.", "in ~."),
        ("PATH=/bin:/home/bob/bin", "PATH=/bin:~/bin"),
        ("-I/home/bob/include", "-I~/include"),
        ("file:///home/bob/x", "file://~/x"),
        ('{"cwd": "/home/bob"}', '{"cwd": "~"}'),
        ("/home/bobby/x", "/home/bobby/x"),
        ("/home/bob.old/x", "/home/bob.old/x"),
        ("/mnt/home/bob/x", "/mnt/home/bob/x"),
    ],
)
def test_the_home_directory_is_a_tilde(text: str, clean: str) -> None:
    assert redact(text, "/home/bob") == clean
    assert redact(text, "/home/bob/") == clean


def test_no_home_or_the_root_changes_nothing() -> None:
    assert redact("/home/bob") == redact("/home/bob", "/") == redact("/home/bob", "") == "/home/bob"


def test_a_windows_home_is_known_in_each_spelling() -> None:
    home = "C:\\Users\\bob"
    assert redact("C:\\Users\\bob\\x C:/Users/bob/x", home) == "~\\x ~/x"
    assert redact('"C:\\\\Users\\\\bob\\\\x"', home) == '"~\\\\x"'


def test_kinds_are_named_and_lengths_are_not() -> None:
    assert (
        redact("x gh" + "p_" + token(36) + " y") == redact("x gh" + "p_" + token(50) + " y") == "x [REDACTED:github] y"
    )


@pytest.mark.parametrize("rows", [300, 3000])
def test_of_a_long_table_no_row_stays(rows: int) -> None:
    made = [f"Walnut{row:04d}!kRt" for row in range(rows)]
    text = "| n | password |\n|---|---|\n" + "\n".join(f"| {row} | {secret} |" for row, secret in enumerate(made))
    left = redact(text)
    assert not [secret for secret in made if secret[6:] in left]


@pytest.mark.parametrize("word", ["-XkQmVLtRpWz", "Xk9vQ2mL8#a1", "hT7vQk2mXp9#", "reset-Xk9vQ2mL8#deadbeef"])
def test_neither_a_dash_nor_a_hash_saves_a_password(word: str) -> None:
    assert word not in redact(f"the password is {word}") and word not in redact(f"notes-password-{word}.txt ")


@pytest.mark.parametrize("place", ["fix/{}", "/tmp/{}.log", "backup_{}_old", "secret-{}.txt"])
def test_file_and_branch_names_are_read_too(place: str) -> None:
    secret = "gl" + "pat-" + token(20)
    assert secret not in redact(place.format(secret))


def test_values_are_walked_with_their_keys() -> None:
    secret = "gh" + "p_" + token(36)
    data = {"a": [1, None, {secret: True}], "password": PASSWORD, "n": ("x", secret), "cwd": "/home/bob/x"}
    assert redact_value(data, "/home/bob") == {
        "a": [1, None, {"[REDACTED:github]": True}],
        "password": "[REDACTED:secret]",
        "n": ("x", "[REDACTED:github]"),
        "cwd": "~/x",
    }


def test_two_keys_masked_alike_keep_both_values() -> None:
    data = {"gh" + "p_" + token(36, seed): seed for seed in range(3)}
    assert sorted(redact_value(data).values()) == [0, 1, 2]


def test_a_bottomless_value_is_cut() -> None:
    value: Any = "x"
    for _ in range(5000):
        value = [value]
    assert "[REDACTED:depth]" in repr(redact_value(value))


def test_findings_are_offsets_of_the_text_as_it_came() -> None:
    secret = "gh" + "p_" + token(36)
    text = f"\u200b\u200b{secret[:5]}\u200b{secret[5:]} İ"
    assert [text[start:end].replace("\u200b", "") for start, end, _ in find_secrets(text)] == [secret]


PIECES = [
    *FAMILIES[:8],
    *SHAPED[:3],
    PASSWORD,
    WORDY,
    "password",
    "is",
    "token",
    "=",
    ": ",
    '"',
    "\\n",
    "\n",
    " ",
    "-u a:",
]
PIECES += [
    "<private>",
    "</private>",
    "https://a:",
    "@host",
    "[REDACTED:",
    "]",
    "the",
    "--secret",
    "key-",
    "Cookie: a=",
    "x",
]


_NOUNS = [noun.replace("_", "") for noun in (*families.ASCII_NOUNS, "private", "card", "bearer", "basic", "cookie")]


@given(st.sampled_from(["", *_NOUNS]), st.text(ALNUM, max_size=13), st.sampled_from(["", *_NOUNS]))
def test_a_short_word_is_no_secret_by_itself(before: str, word: str, after: str) -> None:
    """`redact` skips these: `find` would not find anything either."""
    text = f"{before}{word}{after}"[:13]
    assert (find_secrets(text), redact(text, "/home/me")) == ([], text)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=200))
def test_what_is_redacted_once_stays(text: str) -> None:
    once = redact(text, "/home/bob")
    assert redact(once, "/home/bob") == once


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(FAMILIES[:30]))
def test_nothing_around_it_saves_a_token(before: str, after: str, secret: str) -> None:
    assert secret not in redact(f"{before} {secret} {after}")


@pytest.mark.parametrize(
    "unit",
    [
        "a", "eyJ", "eyJ-", "eyJa.", "-----BEGIN ", "-----" + "BEGIN RSA PRIVATE KEY-----", "://", "://a:", "://a:b@",
        "password=", "password ", "password is ", 'password="', '"', "'", '\\"', "<private>", "key-", "AKIA", "\u200b",
        "密码", "--token ", "mysql ", "-u a:", "Cookie: a", "x.abcdef.", "[REDACTED:secret] password ", "\n", "=",
        "bypass=", "7z", "mysql", "ldap", "password|\n-|\n", "|password", 'password" {',
        "|password|\n|-|\n|a|\n|a|\n", "|a|\n",
    ],
)  # fmt: skip
def test_a_mebibyte_of_malice_takes_no_time(unit: str) -> None:
    text = unit * ((1 << 20) // len(unit))
    begun = time.process_time()
    find_secrets(text)
    # Measured 0.1 to 0.6 s; quadratic time would be minutes.
    assert time.process_time() - begun < 8


@pytest.mark.parametrize("unit, rest", [("ldap", "| -w"), ("mongo", "| -p"), ("mosquitto_", "| -p")])
def test_nor_does_a_program_with_a_name_without_end(unit: str, rest: str) -> None:
    text = unit * ((1 << 20) // len(unit)) + rest
    begun = time.process_time()
    find_secrets(text)
    assert time.process_time() - begun < 2


def test_a_clean_text_loads_and_compiles_nothing() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from reflect_git.redact import redact\n"
        "assert redact('the parser fails at a trailing comma in src/list.py ' * 40)\n"
        "print(' '.join(sorted(name for name in sys.modules if name.startswith(('re', 'typing', 'sre')))))\n"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(REPO)], capture_output=True, text=True, check=True
    )
    assert {name.rpartition(".")[2] for name in run.stdout.split()} == {"reflect_git", "redact", "families"}


def test_a_password_of_words_and_dashes_is_one() -> None:
    assert redact("password: quartz-lantern-81") == "password: [REDACTED:secret]"
    assert redact("the region is us-east-1, the password policy is node-18") == (
        "the region is us-east-1, the password policy is node-18"
    )
