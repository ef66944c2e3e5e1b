import type { Problem } from 'sallyport'
import { type LocatedIssue, validateLocated } from 'sallyport/server-json'
import { fileFailure } from 'sallyport/toolkit'
import { hidden } from '../../config/hidden.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitAfterFlush, printProblems } from '../../terminal.js'
import { readServerFile } from '../validate/documents.js'
import { changeStatus, planDocument, publishDocument } from './actions.js'
import { connected, connectionTo } from './connection.js'
import { ownGroups } from './flags.js'
import { type Outcome, printOutcome } from './outcome.js'
import { RegistryClient } from './registry-client.js'

type Values = ReturnType<typeof valuesOf<typeof ownGroups>>

/** The requests of this run, and the issues of the file. */
interface Task {
  readonly file: string
  readonly issues: readonly LocatedIssue[]
  readonly isRefusedHere: boolean
  readonly run: (registry: RegistryClient) => Promise<Outcome>
}

/** Publishes a document, or sets the status of what was published. */
export async function publish({ positionals: [named = ''], options }: Invocation, io: Io): Promise<number> {
  const values = valuesOf(ownGroups, options)
  const { registry, tokenFile, json, debug } = values
  const api = apiUrlOf(registry)
  if ('message' in api) return printProblems([{ place: '--registry', message: api.message }], io)
  const connection = connectionTo(api.url, tokenFile, options)
  const task = await taskOf(named, values)
  if ('problems' in connection) return printProblems([...connection.problems, ...problemsOf(task)], io)
  if ('problems' in task) return printProblems(task.problems, io)

  for (const secret of connection.secrets) hidden.add(secret)
  const code = task.isRefusedHere
    ? printOutcome({ result: 'invalid' }, task, json, io)
    : await connected(connection, io, debug, async (dispatch, scrubber) =>
        printOutcome(await task.run(new RegistryClient(dispatch, api.url)), task, json, io, scrubber),
      )
  // An open browser or a terminal must not keep the process alive.
  return exitAfterFlush(code, io)
}

interface Misuse {
  readonly problems: readonly Problem[]
}

const problemsOf = (task: Task | Misuse): readonly Problem[] => ('problems' in task ? task.problems : [])
const misuse = (place: string, message: string): Misuse => ({ problems: [{ place, message }] })

async function taskOf(named: string, { status, message, dryRun }: Values): Promise<Task | Misuse> {
  if (status === undefined) {
    if (message !== undefined) return misuse('--message', 'is for --status: a document has no message')
    return documentTask(named, dryRun ? planDocument : publishDocument)
  }
  if (dryRun) return misuse('--dry-run', 'cannot be combined with --status: it is for a document')
  const [, name, version] = /^([\w.-]+\/[\w.-]+)(?:@(\S+))?$/.exec(named) ?? []
  if (name === undefined) {
    const example = 'such as com.example/weather@1.0.0, or com.example/weather for all versions'
    return misuse('FILE', `with --status, a name is expected, ${example}`)
  }
  const request = { name, version, status, message }
  return {
    file: named,
    issues: [],
    isRefusedHere: false,
    run: (registry) => changeStatus(registry, request),
  }
}

async function documentTask(file: string, action: typeof publishDocument): Promise<Task | Misuse> {
  const bytes = await readServerFile(file).catch((error: unknown) => fileFailure(error))
  if (typeof bytes === 'string') return misuse(file, bytes)
  const { valid, issues, name = '', version = '' } = validateLocated(bytes)
  const run: Task['run'] = (registry) => action(registry, { name, version, bytes })
  return { file, issues, isRefusedHere: !valid, run }
}

/** The API URL of a registry, from each known form of its URL; otherwise a message about the wrong form. */
export function apiUrlOf(written: string): { readonly url: URL } | { readonly message: string } {
  const expected = 'expected the URL of a registry, such as https://registry.example.com/registry/default'
  if (/[?#]/.test(written)) return { message: `${expected}, without query and fragment` }
  const url = new URL(written)
  if (url.username !== '' || url.password !== '')
    return { message: `${expected}, without user and password: --token-file takes a token` }
  url.pathname = `${url.pathname.replace(/\/+$/, '').replace(/\/v0(?:\.1)?$/, '')}/v0.1`
  return { url }
}
