import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ManagedSource, type PublicationEvent, type Publications } from 'sallyport'
import { serving } from 'sallyport/testing'
import { providing } from '#kit/plugin.js'
import { fileRegistry, server, wrapped } from '../registry/registry.js'
import { browsing, screenshot, noBrowser as skip } from './browser.js'
import { signInRegistry } from './sign-in-registry.js'

const PHONE = { viewport: { width: 360, height: 700 } }
const LONG = 'x'.repeat(91)
const LONGEST = 'x'.repeat(400)

const remote = {
  type: 'sse',
  url: `https://a.example/${LONGEST}`,
  headers: [{ name: LONGEST, description: LONGEST }],
}
const long = {
  ...{ title: LONG, description: LONG, remotes: [remote], websiteUrl: `https://a.example/${LONG}` },
  packages: [{ registryType: 'npm', identifier: LONGEST, transport: { type: 'stdio' } }],
}
const name = `${LONG}/${LONG}`
const documents = [
  wrapped(server(name, `1.0.0-${LONGEST.slice(0, 240)}`, long), {
    status: 'deprecated',
    statusMessage: LONGEST,
  }),
  wrapped(server('a.example/gone', '1.0.0', long), { status: 'deleted', statusMessage: LONGEST }),
]
const actor = { provider: LONG, subject: LONG }
const event: PublicationEvent = {
  ...{ name, version: LONG, at: '2026-01-01T00:00:00.000Z', action: 'status', actor },
  after: { status: 'deprecated', statusMessage: LONGEST },
}
const publications: Partial<Publications> = {
  history: async () => [event],
  publisher: async () => actor,
}

async function fitsPhone(t: TestContext, page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
  await screenshot(t, page, `phone-${new URL(url).pathname.replaceAll(/\W+/g, '-').slice(0, 40)}`)
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, url.slice(0, 100))
}

test('no text of a document or a publisher makes a page wider than a phone', { skip }, async (t) => {
  const managed = providing('managed', ManagedSource, {
    name: 'main',
    publications: () => publications as Publications,
  })
  const { addresses } = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    ...fileRegistry(t, documents).list,
    managed,
    { use: 'pages/browse', with: { anonymous: true } },
  ])
  const { page } = await browsing(t, PHONE, () => false)
  const list = `${addresses.main}/registry/default`
  for (const url of [
    `${addresses.main}/`,
    list,
    `${list}?search=${LONG}`,
    `${list}/servers/${encodeURIComponent(name)}`,
    `${list}/servers/a.example%2Fgone`,
    `${list}/servers/${LONG}`,
    `${addresses.main}/registry/${LONG}`,
    `${addresses.main}/${LONG}`,
  ])
    await fitsPhone(t, page, url)
})

test('no text makes the pages of signed-in people wider than a phone either', { skip }, async (t) => {
  const { origin } = await signInRegistry(t, { people: { name: LONG } })
  const { page } = await browsing(t, PHONE, () => false)
  for (const path of ['/', '/registry/default', `/registry/${LONG}`, '/sign-in/callback?error=x'])
    await fitsPhone(t, page, origin + path)
  await page.goto(`${origin}/registry/default`)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByPlaceholder('Enter any login').fill('alice')
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(LONG).waitFor()
  for (const path of ['/', '/registry/default', '/registry/default/servers/a.example%2Fone'])
    await fitsPhone(t, page, origin + path)
})
