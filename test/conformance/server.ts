import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createLog, serve } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'

// The official suite's server scenarios, direct and through the proxy: what holds direct holds through it.
// `npm run conformance [-- URL]`; without a URL the reference server is started. The suite needs Node 22.
const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const REVISIONS = ['2025-11-25', '2026-07-28']
const PORT = 3917

const print = (line: string): void => void process.stdout.write(`${line}\n`)

const [given] = process.argv.slice(2)
const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const reference =
  given === undefined
    ? spawn(process.execPath, [bin, 'streamableHttp'], {
        env: { ...process.env, PORT: String(PORT) },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
    : undefined
if (reference !== undefined) {
  await once(reference.stderr, 'data')
  reference.stderr.resume()
}
const target = given ?? `http://localhost:${PORT}/mcp`
const running = await serve(proxy(ProxySettings.parse({ targetUri: target })), {
  catalogue,
  folder: process.cwd(),
  log: createLog({ level: 'warn' }),
})

/** How many checks passed and failed, by scenario. */
async function scores(url: string, revision: string): Promise<Map<string, string>> {
  const suite = spawn('npx', ['-y', SUITE, 'server', '--url', url, '--requirements', revision], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of suite.stdout) text += chunk
  const scored = [...text.matchAll(/^[✓✗] ([\w-]+): (\d+ passed, \d+ failed)/gm)]
  const total = /^Total: (.+)$/m.exec(text)?.[1]
  if (total === undefined) throw new Error(`the suite did not come to a total: ${text.slice(-500)}`)
  return new Map([...scored.map(([, name = '', score = '']) => [name, score] as const), ['total', total]])
}

const passed = (score: string | undefined): number => Number.parseInt(score ?? '0', 10)

for (const revision of REVISIONS) {
  const direct = await scores(target, revision)
  const through = await scores(`${running.addresses.main}/mcp`, revision)
  print(`${revision}: ${direct.get('total')} direct, ${through.get('total')} through the proxy`)
  for (const [name, score] of direct) {
    const proxied = through.get(name)
    if (name === 'total' || proxied === score) continue
    print(`  ${name}: ${score} direct, ${proxied} through the proxy`)
    // The proxy's own guards may pass what a server alone does not; nothing may get lost.
    if (passed(proxied) < passed(score)) process.exitCode = 1
  }
}
await running.stop()
reference?.kill()
