import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fetched } from 'sallyport'
import { contextFor, serving } from '../../kit/booted.js'
import { acting, BASE, idsIn, payload, registryOf, server } from './registry.js'

const one = server('a.example/one', '1.0.0')
const two = server('a.example/two', '1.0.0')
const never = (): Promise<Fetched> => new Promise(() => {})
const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }

/** A registry whose source gives each of the answers once, whichever list asks. */
function scripted(...answers: (() => Fetched | Promise<Fetched>)[]) {
  const seen: (string | undefined)[] = []
  const source = acting('main', async ({ bookmark }) => {
    seen.push(bookmark)
    return (answers.shift() ?? never)()
  })
  return { list: [listen, ...registryOf([{ use: source }], ['main'])], seen }
}

const whole = (bookmark: string, ...documents: unknown[]): Fetched => ({
  kind: 'whole',
  payloads: [payload(documents)],
  bookmark: () => bookmark,
})

test('a list that takes the place of another serves on what was read, while its source keeps it waiting', async (t) => {
  const { list, seen } = scripted(() => whole('first', one))
  const running = await serving(t, list)

  await running.swap(list, contextFor({}))

  const answer = await fetch(`${running.addresses.main}${BASE}`)
  assert.equal(answer.status, 200)
  assert.deepEqual(idsIn((await answer.json()) as never), ['a.example/one@1.0.0'])
  assert.deepEqual(seen, [undefined, 'first'])
})

test('what a reload finds at once is there when it is done', async (t) => {
  const { list } = scripted(
    () => whole('first', one),
    () => whole('second', one, two),
  )
  const running = await serving(t, list)

  await running.swap(list, contextFor({}))

  const answer = await fetch(`${running.addresses.main}${BASE}`)
  assert.deepEqual(idsIn((await answer.json()) as never), ['a.example/one@1.0.0', 'a.example/two@1.0.0'])
})

test('where documents were refused the next list reads everything again', async (t) => {
  const broken = { name: 'a.example/broken' }
  const { list, seen } = scripted(() => whole('first', one, broken))
  const running = await serving(t, list)

  await running.swap(list, contextFor({}))

  assert.deepEqual(seen, [undefined, undefined])
})
