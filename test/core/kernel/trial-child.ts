import { catalogue } from 'sallyport/builtin'
import { createLog, trySetup } from 'sallyport/embed'

// Started by trial.test.ts with TRIAL_FLAGS, as a command does: its argument is the list, its output the findings.
const [folder = '', list = '[]'] = process.argv.slice(2)
const log = createLog({ level: 'silent' })
const findings = await trySetup(JSON.parse(list), {
  catalogue,
  folder,
  log,
  limits: { setup: 500, stop: 500 },
})
process.stdout.write(JSON.stringify(findings), () => process.exit(0))
