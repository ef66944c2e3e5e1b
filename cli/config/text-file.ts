import { readFile, stat } from 'node:fs/promises'
import { pipes } from '#core/toolkit/files/pipes.js'

/** The text of a configuration, or of a file that it names. */
export async function readTextFile(path: string): Promise<string> {
  pipes.refuseSecondRead(path, await stat(path))
  return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
}
