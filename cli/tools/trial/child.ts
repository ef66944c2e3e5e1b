import { ConfigError } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { createLog, type TrialFinding, trySetup } from 'sallyport/embed'
import { messageOf, problemLine } from 'sallyport/toolkit'
import { PATH_MARK, type TrialJob } from './messages.js'

const answer = (findings: readonly TrialFinding[]): void =>
  // What a plugin left open must not keep the process alive.
  void process.send?.(findings, () => process.exit(0))

process.once('message', ({ list, folder }: TrialJob) => {
  const uncaught: TrialFinding[] = []
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const message = `an uncaught error, in setup of a plugin: ${messageOf(error)}`
      uncaught.push({ kind: 'error', place: '', message })
    })
  }
  const context = {
    catalogue,
    folder,
    log: createLog({ level: 'silent' }),
    locate: (path: readonly (string | number)[]) => `${PATH_MARK}${JSON.stringify(path)}${PATH_MARK}`,
  }
  trySetup(list, context).then(
    // A turn later, what nobody caught has been reported.
    (findings) => setImmediate(() => answer([...findings, ...uncaught])),
    (error: unknown) => {
      // The list was planned before, in a process that may write: some plugin writes as soon as it is loaded.
      const all = error instanceof ConfigError ? error.problems.map(problemLine) : [messageOf(error)]
      answer(all.map((message) => ({ kind: 'unseen', place: '', message })))
    },
  )
})
