import type { TestContext } from 'node:test'
import {
  type BootContext,
  type Booted,
  boot,
  createLog,
  type List,
  type Running,
  Scrubber,
  type ServeContext,
  serve,
} from 'sallyport'
import { catalogue } from 'sallyport/builtin'

/** A log whose lines can be read by the test, made and scrubbed like the real one. */
export function recordedLog(scrubber = new Scrubber()) {
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
): Promise<Booted['app']> {
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
): Promise<Running> {
  const running = await serve(list, contextFor(given))
  t.after(() => running.stop(0))
  return running
}
