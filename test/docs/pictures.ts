import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { paste, stopsOf, WHOLE_TOUR } from '#kit/tour.js'
import { terminal } from './terminal.js'

// `npm run pictures`: starts quickstart and takes the pictures of the pages from it. CHROMIUM may name a browser.
const root = join(import.meta.dirname, '../..')
const folder = join(root, '.github/pictures')

const quickstart = spawn(process.execPath, ['-C', 'source', '--import', 'tsx', 'cli/bin.js', 'quickstart'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'ignore'],
})
let printed = ''
quickstart.stdout.on('data', (chunk) => {
  printed += String(chunk)
})
try {
  for (let tries = 0; !WHOLE_TOUR.test(printed); tries++) {
    if (tries === 600 || quickstart.exitCode !== null) throw new Error('quickstart does not come up')
    await wait(100)
  }
  mkdirSync(folder, { recursive: true })
  const stops = stopsOf(printed)
  writeFileSync(join(folder, 'tour.svg'), terminal(await shown(stops)))
  await photographed(/open (http\S+)\/ in a browser/.exec(printed)?.[1] ?? '')
} finally {
  quickstart.kill('SIGTERM')
}

/** The 401, why a token is refused, and the tool call. */
async function shown(stops: readonly string[][]) {
  const exchanges = []
  for (const [title = '', command = ''] of [stops[0], stops[4], stops[5]].map((stop) => stop ?? [])) {
    const { stdout } = await paste(command, tmpdir())
    exchanges.push({ title, command: shortened(command), output: shortened(stdout) })
  }
  return exchanges
}

/** Shortens tokens and paths of this machine, and leaves out repetitions. */
function shortened(text: string): string {
  return text
    .replace(/^\/sample:[\s\S]*/m, '/sample: …')
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJ…')
    .replaceAll(/npm --silent --prefix \S+ run sallyport --/g, 'sallyport')
    .replaceAll(/\S+(?=\/sallyport-quickstart-)/g, '/tmp')
    .replaceAll('\r', '')
}

async function photographed(catalogue: string): Promise<void> {
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  const page = await browser.newPage({ viewport: { width: 760, height: 520 }, colorScheme: 'light' })
  const list = `${catalogue}/registry/public`
  const [name, server, hint, signedIn] = ['registry', 'server', 'sign-in', 'signed-in'].map((each) =>
    join(folder, `${each}.png`),
  )
  await page.goto(list)
  await page.screenshot({ path: name ?? '' })
  await page.getByLabel('Search names, titles and descriptions').fill('github-mcp')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('link', { name: 'GitHub' }).click()
  await page.getByRole('button', { name: /^Copy/ }).first().waitFor()
  await page.screenshot({ path: server ?? '' })
  await page.goto(`${catalogue}/registry/default`)
  await page.screenshot({ path: hint ?? '' })
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.locator('[name=login]').fill('newcomer')
  await page.locator('[name=password]').fill('any')
  await page.locator('[type=submit]').click()
  await page.locator('[type=submit]').click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await page.screenshot({ path: signedIn ?? '' })
  await browser.close()
}
