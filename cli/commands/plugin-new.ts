import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readFailure } from '../config/read-failure.js'
import { pluginFiles } from '../new-plugin/files.js'
import type { Invocation } from '../options/option.js'
import { newPluginGroups } from '../options/plugin.js'
import { valuesOf } from '../options/values.js'
import { exitCode, tell } from '../terminal.js'

/** Writes a plugin that works, with its test, into a folder of its own. */
export async function pluginNew({ given, positionals: [name = ''] }: Invocation): Promise<number> {
  const { kind } = valuesOf(newPluginGroups, given)
  const place = 'NAME'
  if (!/^[a-z0-9][a-z0-9._-]{0,100}$/.test(name)) {
    return tell([{ place, message: 'expected a package name: lower-case letters, digits, ".", "_" and "-"' }])
  }
  try {
    // Not recursive: a folder that is there already is not written into.
    await mkdir(name)
    const files = Object.entries(pluginFiles(name, kind))
    await Promise.all(files.map(([file, text]) => writeFile(join(name, file), text, { flag: 'wx' })))
  } catch (error) {
    const there = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    return tell([{ place, message: there ? 'a folder of this name is here already' : readFailure(error) }])
  }
  process.stdout.write(
    `${name} is written. Next:\n  cd ${name} && npm install && npm test && npm run verify\n`,
  )
  return exitCode.asked
}
