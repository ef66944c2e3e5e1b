import { createHash, randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { Breath } from './breath.js'
import { piecesOf } from './held-version.js'
import type { Holding } from './holding.js'

/** What a source had when it was last good, as it comes back from the disk. */
export interface KeptState {
  /** In the form that sources give. */
  readonly payload: Uint8Array
  readonly bookmark: string | undefined
}

const trailer = z.object({
  format: z.literal(1),
  place: z.string(),
  sha256: z.string(),
  bookmark: z.string().optional(),
})

const NEWLINE = 0x0a
const CHUNK = 64 * 1024
const ABANDONED_AFTER = 3_600_000

/**
 * The last good state of one source in one file: the documents, and in its last line their checksum. A file is
 * written beside the old one and renamed over it, so a kill at any moment leaves one or the other, whole.
 */
export class StateFile {
  readonly path: string

  constructor(
    directory: string,
    name: string,
    private readonly place: string,
  ) {
    // Another place gets another file: the state of one must never be served as that of the other.
    const mark = createHash('sha256').update(place).digest('hex').slice(0, 12)
    this.path = join(directory, `${encodeURIComponent(name)}-${mark}.state`)
  }

  /** `undefined` when there is none. Throws when there is one that cannot be used. */
  async read(breath: Breath): Promise<KeptState | undefined> {
    const bytes = await readFile(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (bytes === undefined) return undefined
    const end = bytes.lastIndexOf(NEWLINE, -2)
    if (end === -1) throw new Error('it is incomplete')
    const { place, sha256, bookmark } = trailer.parse(JSON.parse(bytes.toString('utf8', end + 1)))
    const payload = bytes.subarray(0, end)
    if (place !== this.place) throw new Error('it belongs to another place')
    if ((await digest(payload, breath)) !== sha256) throw new Error('its checksum is wrong')
    return { payload, bookmark }
  }

  async write(holding: Holding, bookmark: string | undefined, breath: Breath): Promise<void> {
    const directory = dirname(this.path)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await this.sweep(directory)
    const temporary = `${this.path}.${randomBytes(6).toString('hex')}.tmp`
    try {
      await this.fill(temporary, holding, bookmark, breath)
      await rename(temporary, this.path)
      await settle(directory)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  private async fill(
    temporary: string,
    holding: Holding,
    bookmark: string | undefined,
    breath: Breath,
  ): Promise<void> {
    const file = await open(temporary, 'wx', 0o600)
    try {
      const hash = createHash('sha256')
      for (const chunk of chunksOf(holding)) {
        hash.update(chunk)
        await file.write(chunk)
        if (breath.due) await breath.take()
      }
      const last = { format: 1, place: this.place, sha256: hash.digest('hex'), bookmark }
      await file.write(`\n${JSON.stringify(last)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Removes what a killed process left half written. */
  private async sweep(directory: string): Promise<void> {
    const own = `${basename(this.path)}.`
    for (const name of await readdir(directory)) {
      if (!name.startsWith(own) || !name.endsWith('.tmp')) continue
      const { mtimeMs } = (await stat(join(directory, name)).catch(() => undefined)) ?? { mtimeMs: Infinity }
      if (Date.now() - mtimeMs > ABANDONED_AFTER) await rm(join(directory, name), { force: true })
    }
  }
}

/** The holding as a list in JSON, in the same piece of memory again and again. */
function* chunksOf(holding: Holding): Generator<Buffer> {
  const out = Buffer.allocUnsafe(CHUNK)
  let used = out.write('[')
  for (let row = 0; row < holding.size; row++) {
    for (const part of [...(row > 0 ? [COMMA] : []), ...piecesOf(holding, row)]) {
      for (let at = 0; at < part.length; ) {
        const copied = part.copy(out, used, at)
        at += copied
        used += copied
        if (used < CHUNK) continue
        yield out
        used = 0
      }
    }
  }
  used += out.write(']', used)
  yield out.subarray(0, used)
}

const COMMA = Buffer.from(',')

async function digest(bytes: Uint8Array, breath: Breath): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += CHUNK) {
    hash.update(bytes.subarray(at, at + CHUNK))
    if (breath.due) await breath.take()
  }
  return hash.digest('hex')
}

// The rename itself is only safe from a power cut when the directory is on the disk, too.
async function settle(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
