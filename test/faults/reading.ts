import { keyOf } from './upstream.js'

const LIST = '/registry/default/v0.1/servers?limit=100&include_deleted=true'
/** Milliseconds between two requests of one reader, to leave half of the machine to the servers. */
const REST = 20

interface Page {
  readonly etag: string | null
  readonly body: string
}

interface ListBody {
  readonly servers: readonly { readonly server: { readonly name: string; readonly version: string } }[]
  readonly metadata: { readonly nextCursor?: string }
}

/** Every page of the list, as one replica serves it. */
export async function pagesOf(main: string): Promise<readonly Page[]> {
  const pages: Page[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const response: Response = await fetch(`http://${main}${LIST}${from}`)
    const body = await response.text()
    if (response.status !== 200) throw new Error(`${main}: ${response.status} ${body}`)
    pages.push({ etag: response.headers.get('etag'), body })
    const { metadata }: ListBody = JSON.parse(body)
    cursor = metadata.nextCursor
  }
  return pages
}

/** The versions in these pages, with duplicates. */
export const keysIn = (pages: readonly Page[]): readonly string[] =>
  pages.flatMap(({ body }) => (JSON.parse(body) as ListBody).servers.map(({ server }) => keyOf(server)))

/** Starts readers that read until `stop`. Every response other than 200 is a failure. */
export function readers(url: string, howMany: number) {
  const failures: string[] = []
  const origin = url.replace(/\/$/, '')
  let count = 0
  let slowest = 0
  let stopped = false
  const read = async (path: string): Promise<void> => {
    const began = performance.now()
    const response = await fetch(origin + path)
    await response.arrayBuffer()
    slowest = Math.max(slowest, performance.now() - began)
    if (response.status !== 200)
      failures.push(
        `${new Date().toISOString()} ${path}: ${response.status} of ${response.headers.get('x-served-by')}`,
      )
  }
  const reader = async (number: number): Promise<void> => {
    for (let round = number; !stopped; round++) {
      const name = encodeURIComponent(`com.example/server-${round % 300}`)
      const paths = [
        LIST,
        `${LIST}&search=server-1`,
        `/registry/default/v0.1/servers/${name}/versions?include_deleted=true`,
      ]
      const path = paths[round % paths.length] ?? LIST
      count++
      await read(path).catch((error: Error) =>
        failures.push(`${new Date().toISOString()} ${path}: ${error.message}`),
      )
      await new Promise((resolve) => setTimeout(resolve, REST))
    }
  }
  const all = Promise.all(Array.from({ length: howMany }, (_, number) => reader(number)))
  return {
    failures,
    count: () => count,
    slowest: () => Math.round(slowest),
    stop: async () => {
      stopped = true
      await all
    },
  }
}
