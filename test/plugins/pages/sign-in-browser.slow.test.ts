import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { authority } from '#kit/tls.js'
import { browsing, screenshot, noBrowser as skip } from './browser.js'
import { signInRegistry } from './sign-in-registry.js'

const signIn = async (page: Page): Promise<void> => {
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByPlaceholder('Enter any login').fill('alice')
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

async function opened(t: TestContext, url: string, options: BrowserContextOptions) {
  const browser = await browsing(
    t,
    { ignoreHTTPSErrors: true, ...options },
    // A 401 is one of the answers here, and the font of the issuer is not.
    (message) => message.type() === 'error' && !/status of 401|ERR_FAILED/.test(message.text()),
  )
  // The pages of the issuer name a font on the internet.
  await browser.context.route(/googleapis/, (route) => route.abort())
  await browser.page.goto(url)
  return browser
}

test('in a browser over https: sign in, back at the page, search, sign out', { skip }, async (t) => {
  const tls = authority(t).issue(['localhost'])
  const { origin } = await signInRegistry(t, { tls, people: { name: 'Alice Example' } })
  const asked = `${origin}/registry/default?search=one`
  const { page, context, faults } = await opened(t, asked, { viewport: { width: 1000, height: 700 } })
  await screenshot(t, page, 'sign-in-hint')
  await signIn(page)

  await page.waitForURL(asked)
  await page.getByText('Alice Example').waitFor()
  const cookies = (await context.cookies(origin)).filter(({ name }) => name.includes('sallyport'))
  assert.deepEqual(
    cookies.map(({ name, httpOnly, secure, sameSite, path }) => [
      name.slice(0, -11),
      httpOnly,
      secure,
      sameSite,
      path,
    ]),
    [['__Host-sallyport-session', true, true, 'Lax', '/']],
  )
  assert.equal(await page.evaluate('document.cookie'), '')
  await page.getByLabel('Search names, titles and descriptions').fill('two')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.waitForURL(/search=two/)
  assert.equal(await page.locator('.cards li').count(), 1)
  await screenshot(t, page, 'signed-in')

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  assert.equal((await page.goto(asked))?.status(), 401)
  assert.deepEqual(faults, [])
})

test('a person who goes back in the browser after signing out sees nothing of the session', {
  skip,
}, async (t) => {
  const { origin } = await signInRegistry(t)
  const { page, context } = await opened(t, `${origin}/registry/default`, {})
  await signIn(page)
  await page.waitForURL(`${origin}/registry/default`)
  // Where requests are intercepted, Chromium has no cache for going back.
  await context.unrouteAll()
  await page.goto(`${origin}/registry/default?search=one`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()

  await page.evaluate('history.back()')
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor({ timeout: 10_000 })
})

test('on a phone, in the dark, with the keyboard alone and without scripts', { skip }, async (t) => {
  const { origin } = await signInRegistry(t, {
    people: { name: 'somebody-with-a-very-long-name-and-no-space-in-it@subsidiary.example.com' },
  })
  const { page } = await opened(t, `${origin}/registry/default`, {
    colorScheme: 'dark',
    viewport: { width: 360, height: 700 },
    javaScriptEnabled: false,
  })
  const focused = () => page.locator(':focus').textContent()
  const tabTo = async (name: string): Promise<void> => {
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press('Tab')
      if ((await focused()) === name) return
    }
    assert.fail(`${name} cannot be reached`)
  }
  const fits = async (): Promise<void> => {
    const { width } = (await page.locator('html').boundingBox()) ?? { width: 0 }
    assert.ok(width <= 360, String(width))
    assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 360)
  }
  await fits()
  await tabTo('Sign in')
  await page.keyboard.press('Enter')
  await page.getByPlaceholder('Enter any login').focus()
  await page.keyboard.type('alice')
  await page.keyboard.press('Tab')
  await page.keyboard.type('any')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Continue' }).press('Enter')
  await page.waitForURL(`${origin}/registry/default`)
  await fits()
  await screenshot(t, page, 'signed-in-phone')
  await tabTo('Sign out')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await fits()
  const colour = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
  assert.ok((colour.match(/\d+/g) ?? []).every((part) => Number(part) < 60))
})
