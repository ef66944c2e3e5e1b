import type { Stats } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { DirectoryWatch, definePlugin, type Fetched, GatewayError, Source } from 'sallyport'
import { z } from 'zod'
import { interval } from './interval.js'
import { jsonBytes } from './list-text.js'

export default definePlugin({
  name: 'source/file',
  api: 1,
  summary: 'Reads server documents from a file, JSON or YAML, and again whenever it changes.',
  provides: [Source],
  options: z.strictObject({
    name: z.string().min(1).describe('the name that registries list it by'),
    path: z
      .string()
      .min(1)
      .describe('a list of server documents, or the `{"servers": [...]}` that a registry answers'),
    watch: z.boolean().default(true).describe('read it again when it changes'),
    every: interval().optional().describe('also read it at this interval'),
  }),

  setup(gateway, { name, path, watch, every }) {
    const file = new WatchedList(gateway.path(path))
    gateway.provide(Source, {
      name,
      place: `file ${file.path}`,
      every,
      fetch: ({ bookmark }) => file.read(bookmark),
      ...(watch && { watch: (changed: () => void) => file.watch(changed) }),
    })
  },
})

const GONE = 'gone'

class WatchedList {
  /** What the file was like when it was last read. */
  #read: string | undefined

  constructor(readonly path: string) {}

  async read(bookmark: string | undefined): Promise<Fetched> {
    const { path } = this
    this.#read = GONE
    try {
      const file = await open(path)
      try {
        const facts = await file.stat()
        const mark = markOf(facts)
        this.#read = mark
        if (mark === bookmark) return { kind: 'unchanged' }
        const payloads = [jsonBytes(path, await contentOf(file, facts.size))]
        return { kind: 'whole', payloads, handedOver: true, asOf: facts.mtime, bookmark: () => mark }
      } finally {
        await file.close()
      }
    } catch (cause) {
      if (!(cause instanceof Error) || !('code' in cause)) throw cause
      throw new GatewayError('FILE_UNREADABLE', `cannot read ${path}: ${String(cause.code)}`, { cause })
    }
  }

  watch(changed: () => void): () => void {
    const look = async (settled: () => Promise<boolean>): Promise<void> => {
      let mark = await this.mark()
      // Two looks that see the same: whoever writes in place may be half way through.
      for (let before: string | undefined; mark !== this.#read && mark !== before; ) {
        if (!(await settled())) return
        before = mark
        mark = await this.mark()
      }
      if (mark !== this.#read) changed()
    }
    const watch = new DirectoryWatch(this.path, { pollEvery: 10_000, look })
    return () => watch.close()
  }

  private mark(): Promise<string> {
    return stat(this.path).then(markOf, () => GONE)
  }
}

/** Read into one piece of memory: a catalogue may be large, and joining its parts would take as much again. */
async function contentOf(file: FileHandle, size: number): Promise<Buffer> {
  const content = Buffer.allocUnsafeSlow(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await file.read(content, filled, size - filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return content.subarray(0, filled)
}

const markOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ')
