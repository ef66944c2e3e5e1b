import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { List, Problem } from 'sallyport'
import { entriesOf, type PlannedScope, TRIAL_FLAGS, type TrialFinding } from 'sallyport/embed'
import type { Located } from '../../config/result.js'
import { PATH_MARK, type TrialJob, type TrialMessage } from './messages.js'

/** Milliseconds for all plugins: `setup` of one plugin has ten seconds, as at a start. */
const TOTAL_TIMEOUT = 30_000

export interface Trial {
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

/** Calls `setup` of the plugins that are not built in, in a process that can write no file and has no network. */
export async function tryPlugins(
  { settings, folder, locate }: Located<List>,
  plan: PlannedScope,
  { file, environment }: { readonly file: string; readonly environment: NodeJS.ProcessEnv },
): Promise<Trial> {
  if (entriesOf(plan).every(({ isBuiltIn }) => isBuiltIn)) return { problems: [], warnings: [] }
  const placeIn = (place: string): string => {
    const [, path, rest = ''] = WITH_PATH.exec(place) ?? []
    if (path !== undefined) return locate(JSON.parse(path)) + rest
    return place === '' ? file : place
  }
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const { kind, place, ...said } of await findingsOf({ list: settings, folder }, environment)) {
    if (kind !== 'unseen') problems.push({ ...said, place: placeIn(place) })
    else warnings.push({ place: placeIn(place), message: `${UNSEEN}: ${said.message}` })
  }
  return { problems, warnings }
}

const UNSEEN = 'check cannot try setup without network and write access'

const WITH_PATH = new RegExp(`^${PATH_MARK}([^${PATH_MARK}]*)${PATH_MARK}(.*)$`, 's')

// tsx needs a worker, and would write a cache.
const FROM_SOURCES = import.meta.url.endsWith('.ts')
const flags = (): readonly string[] =>
  FROM_SOURCES ? ['-C', 'source', '--import', import.meta.resolve('tsx'), '--allow-worker'] : process.execArgv

async function findingsOf(job: TrialJob, environment: NodeJS.ProcessEnv): Promise<readonly TrialFinding[]> {
  const child = fork(fileURLToPath(import.meta.resolve('#cli/tools/trial/child.js')), {
    execArgv: [...flags(), ...TRIAL_FLAGS, '--no-warnings'],
    // Output of a plugin must not mix with the output of the command.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Inside a test, the runner would count a failure of the child as a failed test.
    env: { ...environment, ...(FROM_SOURCES && { TSX_DISABLE_CACHE: '1' }), NODE_TEST_CONTEXT: undefined },
  })
  const findings = await new Promise<readonly TrialFinding[]>((resolve) => {
    let begun = false
    const failed = (message: string): void =>
      resolve([{ kind: begun ? 'error' : 'unseen', place: '', message }])
    const late = `setup of a plugin waits, or blocks the process: no answer in ${TOTAL_TIMEOUT / 1000} s`
    const timer = setTimeout(failed, TOTAL_TIMEOUT, late)
    child.on('message', (message: TrialMessage) => {
      if (message === 'begun') begun = true
      else resolve(message)
    })
    child.on('error', ({ message }) => failed(`the process that tries setup failed: ${message}`))
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      const how = signal ?? `code ${code}`
      failed(
        begun
          ? `setup of a plugin ended the process (${how})`
          : `the process that tries setup did not start (${how})`,
      )
    })
    child.send(job)
  })
  await end(child)
  return findings
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}
