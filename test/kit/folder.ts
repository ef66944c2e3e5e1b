import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

const finished: string[] = []

process.once('exit', () => {
  for (const root of finished) rmSync(root, { recursive: true, force: true })
})

/** A folder outside the package with these files in it, removed when the process ends. */
export function folder(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-'))
  // Not removed yet: `after` hooks run in their order, so programs that write there end after this hook.
  t.after(() => void finished.push(root))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}
