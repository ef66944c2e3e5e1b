import { ConfigError } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { createLog, type TrialFinding, trySetup } from 'sallyport/embed'
import { messageOf } from 'sallyport/toolkit'
import { PATH_MARK, type TrialJob, type TrialMessage } from './messages.js'

const send = (message: TrialMessage, done: () => void): void => void process.send?.(message, done)

process.once('message', (job: TrialJob) => {
  const uncaught: TrialFinding[] = []
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const message = `an uncaught error, in setup of a plugin: ${messageOf(error)}`
      uncaught.push({ kind: 'error', place: '', message })
    })
  }
  const answer = (findings: readonly TrialFinding[]): void =>
    // A handle that a plugin left open must not keep the process alive.
    send([...findings, ...uncaught], () => process.exit(0))
  // In the next turn of the event loop, uncaught errors have been reported.
  send('begun', () => void tried(job).then((findings) => setImmediate(answer, findings)))
})

async function tried({ list, folder }: TrialJob): Promise<readonly TrialFinding[]> {
  const locate = (path: readonly (string | number)[]): string =>
    `${PATH_MARK}${JSON.stringify(path)}${PATH_MARK}`
  try {
    return await trySetup(list, { catalogue, folder, locate, log: createLog({ level: 'silent' }) })
  } catch (error) {
    // The plan succeeded before, in a process that may write: here a plugin writes while it is loaded.
    const problems =
      error instanceof ConfigError ? error.problems : [{ place: '', message: messageOf(error) }]
    return problems.map((problem) => ({ ...problem, kind: 'unseen' }))
  }
}
