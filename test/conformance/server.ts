import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { catalogue } from 'sallyport/builtin'
import { createLog, serve } from 'sallyport/embed'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { type Installed, installed } from './installed.js'
import { sdkServer } from './sdk-server/http.js'

// The official suite's server scenarios, directly and through the proxy: the results must be the same.
// `npm run conformance [-- URL]`; without a URL it tests the reference server, and a server on the newest SDK.
const SUITE = '@modelcontextprotocol/conformance'
const VERSION = '0.2.0-alpha.12'
const REVISIONS = ['2025-11-25', '2026-07-28']
const PORT = 3917

// The proxy checks `Host`; a server that listens on loopback need not.
const ADDED_BY_PROXY = 'dns-rebinding-protection'

interface Target {
  readonly name: string
  readonly url: string
  readonly close: () => unknown
  /** Through the proxy, it must pass everything that a revision requires. */
  readonly conforms: boolean
}

interface Scores {
  readonly byName: ReadonlyMap<string, string>
  readonly total: string
  /** All required checks of the revision passed; optional checks run too, and do not count. */
  readonly conforms: boolean
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

async function referenceServer(): Promise<Target> {
  const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
  const child = spawn(process.execPath, [bin, 'streamableHttp'], {
    env: { ...process.env, PORT: String(PORT) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await once(child.stderr, 'data')
  child.stderr.resume()
  return {
    name: 'reference server',
    url: `http://localhost:${PORT}/mcp`,
    conforms: false,
    close: () => child.kill(),
  }
}

/** How many checks passed and failed, by scenario. */
async function scores(suite: Installed, url: string, revision: string): Promise<Scores> {
  const { code, stdout } = await suite.run(SUITE, ['server', '--url', url, '--requirements', revision])
  const scored = [...stdout.matchAll(/^[✓✗] ([\w-]+): (\d+ passed, \d+ failed)/gm)]
  const total = /^Total: (.+)$/m.exec(stdout)?.[1]
  if (total === undefined) throw new Error(`the suite printed no total: ${stdout.slice(-500)}`)
  const byName = new Map(scored.map(([, name = '', score = '']) => [name, score] as const))
  return { byName, total, conforms: code === 0 }
}

const passed = (score: string | undefined): number => Number.parseInt(score ?? '0', 10)

/** Prints the differences, and returns whether they are allowed. */
function compared(direct: Scores, through: Scores): boolean {
  let same = direct.byName.size === through.byName.size
  for (const [name, score] of direct.byName) {
    const proxied = through.byName.get(name)
    if (proxied === score) continue
    print(`  ${name}: ${score} directly, ${proxied} through the proxy`)
    if (name !== ADDED_BY_PROXY || passed(proxied) < passed(score)) same = false
  }
  return same
}

async function check(suite: Installed, { name, url, conforms }: Target): Promise<boolean> {
  const list = proxy(ProxySettings.parse({ targetUri: url }))
  const running = await serve(list, { catalogue, folder: process.cwd(), log: createLog({ level: 'warn' }) })
  let same = true
  for (const revision of REVISIONS) {
    const direct = await scores(suite, url, revision)
    const through = await scores(suite, `${running.addresses.main}/mcp`, revision)
    print(`${name}, ${revision}: ${direct.total} directly, ${through.total} through the proxy`)
    print(`  through the proxy it ${through.conforms ? 'passes' : 'does not pass'} all required checks`)
    if (!compared(direct, through) || (conforms && !through.conforms)) same = false
  }
  await running.stop()
  return same
}

const [ownUrl] = process.argv.slice(2)
const targets: readonly Target[] =
  ownUrl === undefined
    ? [await referenceServer(), { name: 'SDK server', conforms: true, ...(await sdkServer()) }]
    : [{ name: ownUrl, url: ownUrl, conforms: false, close: () => {} }]
const suite = await installed([`${SUITE}@${VERSION}`])
for (const target of targets) {
  if (!(await check(suite, target))) process.exitCode = 1
  await target.close()
}
suite.remove()
