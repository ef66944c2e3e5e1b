import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installed } from './installed.js'

// The official suite's scenarios of signing in, with the proxy as the client. `npm run conformance:sign-in [-- WORD]`
// runs those whose name holds the word. One at a time: the suite's own parallel mode hides what fails.
const SUITE = '@modelcontextprotocol/conformance'
const VERSION = '0.2.0-alpha.12'
const REVISIONS = ['2025-03-26', '2025-11-25', '2026-07-28']
// The extensions for clients without a user; the others use assertions that the proxy does not have.
const EXTENSIONS = ['auth/client-credentials-basic', 'auth/client-credentials-jwt']

const print = (line: string): void => void process.stdout.write(`${line}\n`)

const [word = ''] = process.argv.slice(2)
const client = join(import.meta.dirname, 'signing-client.ts')
const tsx = createRequire(import.meta.url).resolve('tsx')
const command = `${process.execPath} -C source --import ${tsx} ${client}`
const suite = await installed([`${SUITE}@${VERSION}`])

async function passes(scenario: string, ...more: string[]): Promise<boolean> {
  const argv = ['client', '--command', command, '--scenario', scenario, '--timeout', '30000', ...more]
  // The suite prints its checks and findings on standard error.
  const passed = (await suite.run(SUITE, argv)).code === 0
  print(`  ${passed ? 'passed' : 'FAILED'} ${scenario}`)
  if (!passed) process.exitCode = 1
  return passed
}

async function table(title: string, scenarios: readonly string[], ...more: string[]): Promise<void> {
  if (scenarios.length === 0) return
  print(`${title}:`)
  let passed = 0
  for (const scenario of scenarios) if (await passes(scenario, ...more)) passed++
  print(`${title}: ${passed} of ${scenarios.length}`)
}

try {
  const { stdout: list } = await suite.run(SUITE, ['list', '--client'])
  const known = [...list.matchAll(/- (auth\/\S+) \[([^\]]*)\]/g)]
    .map(([, scenario = '', revisions = '']) => ({ scenario, revisions: revisions.split(',') }))
    .filter(({ scenario }) => scenario.includes(word))
  for (const revision of REVISIONS) {
    const scenarios = known.filter(({ revisions }) => revisions.includes(revision))
    await table(
      revision,
      scenarios.map(({ scenario }) => scenario),
      '--spec-version',
      revision,
    )
  }
  await table(
    'extensions',
    EXTENSIONS.filter((scenario) => scenario.includes(word)),
    '--force',
  )
} finally {
  suite.remove()
}
