import type { List } from 'sallyport'
import { proxy } from 'sallyport/presets/proxy'
import { painter } from '../colour.js'
import { planOf } from '../config/all-problems.js'
import { readList } from '../config/listed-settings.js'
import type { Outcome } from '../config/outcome.js'
import { examine } from '../doctor/examine.js'
import { told } from '../findings/told.js'
import { doctorGroup } from '../options/doctor.js'
import type { Invocation } from '../options/option.js'
import { valuesOf } from '../options/values.js'
import { exitCode, tell } from '../terminal.js'
import { readProxySettings } from './proxy.js'

/** Looks at what a gateway needs around it, and says what to do about what is wrong there. */
export async function doctor(invocation: Invocation): Promise<number> {
  const { config, json } = valuesOf([doctorGroup], invocation.given)
  const given = invocation.given.get('target-uri')
  if ((config === undefined) === (given === undefined)) {
    const message = 'expected either a file, or the flags of a proxy with its --target-uri'
    return tell([{ place: config === undefined ? '--config' : (given?.place ?? '--target-uri'), message }])
  }
  const outcome = config === undefined ? proxyList(invocation) : await readList(config)
  const checked = await planOf(outcome)
  if ('problems' in checked) return tell(checked.problems)

  const folder = 'folder' in outcome ? outcome.folder : process.cwd()
  const findings = await examine(checked.plan, folder)
  const paint = painter(process.stdout, process.env)
  process.stdout.write(`${told(findings, json, paint)}\n`)
  return findings.some(({ state }) => state === 'wrong') ? exitCode.failed : exitCode.asked
}

function proxyList(invocation: Invocation): Outcome<List> {
  const own: readonly string[] = doctorGroup.options.map(({ name }) => name)
  const given = new Map([...invocation.given].filter(([name]) => !own.includes(name)))
  const outcome = readProxySettings({ ...invocation, given })
  return 'problems' in outcome
    ? { problems: outcome.problems }
    : { ...outcome, settings: proxy(outcome.settings) }
}
