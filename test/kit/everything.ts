import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import { eventually } from './captured-log.js'
import { freePort } from './free-port.js'
import { spawned } from './spawned.js'

/** Starts the reference server on a free port, which that server reads from its environment only. */
export async function everything(
  t: Pick<TestContext, 'after'>,
  transport: 'streamableHttp' | 'sse' = 'streamableHttp',
): Promise<string> {
  const port = await freePort()
  const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
  const { output } = spawned(t, [process.execPath, bin, transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await eventually(() => /listening|running/.test(output.stderr), 60)
  return `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`
}
