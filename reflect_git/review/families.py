"""What words have to do with each other: which exclude each other, which mean one thing.

Data, read by `senses` and `clashes`. A line may be added without a look at the code; nothing of it goes into a key.
"""

from __future__ import annotations

from reflect_git.model.plainwords import stem
from reflect_git.review.lexicon import FOREIGN

# One word for those that mean the same in an order. The first of a line stands for the others.
_SAME = """answer reply respond response
    edit change modify touch alter adjust update
    remove delete erase drop strip
    short concise brief briefly terse succinct
    detailed verbose lengthy elaborate extensive
    run execute invoke
    test spec suite
    fix repair
    ask confirm permission approval approve consent
    summary recap
    pr pull-request mr merge-request
    whole full entire complete
    affected relevant
    postgres postgresql psql
    rg ripgrep
    javascript js
    typescript ts
    kubernetes k8s
    production prod
    manual manually hand
    automatic automatically
    sequential sequentially serially
    parallel concurrently
    start begin launch boot
    stop kill terminate
    when once whenever
    several multiple various
    end finish
    plan planning
    check verify validate
    variable var
    function func
    mongodb mongo
    github gh
    changelog changelog.md
    readme readme.md
    implement implementation
    lint linter
    format formatter"""
_CANON = {stem(word): stem(line.split()[0]) for line in _SAME.split("\n") for word in line.split()}
_CANON |= {word: _CANON.get(meaning, meaning) for word, meaning in FOREIGN.items()}


def canon(word: str) -> str:
    """Of a stem: the one that stands for all that mean the same."""
    return _CANON.get(word, word)


def _sets(*lines: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(canon(stem(word)) for word in words.split()) for line in lines for words in line.split("|"))


# Of each of these a thing has one.
ALTERNATIVES = _sets(
    "npm pnpm yarn bun deno|jest vitest mocha jasmine ava|pytest unittest nose|rspec minitest",
    "pip poetry uv pipenv conda rye hatch pdm|black ruff yapf autopep8",
    "prettier biome dprint|eslint biome tslint oxlint|flake8 pylint ruff|mypy pyright pyre|maven gradle bazel sbt",
    "webpack vite rollup esbuild parcel turbopack",
    "mysql postgres sqlite mariadb mongodb oracle cockroachdb dynamodb|kafka rabbitmq sqs nats",
    "prisma drizzle typeorm sequelize knex|sqlalchemy peewee|redux zustand mobx jotai recoil pinia vuex",
    "react vue svelte angular solid|tailwind bootstrap styled-components sass less css-modules emotion",
    "yup zod joi valibot|axios ky superagent|moment date-fns dayjs luxon|winston pino bunyan|structlog loguru",
    "express fastify koa nestjs hono|django flask fastapi|celery rq dramatiq|redis memcached",
    "playwright cypress selenium puppeteer|rest graphql grpc trpc|circleci jenkins travis gitlab github buildkite",
    "vercel netlify heroku render fly railway|aws gcp azure|docker podman|kubernetes nomad swarm|terraform pulumi",
    "vim emacs nano|bash zsh fish|nvm fnm volta asdf mise|alembic flyway liquibase",
    "jira linear trello asana|slack teams discord|sentence title|cursor offset|optimistic pessimistic|present past",
    "imperative past|upper lower|yaml json toml xml ini|tabs spaces|single double|singular plural|lf crlf",
    "esm commonjs|uuid integer bigserial bigint serial|uuid auto-increment|uppercase lowercase",
    "camelcase pascalcase snake_case kebab-case snake-case camel-case screaming_snake_case",
    "squash merge rebase|main develop master trunk|draft ready|monorepo multirepo polyrepo",
    "soft hard|eager lazy|flat nested|asynchronous synchronous|async synchronous|absolute relative",
    "named default|required optional|class function functional|mutable immutable|inline separate|strict loose lenient",
    "debug info warn error trace fatal|local remote|local utc|manual automatic|manually automatically",
    "weekly daily monthly nightly hourly yearly|light dark|top bottom|left right|ascending descending",
    "numpy google sphinx|american british|short long|short detailed|first last",
    "keep remove drop|create remove|enable disable|allow forbid block|before after|first after",
    "include exclude|du sie|tu vous|tú usted|open closed|stateless stateful|online offline|dense sparse",
    "english german french spanish chinese japanese korean russian portuguese italian polish dutch turkish",
    "parallel sequential serial|whole affected|whole partial|plain encrypted|http https",
    "inheritance composition|exceptions results|stdout stderr|prefix suffix|commit gitignore",
    "cookie jwt|interface type|let const|promise callback",
    "stop leave|open close|show hide|split combine|split join|pin upgrade|throw return|reuse duplicate",
    "lock unlock|round square|several single|expand collapse",
    "newest oldest|latest oldest|explicit implicit|static dynamic|simple complex|early late|horizontal vertical",
    "temporary permanent|strong weak|thick thin|wide narrow|even odd|positive negative|fast slow|prose bullet",
    "once twice|big small|large small|many few|high low|loud silent",
)
# Where these differ, both may hold.
SCOPES = _sets(
    "staging production prod dev development local ci",
    "unit e2e integration smoke end-to-end",
    "frontend backend client server api ui web mobile ios android lambda worker cli",
    "public private internal external",
    "python typescript javascript go rust java ruby sql css html markdown shell yaml",
    "test src script doc example migration file function",
    "feature release hotfix bugfix",
    "branch commit pr issue tag",
)
# What those of one family are used for: "use yarn" and "use npm for installing packages" are about one thing.
PURPOSES = frozenset(
    map(
        stem,
        """install package packages dependency dependencies manager manage library libraries test tests testing suite
        runner format formatter formatting lint linter linting style styling build builds bundle bundler database store
        storage orm state management framework deploy hosting host language indent indentation quote quotes strings
        string ci pipeline editor shell case script scripts run tool code python javascript node typescript""".split(),
    )
)
_COUNTED = "two three four five six seven eight nine ten".split()
NUMBERS = {stem(word): str(number) for number, word in enumerate(_COUNTED, 2)} | {
    word: str(number) for number, word in enumerate(_COUNTED, 2)
}
