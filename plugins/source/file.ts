import { join } from 'node:path'
import { DirectoryWatch, definePlugin, type Fetched, fileFailure, GatewayError, Source } from 'sallyport'
import { z } from 'zod'
import { interval } from './interval.js'
import { isFolder, listedAt, payloadOf } from './listed-files.js'

export default definePlugin({
  name: 'source/file',
  api: 1,
  summary:
    'Reads server documents from a file, JSON or YAML, or from all files of a folder, and again whenever they change.',
  provides: [Source],
  options: z.strictObject({
    name: z.string().min(1).describe('the name that registries list it by'),
    path: z
      .string()
      .min(1)
      .describe(
        'a server document, a list of them, or the `{"servers": [...]}` that a registry answers; or a folder of such files',
      ),
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
  /** What the place was like when it was last read. */
  #read: string | undefined

  constructor(readonly path: string) {}

  async read(bookmark: string | undefined): Promise<Fetched> {
    const { path } = this
    this.#read = GONE
    try {
      // Looked at before it is read: what changes in between is seen the next time.
      const { files, mark, asOf } = await listedAt(path)
      this.#read = mark
      if (mark === bookmark) return { kind: 'unchanged' }
      const payloads: Uint8Array[] = []
      for (const file of files) payloads.push(await payloadOf(file, file !== path))
      return { kind: 'whole', payloads, handedOver: true, asOf, bookmark: () => mark }
    } catch (cause) {
      if (!(cause instanceof Error) || !('code' in cause) || cause instanceof GatewayError) throw cause
      throw new GatewayError('FILE_UNREADABLE', `cannot read ${path}: ${fileFailure(cause)}`, { cause })
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
    // What happens in a folder is seen from a name below it.
    const places = [this.path, ...(isFolder(this.path) ? [join(this.path, 'any')] : [])]
    const watches = places.map((place) => new DirectoryWatch(place, { pollEvery: 10_000, look }))
    return () => {
      for (const watch of watches) watch.close()
    }
  }

  private mark(): Promise<string> {
    return listedAt(this.path).then(
      ({ mark }) => mark,
      () => GONE,
    )
  }
}
