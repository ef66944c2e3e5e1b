import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from 'sallyport'
import { type Capability, definePlugin, many, one, type Plugin } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog } from 'sallyport/embed'
import { builtInCapabilities } from '#core/kernel/observers.js'
import { providing } from '#kit/plugin.js'

const context = { catalogue, folder: import.meta.dirname, log: createLog({ level: 'silent' }) }

const failing = (...provides: readonly Capability[]): Plugin =>
  definePlugin({
    name: 'failing',
    api: 1,
    provides,
    setup() {
      throw new Error('no disk')
    },
  })

const leftOut = (...provides: readonly Capability[]) => ({ use: failing(...provides), required: false })

const started = async (...list: Parameters<typeof boot>[0]): Promise<void> =>
  (await boot(list, context)).stop()

const observers = [contract.AccessSink, contract.AuditSink, contract.Telemetry, contract.Tracer]

test('the kernel knows every capability of the contract', () => {
  const isCapability = (value: unknown): value is Capability =>
    typeof value === 'object' && value !== null && 'token' in value && 'kind' in value
  const tokens = (list: readonly Capability[]) =>
    [...new Set(list.map(({ token }) => String(token)))].toSorted()
  assert.deepEqual(tokens(builtInCapabilities), tokens(Object.values<unknown>(contract).filter(isCapability)))
})

test("a third party's observer may be left out, as the built-in ones may", async () => {
  await started(leftOut(many('acme/trace', { observes: true })))
  await started(leftOut(many('acme/trace', { observes: true }), ...observers))
})

test('a plugin that provides anything but observers must be required', async () => {
  const observer = many('acme/trace', { observes: true })
  for (const provides of [[], [many('acme/rule')], [one('acme/rule')], [observer, many('acme/rule')]]) {
    await assert.rejects(started(leftOut(...provides)), /"failing" must not have `required: false`/)
  }
})

test('a plugin cannot declare a built-in capability as an observer', async () => {
  const deciding = builtInCapabilities.filter(
    ({ token }) => !observers.some((observer) => observer.token === token),
  )
  assert.ok(deciding.length > 10)
  for (const { name } of deciding) {
    await assert.rejects(
      started(leftOut(many(name, { observes: true }))),
      /"failing" must not have `required: false`/,
      name,
    )
  }
})

test('an observer on which another entry depends must be required, in any scope', async () => {
  const observer = many('acme/trace', { observes: true })
  const needing = definePlugin({ name: 'needing', api: 1, requires: [observer], setup() {} })
  const deciding = definePlugin({ name: 'deciding', api: 1, provides: [many('acme/trace')], setup() {} })
  for (const use of [needing, deciding]) {
    const refused = new RegExp(`"failing".*must not have \`required: false\`: "${use.name}" depends on`)
    await assert.rejects(started(leftOut(observer), { use }), refused)
    await assert.rejects(started(leftOut(observer), { scope: '/a', plugins: [{ use }] }), refused)
    await assert.rejects(started({ scope: '/a', plugins: [leftOut(observer), { use }] }), refused)
  }
  const { use: beside } = providing('beside', observer, {})
  await started(leftOut(observer), { use: beside }, { use: 'auth/anonymous' })
  await started({ use: { ...failing(observer), requires: [observer] }, required: false })
})
