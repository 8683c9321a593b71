// /keep and the band above the prompt: this module shows and asks. What is noted, asked, decided and written is Python's.
// Without it everything else works as before. `h` makes elements; `$` is the client, and is read only as $.noun.method().

const NAME = 'keep'
const SECONDS = 1000
const BUSY = 'a tool is running: nothing was pressed; press again when it has ended'

let band = { noted: '', count: 0 }
let isHidden = false
let running = 0 // calls of tools; a session could press keys with one of them

// Run the part of the band in Python. It also tells `doctor` that this module works.
const refresh = async ($, error) => {
  const folder = await $.session.root()
  const event = { hook_event_name: 'Band', session_id: await $.session.id(), cwd: folder, error }
  const done = await $.process.run(['/bin/sh', `${$.plugin.root}/hooks/launch.sh`, 'Band'], {
    env: { CLAUDE_PROJECT_DIR: folder },
    stdin: JSON.stringify(event),
    timeoutMs: 9 * SECONDS,
  })
  const told = JSON.parse(done.stdout || '{}')
  if (told.noted !== band.noted) isHidden = false
  band = told
  await $.ui.invalidate('ui.render')
  return told
}

const refreshLater = $ => void refresh($).catch(() => {})

// What this module does never stops what the client does: report the error, go on.
const goOn = ($, e, next) => {
  refresh($, String(next.error?.message || next.error)).catch(() => {})
  return next(e)
}

const run = async ($, ...words) => {
  const folder = await $.session.root()
  const done = await $.process.run([`${$.plugin.root}/bin/reflect-git`, NAME, '--json', ...words], {
    cwd: folder,
    env: { CLAUDE_PROJECT_DIR: folder },
    timeoutMs: 60 * SECONDS,
  })
  let told
  try {
    told = JSON.parse(done.stdout)
  } catch {
    if (/no environment yet/.test(done.stderr)) throw new Error('the first use fetches packages: run /reflect once')
    throw new Error(done.stderr.trim() || 'reflect-git does not run here; see: reflect-git doctor')
  }
  if (told.error) throw new Error(`${told.error.message}${told.error.hint ? `; ${told.error.hint}` : ''}`)
  return told.data
}

const show = ($, asked) => $.ui.ask(asked.question, { header: asked.header, options: asked.labels })

// Ask one question; a typed wording is shown again, and only an answer to that counts.
const answer = async ($, asked, numbers) => {
  let said = await show($, asked)
  while (!asked.labels.includes(said)) {
    const again = await run($, '--ask', `--id=${asked.id}`, `--text=${said}`)
    if (!again.questions.length) break
    asked = again.questions[0]
    said = await show($, asked)
  }
  numbers.push(asked.number)
  return `${asked.number}: ${said}`
}

// Go, summary or skip all, as in /reflect; returns what is left to ask.
const overview = async ($, waiting) => {
  while (waiting.overview) {
    const said = await show($, waiting.overview)
    if (said === 'Go') break
    if (said !== 'Summary') return []
    waiting.questions.forEach((one, at) => $.ui.log(`${at + 1}. ${one.question.split('\n---\n')[1]}`))
  }
  return waiting.questions
}

const keep = async $ => {
  const waiting = await run($, '--ask')
  if (!waiting.questions.length) return waiting.note || 'nothing to review'
  const given = []
  const numbers = []
  try {
    for (const asked of await overview($, waiting)) given.push(await answer($, asked, numbers))
  } catch (error) {
    if (!/no answer/.test(String(error))) given.push(`stopped: ${error.message}`)
  }
  if (running) { // a tool began meanwhile: what is printed now would prove nothing
    if (numbers.length) await run($, `--discard=${numbers.join(',')}`)
    return BUSY
  }
  return [...given, ...(waiting.note ? [waiting.note] : [])].join('\n') || 'nothing was answered'
}

// The client writes what the command printed after it has ended. Then the answers count, and Python applies them.
const apply = async $ => {
  for (const one of await run($, '--wait=5')) {
    $.ui.log(one.problem ? `not applied: ${one.problem}` : `${one.message} · to take it back: reflect-git undo`)
  }
  refreshLater($)
}

// A key of the band. The person still has to press Enter, and to answer.
const press = ($, act) => {
  if (running) return $.ui.toast(BUSY)
  return act()
}

const start = async $ => {
  const told = await refresh($)
  if (told.off) return
  const description = 'Answer what reflect-git noted, here and without a request to the model'
  await $.command.register({ name: NAME, description })
}

export const register = on => {
  on('session.start', async ($, e, next) => {
    const entry = await $.env.get('CLAUDE_CODE_ENTRYPOINT')
    if (!String(entry).startsWith('sdk')) void start($).catch(() => {}) // not in print mode: nobody would see it
    return next(e)
  }).catch(goOn)

  on('tool.call', async ($, e, next) => {
    if (e.tool === 'AskUserQuestion') return next(e)
    running += 1
    try {
      return await next(e)
    } finally {
      running -= 1
    }
  })

  // Not at prompt.submit: nothing may come between Enter and the hook that stores a correction.
  on('turn.start', ($, e, next) => {
    if (e.agentId === undefined && !band.off) refreshLater($)
    return next(e)
  }).catch(goOn)

  on('turn.complete', ($, e, next) => { // a message that was queued meanwhile
    if (e.agentId === undefined && !band.off) refreshLater($)
    return next(e)
  }).catch(goOn)

  on('command.run', { command: NAME }, async ($, e) => {
    if (e.origin.kind !== 'composer') return { text: 'type /keep yourself' }
    if (running) return { text: BUSY }
    try {
      const text = await keep($)
      void apply($).catch(error => $.ui.log(`not applied yet: ${error.message}`))
      return { text }
    } catch (error) {
      return { text: error.message }
    }
  })

  on('ui.render', { component: 'AbovePrompt' }, ($, e, next) => {
    if (isHidden || band.off || !(band.noted || band.count)) return next(e)
    const { Box, Text, Button } = $.ui.resolve(e)
    const count = band.count ? `${band.count} to review ` : ''
    const room = Math.max(10, (e.props.bodyColumns || 80) - count.length - 33)
    const words = band.noted.length > room ? `${band.noted.slice(0, room - 1)}…` : band.noted
    return h(Box, {},
      h(Text, { dimColor: true }, `✎ ${words ? `noted: "${words}" · ` : ''}${count}`),
      h(Button, { key: 'k', hotkey: 'k', plain: true, label: '/keep',
        onPress: () => press($, () => $.prompt.fill({ text: `/${NAME}`, mode: 'replace' })) }),
      h(Text, {}, ' '),
      h(Button, { key: 'x', hotkey: 'x', plain: true, label: 'hide',
        onPress: () => press($, () => { isHidden = true; return $.ui.invalidate('ui.render') }) }))
  })
}
