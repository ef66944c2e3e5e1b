import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { planList } from 'sallyport/embed'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { recordedLog } from '#kit/booted.js'

const auth = {
  oauth: {
    resourceUrl: 'https://registry.example.com',
    providers: [{ name: 'corp', issuerUrl: 'https://idp.example.com', audience: 'registry' }],
  },
}
const managed = { name: 'published', managed: {} }
const own = { name: 'own', file: { path: './servers.json' } }
const rule = { when: { groups: 'platform' }, names: ['com.example/*'], may: ['publish', 'edit'] }

const usesOf = (settings: object): readonly unknown[] =>
  (registry(RegistrySettings.parse({ auth, ...settings })) as readonly Entry[]).map(({ use }) => use)

function complaints(settings: object): string[] {
  const { error } = RegistrySettings.safeParse({ auth, ...settings })
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

test('a registry with a managed source takes publications, and one without does not', () => {
  const uses = usesOf({ sources: [managed, own], publishers: [rule] })
  assert.ok(uses.indexOf('registry/publish') > uses.indexOf('registry/openapi'))
  assert.ok(uses.indexOf('registry/publish') < uses.indexOf('registry/api'))
  assert.ok(usesOf({ sources: [managed] }).includes('registry/publish'))
  assert.ok(!usesOf({ sources: [own] }).includes('registry/publish'))
  assert.ok(
    usesOf({ sources: [{ name: 'x', use: './x.js' }], publishers: [rule] }).includes('registry/publish'),
  )
})

test('rules by which no caller could publish, and rules that match every caller, are refused', () => {
  assert.match(
    complaints({ sources: [own], publishers: [rule] }).join(),
    /^publishers: needs a managed source/,
  )
  const registries = [{ name: 'default', sources: ['own'] }]
  const elsewhere = { sources: [managed, own], registries, publishers: [rule] }
  assert.match(complaints(elsewhere).join(), /^publishers: needs a registry that lists .*published/)
  const anonymous = { auth: { mode: 'anonymous' }, sources: [managed], publishers: [rule] }
  assert.match(complaints(anonymous).join(), /^publishers: excludes mode anonymous/)
  assert.deepEqual(complaints({ auth: { mode: 'anonymous' }, sources: [managed] }), [])
  assert.deepEqual(complaints({ sources: [managed], publishers: [] }), [])
})

test('a mistake in a rule is reported at its place in the file', async () => {
  const publishers = [rule, { ...rule, names: ['*.example/x'], may: [], whose: 1 }, { ...rule, when: {} }]
  const settings = RegistrySettings.parse({ auth, sources: [managed], publishers })
  const context = {
    catalogue,
    folder: import.meta.dirname,
    log: recordedLog().log,
    locate: (path: readonly (string | number)[]) => path.join('.'),
  }
  const error = await planList(registry(settings), context).then(
    () => undefined,
    (reason) => reason,
  )
  const places = error.problems.map(({ place }: { place: string }) => place.replace(/ .*/, ''))
  assert.deepEqual(places.toSorted(), [
    'publishers.1.may',
    'publishers.1.names.0',
    'publishers.1.whose',
    'publishers.2.when',
  ])
})
