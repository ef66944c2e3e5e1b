import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

const done: string[] = []

process.once('exit', () => {
  for (const root of done) rmSync(root, { recursive: true, force: true })
})

/** A folder outside the package with these files in it, removed after the test. */
export function folder(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-'))
  // Not removed yet: these hooks run in the order they were given, so the programs that write there end after this one.
  t.after(() => void done.push(root))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}
