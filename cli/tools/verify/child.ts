import { catalogue } from 'sallyport/builtin'
import { Loader } from 'sallyport/embed'
import { messageOf } from 'sallyport/toolkit'
import { FindingList } from '../findings/finding-list.js'
import { examine } from './examine.js'
import type { Job, Message } from './messages.js'

const HEARTBEAT = 250

const send = (message: Message): void => void process.send?.(message)

process.once('message', (job: Job) => {
  setInterval(send, HEARTBEAT, { kind: 'alive' }).unref()
  const findings = new FindingList(job.about)
  const step = (name: string): void => send({ kind: 'at', step: name, findings: findings.all })
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const advice =
        'await every promise, and catch errors in timers and listeners: an uncaught error ends the gateway'
      findings.wrong('errors', 'ERROR_ASTRAY', `an uncaught error: ${messageOf(error)}`, advice)
    })
  }
  const finish = (logged: string | undefined): void => {
    // Exits after the last message: a handle that the plugin left open must not keep the process alive.
    process.send?.({ kind: 'done', findings: findings.all, logged } satisfies Message, () => process.exit(0))
  }
  verify(findings, job, step).then(finish, (error: unknown) => {
    findings.wrong('verify', 'VERIFY_FAILED', messageOf(error), 'this should not happen: please report it')
    finish(undefined)
  })
})

/** Returns the log, when the plugin could be examined. */
async function verify(
  findings: FindingList,
  job: Job,
  step: (name: string) => void,
): Promise<string | undefined> {
  step('loading')
  const loaded = await new Loader(catalogue, job.folder).load(job.file)
  if (!('problem' in loaded)) return examine(findings, loaded.plugin, job, step)
  const advice = '`sallyport plugin new` writes a plugin that works'
  findings.wrong('shape', 'NOT_LOADED', loaded.problem.message, advice)
  return undefined
}
