import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { isJsonObject } from 'sallyport/toolkit'
import { painter } from '../../colour.js'
import { readDocument } from '../../config/document.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { findingsText } from '../../tools/findings/report.js'
import { verifyPlugin } from '../../tools/verify/verify.js'
import { pluginVerifyCommand } from './flags.js'

/** Checks a plugin against its contract, and prints each violation with advice. */
export async function pluginVerify(
  { options, environment, positionals: [path = ''] }: Invocation,
  io: Io,
): Promise<number> {
  const { json, with: optionsFile } = valuesOf(pluginVerifyCommand.groups, options)
  const read = optionsFile === undefined ? undefined : await readDocument(optionsFile, environment)
  if (read !== undefined && read.problems.length > 0) return printProblems(read.problems, io)

  const value = read?.document?.value
  const file = await entryOf(resolve(path))
  if (file !== resolve(path) && !existsSync(file)) {
    const message = `its package.json exports ${relative(resolve(path), file)}, which is not there: build it first`
    return printProblems([{ place: path, message }], io)
  }
  const findings = await verifyPlugin({
    file,
    // Paths are relative to the file of options, as in a configuration file.
    folder: read?.document?.folder ?? dirname(file),
    about: path,
    options: isJsonObject(value) ? value : undefined,
  })
  io.stdout.write(`${findingsText(findings, json, painter(io.stdout, io.env))}\n`)
  return findings.some(({ state }) => state === 'wrong') ? exitCode.failed : exitCode.ok
}

/** The file that the package.json of a folder exports; any other path as it is. */
async function entryOf(path: string): Promise<string> {
  const folder = await stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
  if (!folder) return path
  const manifest: unknown = JSON.parse(await readFile(join(path, 'package.json'), 'utf8').catch(() => '{}'))
  const { exports: exported, main } = isJsonObject(manifest) ? manifest : {}
  const root = isJsonObject(exported) ? exported['.'] : exported
  const entry = isJsonObject(root) ? root['default'] : root
  return join(path, typeof entry === 'string' ? entry : typeof main === 'string' ? main : 'index.js')
}
