import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** The reference server on a port that was free a moment ago: it takes its port from the environment only. */
export async function everything(
  t: Pick<TestContext, 'after'>,
  transport: 'streamableHttp' | 'sse' = 'streamableHttp',
): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))

  const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
  const child = spawn(process.execPath, [bin, transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  // Read to the end: a server whose stderr is closed fails at its next word.
  await new Promise<void>((resolve) => {
    child.stderr.on('data', (line) => {
      if (/listening|running/.test(String(line))) resolve()
    })
  })
  return `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`
}
