import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { serving } from 'sallyport/testing'
import { browsing, screenshot, noBrowser as skip } from './browser.js'

const example = join(import.meta.dirname, '../../../examples/registry')

async function opened(t: TestContext, options: BrowserContextOptions = {}) {
  const settings = RegistrySettings.parse({
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    auth: { mode: 'anonymous' },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
    stateDirectory: null,
  })
  const { addresses } = await serving(t, registry(settings), { folder: example })
  const all = { viewport: { width: 1000, height: 800 }, ...options }
  const browser = await browsing(t, all, (message) => ['error', 'warning'].includes(message.type()))
  browser.page.on('requestfailed', (request) => browser.faults.push(request.url()))
  await browser.page.goto(`${addresses.main}/`)
  return browser
}

test('a user finds a server, and copies the configuration of a client', { skip }, async (t) => {
  const { page, context, faults } = await opened(t)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await screenshot(t, page, 'home')

  await page.getByRole('link', { name: 'default' }).click()
  await screenshot(t, page, 'list')
  await page.getByLabel('Search names, titles and descriptions').fill('github-mcp')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('link', { name: 'GitHub' }).click()
  assert.match(page.url(), /\/servers\/io\.github\.github%2Fgithub-mcp-server$/)
  await page.getByRole('button', { name: 'Copy for VS Code' }).first().click()
  await page.getByText('Copied').waitFor()
  const copied = JSON.parse(await page.evaluate('navigator.clipboard.readText()'))
  assert.equal(copied.servers['github-mcp-server'].url, 'https://api.githubcopilot.com/mcp/')
  assert.equal(copied.inputs[0].password, true)
  await screenshot(t, page, 'server')
  assert.deepEqual(faults, [])
})

test('the pages work with the keyboard alone', { skip }, async (t) => {
  const { page } = await opened(t)
  const focused = () =>
    page.evaluate('document.activeElement.textContent.trim() || document.activeElement.id')
  await page.keyboard.press('Tab')
  assert.equal(await focused(), 'Skip to content')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.equal(await focused(), 'default')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/registry\/default$/)
  await page.keyboard.press('/')
  assert.equal(await focused(), 'search')
  await page.keyboard.type('time')
  await page.keyboard.press('Enter')
  await page.waitForURL(/search=time/)
  assert.equal(await page.locator('.cards li').count(), 1)
})

test('dark mode is dark, a phone needs no horizontal scrolling, and pages work without scripts', {
  skip,
}, async (t) => {
  const { page } = await opened(t, {
    colorScheme: 'dark',
    viewport: { width: 360, height: 700 },
    javaScriptEnabled: false,
  })
  await page.getByRole('link', { name: 'default' }).click()
  await page.getByRole('link', { name: 'Tickets' }).click()
  await screenshot(t, page, 'dark-phone')
  const colour = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
  assert.ok(
    (colour.match(/\d+/g) ?? []).every((part) => Number(part) < 60),
    colour,
  )
  assert.equal(await page.locator('button.copy:visible').count(), 0)
  assert.ok(await page.locator('pre').first().isVisible())
  const { width } = (await page.locator('body').boundingBox()) ?? { width: 0 }
  assert.ok(width <= 360, String(width))
})

test('no script but ours runs', {
  skip,
}, async (t) => {
  const { page, faults } = await opened(t)
  await page.evaluate(
    `document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.evil = 1">')`,
  )
  await page.evaluate(
    `const s = document.createElement('script'); s.textContent = 'window.evil = 1'; document.body.append(s)`,
  )
  assert.equal(await page.evaluate('window.evil'), undefined)
  assert.ok(faults.some((text) => /Content Security Policy/.test(text)))
})
