import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { booted } from 'sallyport/testing'
import { runs } from '#kit/runs.js'
import { internalRoutes, payload, registryOf, server, sourcePlugin, sync } from '../registry/registry.js'
import { anyLargeDocument, hostileDocuments } from './hostile-documents.js'

const LIST = '/registry/default'
const PAGE = `${LIST}/servers/a.example%2Flarge`
// What a page has around its documents, how often it repeats what is in them, and the most that any page has.
const FRAME = 8 * 1024
const TIMES = 40
const LARGEST_PAGE = 1024 * 1024

/** A registry with pages, and a function that replaces its documents. */
async function pages(t: TestContext) {
  let documents: readonly object[] = []
  const source = sourcePlugin('main', async () => ({ kind: 'whole', payloads: [payload(documents)] }))
  const list = [...registryOf([source], ['main']), { use: 'pages/browse', with: { anonymous: true } }]
  const app = await booted(t, [...list, internalRoutes])
  const replace = async (next: readonly object[]): Promise<void> => {
    documents = next
    assert.equal((await app.inject(sync)).json().versions, next.length)
  }
  const get = async (url: string) => {
    const before = process.threadCpuUsage()
    const { statusCode, body } = await app.inject(url)
    const { user, system } = process.threadCpuUsage(before)
    assert.equal(statusCode, 200, url)
    return { body, bytes: Buffer.byteLength(body), seconds: (user + system) / 1e6 }
  }
  return { replace, get }
}

test('no document makes a page long to make, or much larger than it is itself', async (t) => {
  const { replace, get } = await pages(t)
  for (const [what, document] of Object.entries(hostileDocuments)) {
    await replace([document])
    const own = JSON.stringify(document).length
    for (const url of [LIST, `${LIST}?search=large`, PAGE, `${PAGE}/1.0.0`]) {
      const { bytes, seconds } = await get(url)
      assert.ok(bytes <= Math.min(FRAME + TIMES * own, LARGEST_PAGE), `${what}: ${url} has ${bytes} bytes`)
      // It takes milliseconds; one that took long took many seconds.
      assert.ok(seconds < 1, `${what}: ${url} took ${seconds} s`)
    }
  }
})

test('the size of a page is at most a multiple of the size of its document', async (t) => {
  const { replace, get } = await pages(t)
  const property = fc.asyncProperty(anyLargeDocument, async (document) => {
    await replace([document])
    const { bytes } = await get(PAGE)
    assert.ok(bytes <= Math.min(FRAME + TIMES * JSON.stringify(document).length, LARGEST_PAGE), String(bytes))
  })
  await fc.assert(property, { numRuns: runs(100) })
})

test('a page has the newest of very many versions, and says where all are', async (t) => {
  const { replace, get } = await pages(t)
  const versions = Array.from({ length: 3_000 }, (_, index) => `1.0.${index}`)
  await replace(versions.map((version) => server('a.example/large', version)))
  const { body, bytes } = await get(PAGE)
  assert.ok(bytes < 64 * 1024, String(bytes))
  assert.match(body, />1\.0\.2999<\/a> latest/)
  assert.match(body, /of 3000; the <a href="[^"]+\/versions">JSON/)
})

test('a page that leaves out a way to install says so, and has the others', async (t) => {
  const { replace, get } = await pages(t)
  const { 'thousands of variables in a header': large } = hostileDocuments
  await replace([large ?? assert.fail()])
  assert.match((await get(PAGE)).body, /the JSON has the whole document/)
  const small = { type: 'sse', url: 'https://small.example/{tenant}' }
  const { remotes } = large as { remotes: readonly object[] }
  await replace([{ ...large, remotes: [...remotes, small] }])
  const { body } = await get(PAGE)
  assert.match(body, /Remote: https:\/\/small\.example/)
  assert.match(body, /further ways[^<]+the JSON has them/)
})
