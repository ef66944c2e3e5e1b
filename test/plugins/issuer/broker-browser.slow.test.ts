import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { opened } from '#kit/listening.js'
import { browsing, screenshot, noBrowser as skip } from '../pages/browser.js'
import { brokered, HandClient } from './brokered.js'

/** A client that waits for its code on this computer, and a browser at its first page. */
async function clientInBrowser(t: TestContext, options: BrowserContextOptions, name: string) {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>()
  const { port } = await opened(
    t,
    createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://127.0.0.1')
      if (searchParams.has('state')) resolve(searchParams)
      response.end('You may close this page.')
    }),
  )
  const { origin } = await brokered(t)
  const client = new HandClient(origin, `http://127.0.0.1:${port}/callback`)
  await client.register({ redirect_uris: [client.redirectUri], client_name: name })
  const browser = await browsing(
    t,
    options,
    (message) => message.type() === 'error' && !/ERR_FAILED|favicon/.test(message.text()),
  )
  // The pages of the issuer name a font on the internet.
  await browser.context.route(/googleapis/, (route) => route.abort())
  await browser.page.goto(client.authorizeUrl())
  await browser.page.getByPlaceholder('Enter any login').fill('alice')
  await browser.page.getByPlaceholder('and password').fill('any')
  await browser.page.getByRole('button', { name: 'Sign-in' }).click()
  await browser.page.getByRole('button', { name: 'Continue' }).click()
  await browser.page.getByRole('heading', { name: /^Allow a program on this computer/ }).waitFor()
  return { ...browser, client, answer: promise, origin }
}

test('in a browser a person signs in at the provider and allows a client, which gets a code', {
  skip,
}, async (t) => {
  const { page, context, faults, client, answer, origin } = await clientInBrowser(
    t,
    { viewport: { width: 1000, height: 700 } },
    'A client',
  )
  await screenshot(t, page, 'broker-consent')
  const cookies = (await context.cookies(origin)).filter(({ name }) => name.includes('sallyport'))
  assert.ok(cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Lax'))
  assert.ok(cookies.reduce((sum, { name, value }) => sum + name.length + value.length, 0) < 4096)
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('You may close this page.').waitFor()
  const { status } = await client.redeem((await answer).get('code') ?? '')
  assert.equal(status, 200)
  assert.deepEqual(faults, [])
})

test('on a phone, in the dark, with the keyboard alone and without scripts a person denies a client', {
  skip,
}, async (t) => {
  const name = 'a-client-with-a-very-long-name-and-no-space-in-it-that-wants-to-be-somebody-else'.repeat(2)
  const { page, answer } = await clientInBrowser(
    t,
    { colorScheme: 'dark', viewport: { width: 360, height: 700 }, javaScriptEnabled: false },
    name,
  )
  await screenshot(t, page, 'broker-consent-phone')
  const { width } = (await page.locator('html').boundingBox()) ?? { width: 0 }
  assert.ok(width <= 360, String(width))
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab')
    if ((await page.locator(':focus').textContent()) === 'Deny') break
  }
  await page.keyboard.press('Enter')
  await page.getByText('You may close this page.').waitFor()
  assert.equal((await answer).get('error'), 'access_denied')
})
