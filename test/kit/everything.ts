import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import { freePort } from './free-port.js'

/** The reference server on a port that was free a moment ago: it takes its port from the environment only. */
export async function everything(
  t: Pick<TestContext, 'after'>,
  transport: 'streamableHttp' | 'sse' = 'streamableHttp',
): Promise<string> {
  const port = await freePort()
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
