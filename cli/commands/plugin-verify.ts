import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { painter } from '../colour.js'
import { readDocument } from '../config/document.js'
import { isMapping } from '../config/path.js'
import { told } from '../findings/told.js'
import type { Invocation } from '../options/option.js'
import { verifyGroups } from '../options/plugin.js'
import { valuesOf } from '../options/values.js'
import { exitCode, tell } from '../terminal.js'
import { verifyPlugin } from '../verify/verify.js'

/** Holds a plugin against its contract, and says what to do about what it does not keep. */
export async function pluginVerify({ given, positionals: [path = ''] }: Invocation): Promise<number> {
  const { json, with: optionsFile } = valuesOf(verifyGroups, given)
  const read = optionsFile === undefined ? undefined : await readDocument(optionsFile, process.env)
  if (read !== undefined && read.problems.length > 0) return tell(read.problems)

  const value = read?.document?.value
  const file = await entryOf(resolve(path))
  if (file !== resolve(path) && !existsSync(file)) {
    const message = `its package.json exports ${relative(resolve(path), file)}, which is not there: build it first`
    return tell([{ place: path, message }])
  }
  const options = isMapping(value) ? value : undefined
  const findings = await verifyPlugin({ file, folder: dirname(file), about: path, options })
  process.stdout.write(`${told(findings, json, painter(process.stdout, process.env))}\n`)
  return findings.some(({ state }) => state === 'wrong') ? exitCode.failed : exitCode.asked
}

/** Of a folder, the file that its package.json exports. */
async function entryOf(path: string): Promise<string> {
  const folder = await stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
  if (!folder) return path
  const manifest: unknown = JSON.parse(await readFile(join(path, 'package.json'), 'utf8').catch(() => '{}'))
  const { exports: exported, main } = isMapping(manifest) ? manifest : {}
  const root = isMapping(exported) ? exported['.'] : exported
  const entry = isMapping(root) ? root['default'] : root
  return join(path, typeof entry === 'string' ? entry : typeof main === 'string' ? main : 'index.js')
}
