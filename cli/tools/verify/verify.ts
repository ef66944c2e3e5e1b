import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type Finding, FindingList } from '../findings/finding-list.js'
import type { Job, Message } from './messages.js'

/** Milliseconds without a heartbeat, after which the plugin blocks the only thread. */
const HEARTBEAT_TIMEOUT = 8_000
/** Node has to start first, perhaps on a busy machine. */
const START_TIMEOUT = 60_000
const TOTAL_TIMEOUT = 180_000

/**
 * Checks a plugin against the rules for every plugin, and against the contracts of its capabilities. The plugin runs
 * in a child process, so that this process can report even a crash.
 */
export async function verifyPlugin(job: Omit<Job, 'canary'>): Promise<readonly Finding[]> {
  const canary = `canary${randomBytes(12).toString('hex')}`
  const result = await runChild({ ...job, canary })
  const list = new FindingList(job.about)
  list.all.push(...result.findings)
  if (result.end !== undefined) {
    list.wrong(...result.end)
    return list.all
  }
  checkOutput(list, { canary, logged: result.logged ?? '', output: result.output })
  return list.all
}

interface ChildResult {
  readonly findings: readonly Finding[]
  /** The log, when the examination was finished. */
  readonly logged: string | undefined
  readonly output: string
  /** The finding that explains why the child did not finish. */
  readonly end: Parameters<FindingList['wrong']> | undefined
}

async function runChild(job: Job): Promise<ChildResult> {
  const child = fork(fileURLToPath(import.meta.resolve('#cli/tools/verify/child.js')), {
    execArgv: [...process.execArgv, '--no-warnings'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Inside a test, the runner would count a failure of the child as a failed test.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += String(text)))
  let step = 'loading'
  let findings: readonly Finding[] = []
  let logged: string | undefined
  let done = false
  const end = await new Promise<ChildResult['end']>((resolve) => {
    const total = setTimeout(() => resolve(tooLong(step)), TOTAL_TIMEOUT)
    let heartbeat = setTimeout(() => resolve(blocked(step)), START_TIMEOUT)
    child.on('message', (message: Message) => {
      clearTimeout(heartbeat)
      heartbeat = setTimeout(() => resolve(blocked(step)), HEARTBEAT_TIMEOUT)
      if (message.kind === 'alive') return
      findings = message.findings
      if (message.kind === 'at') step = message.step
      else {
        logged = message.logged
        done = true
      }
    })
    child.on('error', (error) => resolve(ended(step, error.message)))
    // Not `exit`: only at `close` all output has been read.
    child.on('close', (code, signal) => {
      for (const limit of [total, heartbeat]) clearTimeout(limit)
      resolve(done ? undefined : ended(step, signal ?? `code ${code}`))
    })
    child.send(job)
  })
  await kill(child)
  return { findings, logged, output, end }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

const blocked = (step: string): NonNullable<ChildResult['end']> => [
  step,
  'BLOCKS',
  `it blocks the process: nothing else has run for ${HEARTBEAT_TIMEOUT / 1000} s`,
  'look for an endless loop, or a blocking call such as execSync: this one thread serves all callers',
]

const tooLong = (step: string): NonNullable<ChildResult['end']> => [
  step,
  'ENDLESS',
  `it did not finish within ${TOTAL_TIMEOUT / 1000} s`,
  'give every wait a time limit',
]

const ended = (step: string, how: string): NonNullable<ChildResult['end']> => [
  step,
  'EXITS',
  `it ended the process (${how})`,
  'throw an error instead of process.exit, and catch every promise: the gateway has other plugins too',
]

/** Checks the log and the other output. */
function checkOutput(list: FindingList, seen: { canary: string; logged: string; output: string }): void {
  if ((seen.logged + seen.output).includes(seen.canary)) {
    const advice = 'open it with secretFrom and gateway.scrubber, and log no options'
    list.wrong('secrets', 'SECRET_TOLD', 'a secret option appears in the log or in its output', advice)
  } else if (seen.logged !== '') list.ok('secrets', 'no secret option appears in the log')
  if (seen.output === '') return
  const advice = 'use gateway.log: stdout belongs to the protocol under `proxy stdio`'
  list.warning('output', 'OUTPUT', 'it writes to stdout or stderr past the log', advice)
}
