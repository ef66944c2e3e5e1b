import type { TestContext } from 'node:test'
import type { List } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import {
  type BootContext,
  boot,
  createLog,
  type GatewayInstance,
  type GatewayServer,
  LogScrubber,
  type ServeContext,
  serve,
} from 'sallyport/embed'

/** A log whose lines can be read by the test, made and scrubbed like the real one. */
export function recordedLog(scrubber = new LogScrubber()) {
  const lines: Record<string, unknown>[] = []
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) }
  return { log: createLog({ level: 'trace', stream, scrubber }), lines, scrubber }
}

/** What a boot needs beside its list, but for what is given. */
export const contextFor = (given: Partial<BootContext>): BootContext => ({
  catalogue,
  folder: import.meta.dirname,
  log: given.log ?? recordedLog().log,
  ...given,
})

/** A list booted without a socket: ask it with `app.inject`. Stopped when the test ends. */
export async function booted(
  t: TestContext,
  list: List,
  given: Partial<BootContext> = {},
): Promise<GatewayInstance['app']> {
  const running = await boot(list, contextFor(given))
  t.after(() => running.stop())
  await running.ready({})
  return running.app
}

/** A list behind real sockets on free ports. Stopped when the test ends. */
export async function serving(
  t: TestContext,
  list: List,
  given: Partial<ServeContext> = {},
): Promise<GatewayServer> {
  const running = await serve(list, contextFor(given))
  t.after(() => running.stop(0))
  return running
}
