import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Chart, type Finding } from '../findings/chart.js'
import type { Job, Word } from './job.js'

/** Milliseconds without a sign of life, after which something holds the only thread there is. */
const SILENCE = 8_000
/** Node itself has to start, perhaps on a machine with much to do. */
const BEGINNING = 60_000
const LONGEST = 180_000

/**
 * Holds a plugin against what every plugin must do, and against the contracts of what it provides. It runs in a
 * process of its own: whatever it does there, this one can still say what it was.
 */
export async function verifyPlugin(given: Omit<Job, 'canary'>): Promise<readonly Finding[]> {
  const canary = `canary${randomBytes(12).toString('hex')}`
  const held = await hold({ ...given, canary })
  const chart = new Chart(given.about)
  chart.findings.push(...held.findings)
  if (held.end !== undefined) {
    chart.wrong(...held.end)
    return chart.findings
  }
  judgeWords(chart, { canary, logged: held.logged ?? '', output: held.output })
  return chart.findings
}

interface Held {
  readonly findings: readonly Finding[]
  /** The log, once everything was asked and set up. */
  readonly logged: string | undefined
  readonly output: string
  /** Why it came to no end of its own. */
  readonly end: Parameters<Chart['wrong']> | undefined
}

async function hold(job: Job): Promise<Held> {
  const child = fork(fileURLToPath(import.meta.resolve('#cli/verify/child.js')), {
    execArgv: [...process.execArgv, '--no-warnings'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // In a test of somebody, the runner would take what fails in there for a test of its own.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += String(text)))
  let step = 'loading'
  let findings: readonly Finding[] = []
  let logged: string | undefined
  let done = false
  const end = await new Promise<Held['end']>((resolve) => {
    const longest = setTimeout(() => resolve(endless(step)), LONGEST)
    let silence = setTimeout(() => resolve(blocked(step)), BEGINNING)
    child.on('message', (word: Word) => {
      clearTimeout(silence)
      silence = setTimeout(() => resolve(blocked(step)), SILENCE)
      if (word.kind === 'alive') return
      findings = word.findings
      if (word.kind === 'at') step = word.step
      else {
        logged = word.logged
        done = true
      }
    })
    child.on('error', (error) => resolve(ended(step, error.message)))
    // Not `exit`: what it said last is read by then.
    child.on('close', (code, signal) => {
      for (const limit of [longest, silence]) clearTimeout(limit)
      resolve(done ? undefined : ended(step, signal ?? `code ${code}`))
    })
    child.send(job)
  })
  await killed(child)
  return { findings, logged, output, end }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

const blocked = (step: string): NonNullable<Held['end']> => [
  step,
  'BLOCKS',
  `it holds the whole process: nothing else has run for ${SILENCE / 1000} s`,
  'look for a loop without end, or a call that waits, such as execSync: everybody is served by this one thread',
]

const endless = (step: string): NonNullable<Held['end']> => [
  step,
  'ENDLESS',
  `it is not done after ${LONGEST / 1000} s`,
  'give everything that waits a limit',
]

const ended = (step: string, how: string): NonNullable<Held['end']> => [
  step,
  'EXITS',
  `the process ended in the middle (${how})`,
  'throw an error instead of process.exit, and catch every promise: a gateway serves others too',
]

/** What it said, in the log and past it. */
function judgeWords(chart: Chart, said: { canary: string; logged: string; output: string }): void {
  if ((said.logged + said.output).includes(said.canary)) {
    const advice = 'open it with secretFrom and gateway.scrubber, and log no options'
    chart.wrong('secrets', 'SECRET_TOLD', 'a secret of its options is in the log or in its output', advice)
  } else if (said.logged !== '') chart.ok('secrets', 'none of its options is in the log')
  if (said.output === '') return
  const advice = 'use gateway.log: stdout belongs to the protocol under `proxy stdio`'
  chart.warning('output', 'OUTPUT', 'it writes to stdout or stderr past the log', advice)
}
