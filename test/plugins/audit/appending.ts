import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ownSources } from '#kit/own-sources.js'

/** Starts another process that audits a number of events to a file, with ids that begin with `name`. */
export function appending(
  t: TestContext,
  name: string,
  count: number,
  options: Readonly<Record<string, unknown>>,
) {
  const child = spawn(
    process.execPath,
    [
      ...[...ownSources.node, ownSources.script(join(import.meta.dirname, 'appending-program.ts'))],
      ...[name, String(count), JSON.stringify(options)],
    ],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  )
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const failed = closed.then(([code]) => assert.fail(`it ended with ${code} before it was done`))
  return {
    process: child,
    done: Promise.race([once(child.stdout, 'data'), failed]),
    async stop(): Promise<void> {
      child.stdin.end()
      await closed
    },
  }
}
