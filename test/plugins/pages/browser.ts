import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type BrowserContextOptions, type ConsoleMessage, chromium, type Page } from 'playwright-core'
import { folder } from '#kit/folder.js'

const executable = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
)

export const noBrowser = executable === undefined && 'no Chromium here: install it, or name it in CHROMIUM'

/** A page in a browser, the faults of its scripts, and those messages of its console that are faults too. */
export async function browsing(
  t: TestContext,
  options: BrowserContextOptions,
  isFault: (message: ConsoleMessage) => boolean,
) {
  const browser = await chromium.launch({
    executablePath: executable ?? '',
    // People have it: a page that they go back to is as they left it.
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  t.after(() => browser.close())
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (isFault(message)) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  return { page, context, faults }
}

/** `SCREENSHOTS=folder` keeps the screenshots. */
export const screenshot = (t: TestContext, page: Page, name: string) =>
  page.screenshot({ path: join(process.env['SCREENSHOTS'] ?? folder(t), `${name}.png`), fullPage: true })
