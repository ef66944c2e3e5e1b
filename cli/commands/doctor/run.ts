import { proxy } from 'sallyport/presets/proxy'
import { painter } from '../../colour.js'
import { planOf } from '../../config/all-problems.js'
import { readList } from '../../config/read-list.js'
import { mapped } from '../../config/result.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { examine } from '../../tools/doctor/examine.js'
import { findingsText } from '../../tools/findings/report.js'
import { readProxySettings } from '../proxy/run.js'
import { doctorGroup } from './flags.js'

/** Examines the servers, files and addresses that a gateway depends on, and prints advice for each fault. */
export async function doctor(invocation: Invocation, io: Io): Promise<number> {
  const { config, json } = valuesOf([doctorGroup], invocation.options)
  const given = invocation.options.get('target-uri')
  if ((config === undefined) === (given === undefined)) {
    const message = 'expected either a file, or the flags of a proxy with its --target-uri'
    const place = config === undefined ? '--config' : (given?.place ?? '--target-uri')
    return printProblems([{ place, message }], io)
  }
  const outcome =
    config === undefined
      ? mapped(await readProxySettings(invocation), proxy)
      : await readList(config, invocation.environment)
  const checked = await planOf(outcome)
  if ('problems' in checked) return printProblems(checked.problems, io)

  const findings = await examine(checked.plan, checked.folder)
  const paint = painter(io.stdout, io.env)
  const code = findings.some(({ state }) => state === 'wrong') ? exitCode.failed : exitCode.ok
  await new Promise((written) => io.stdout.write(`${findingsText(findings, json, paint)}\n`, written))
  // A handle that an examination left open must not keep the process alive.
  return io.exit?.(code) ?? code
}
