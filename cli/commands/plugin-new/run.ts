import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileFailure } from 'sallyport/toolkit'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { pluginFiles } from '../../tools/plugin-new/files.js'
import { pluginNewCommand } from './flags.js'

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'a folder of this name is here already',
  EACCES: 'this user may not write into this folder (EACCES)',
}

/** Writes a plugin that works, with its test, into a folder of its own. */
export async function pluginNew({ options, positionals: [name = ''] }: Invocation, io: Io): Promise<number> {
  const { kind } = valuesOf(pluginNewCommand.groups, options)
  const place = 'NAME'
  if (!/^[a-z0-9][a-z0-9._-]{0,100}$/.test(name)) {
    const message = 'expected a package name: lower-case letters, digits, ".", "_" and "-"'
    return printProblems([{ place, message }], io)
  }
  const files = Object.entries(pluginFiles(name, kind))
  try {
    // Not recursive: an existing folder is an error.
    await mkdir(name)
    await writeAll(name, files)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return printProblems([{ place, message: REASONS[String(code)] ?? fileFailure(error) }], io)
  }
  io.stdout.write(`${name} is written. Next:\n  cd ${name} && npm install && npm test && npm run verify\n`)
  return exitCode.ok
}

/** Writes all files or none: half a folder would block another attempt. */
async function writeAll(folder: string, files: readonly (readonly [string, string])[]): Promise<void> {
  try {
    for (const [file, text] of files) await writeFile(join(folder, file), text, { flag: 'wx' })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}
