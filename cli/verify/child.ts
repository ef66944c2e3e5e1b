import { Loader } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { Chart, messageOf } from '../findings/chart.js'
import { examine } from './examine.js'
import type { Job, Word } from './job.js'

const SIGN_OF_LIFE = 250

const say = (word: Word): void => void process.send?.(word)

process.once('message', (job: Job) => {
  setInterval(say, SIGN_OF_LIFE, { kind: 'alive' }).unref()
  const chart = new Chart(job.about)
  const step = (name: string): void => say({ kind: 'at', step: name, findings: chart.findings })
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const advice =
        'await every promise, and catch what a timer or a listener throws: it would end the gateway'
      chart.wrong('errors', 'ERROR_ASTRAY', `an error that nobody catches: ${messageOf(error)}`, advice)
    })
  }
  const over = (logged: string | undefined): void => {
    // Everything was said once this was sent. What the plugin left behind must not keep the process here.
    process.send?.({ kind: 'done', findings: chart.findings, logged } satisfies Word, () => process.exit(0))
  }
  held(chart, job, step).then(over, (error: unknown) => {
    chart.wrong('verify', 'VERIFY_FAILED', messageOf(error), 'this should not happen: please report it')
    over(undefined)
  })
})

/** Its log, when it came so far. */
async function held(chart: Chart, job: Job, step: (name: string) => void): Promise<string | undefined> {
  step('loading')
  const loaded = await new Loader(catalogue, job.folder).load(job.file)
  if (!('problem' in loaded)) return examine(chart, loaded.plugin, job, step)
  const advice = 'see `sallyport plugin new` for one that works'
  chart.wrong('shape', 'NOT_LOADED', loaded.problem.message, advice)
  return undefined
}
