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

/** A log whose lines the test can read; it is created and scrubbed like the real one. */
export function recordedLog(scrubber = new LogScrubber()) {
  const lines: Record<string, unknown>[] = []
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) }
  return { log: createLog({ level: 'trace', stream, scrubber }), lines, scrubber }
}

/** The context of a boot, with these parts of it replaced. */
export const contextFor = (overrides: Partial<BootContext>): BootContext => ({
  catalogue,
  folder: import.meta.dirname,
  log: overrides.log ?? recordedLog().log,
  ...overrides,
})

/** Boots a list without a socket: send requests with `app.inject`. Stopped when the test ends. */
export async function booted(
  t: TestContext,
  list: List,
  overrides: Partial<BootContext> = {},
): Promise<GatewayInstance['app']> {
  const running = await boot(list, contextFor(overrides))
  t.after(() => running.stop())
  await running.ready({})
  return running.app
}

/** Serves a list on free ports. Stopped when the test ends. */
export async function serving(
  t: TestContext,
  list: List,
  overrides: Partial<ServeContext> = {},
): Promise<GatewayServer> {
  const running = await serve(list, contextFor(overrides))
  t.after(() => running.stop(0))
  return running
}
