import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { planOf } from '#cli/config/all-problems.js'
import { readList } from '#cli/config/read-list.js'
import { cli } from '#kit/program.js'
import { startedProgram } from '#kit/started-program.js'
import { wordsOf } from '#kit/words.js'
import { parsed } from '../cli/parsed.js'
import { errorCodes, statusesOf } from './error-codes.js'
import { commandsIn, homeOf } from './homes.js'
import { blocks, pages, renewed, root, tablesIn, textOf } from './pages.js'
import { codesInSource, instrumentsInSource, makings, sourceTexts } from './source.js'
import { allKinds } from './tables/options.js'
import { tables } from './tables/tables.js'

const environment = { API_KEY: 'x', DATABASE_URL: 'postgres://127.0.0.1/sallyport' }

/** Works on the items, two at a time. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item)
  }
  await Promise.all([worker(), worker()])
}

test('the tables in the pages are up to date', async () => {
  for (const page of pages()) assert.equal(textOf(page), await renewed(page), `${page}: run \`npm run docs\``)
})

test('a page has every table, and every kind of plugin has a page with its plugins', () => {
  const found = pages().flatMap((page) => tablesIn(page).map((name) => `${name} ${page}`))
  for (const name of Object.keys(tables)) {
    assert.ok(
      found.some((each) => each.startsWith(`${name} `)),
      `no page has "<!-- ${name}: made by npm run docs -->"`,
    )
  }
  for (const kind of allKinds()) assert.ok(found.includes(`plugins plugins/${kind}/README.md`), kind)
})

test('the README has at most 180 lines', () => {
  const lines = textOf('README.md').trimEnd().split('\n')
  assert.ok(lines.length <= 180, `it has ${lines.length} lines: move details to the page of their folder`)
})

test('every configuration in a page is accepted', async (t) => {
  const samples = pages().flatMap((page) => blocks(page, 'yaml').map(({ text }) => ({ page, text })))
  assert.ok(samples.length >= 10)
  Object.assign(process.env, environment)
  for (const { page, text } of samples) {
    const file = join(homeOf(t, page), 'sample.yaml')
    writeFileSync(file, text)
    const checked = await planOf(await readList(file, process.env))
    assert.deepEqual('problems' in checked ? checked.problems : [], [], `${page}\n${text}`)
  }
})

test('every command in a page is understood', async (t) => {
  const commands = pages().flatMap((page) =>
    commandsIn(page)
      .filter((line) => line.startsWith('sallyport '))
      .map((line) => ({ page, argv: wordsOf(line.split(/ [<>|] /)[0] ?? '').slice(1) })),
  )
  assert.ok(commands.length >= 20)
  const serving = commands.filter(({ argv }) => ['proxy', 'registry', 'run'].includes(argv[0] ?? ''))

  for (const { page, argv } of commands.filter((command) => !serving.includes(command))) {
    const { invocation, problems } = parsed(argv)
    assert.deepEqual(problems, [], `${page}: sallyport ${argv.join(' ')}`)
    assert.ok(invocation !== undefined || argv.some((word) => word.startsWith('--')), page)
  }
  const homes = new Map([...new Set(serving.map(({ page }) => page))].map((page) => [page, homeOf(t, page)]))
  for (const { page, argv } of serving) {
    const { code, stderr } = await cli(t, [...argv, '--print-plugins'], {
      cwd: homes.get(page) ?? root,
      environment,
    })
    assert.equal(code, 0, `${page}: sallyport ${argv.join(' ')}\n${stderr}`)
  }
})

test('every npm script in a page is in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const known = ['ci', 'install', 'link', 'pack', ...Object.keys(scripts)]
  for (const page of pages()) {
    // What comes after `cd` is run elsewhere.
    const run = blocks(page, 'sh').map(({ text }) => text.replace(/^cd [\s\S]*/m, ''))
    const names = [...run.join('\n').matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].map(([, name = '']) => name)
    assert.deepEqual(
      names.filter((name) => !known.includes(name)),
      [],
      page,
    )
  }
})

test('the package contains the pages of the program and of the examples', () => {
  const argv = ['pack', '--dry-run', '--json', '--ignore-scripts', '--silent']
  const [{ files }] = JSON.parse(execFileSync('npm', argv, { cwd: root, encoding: 'utf8' }))
  const packed = files.map(({ path }: { readonly path: string }) => path)
  const own = pages().filter((page) => /^(?:README\.md|cli\/|plugins\/|examples\/)/.test(page))
  assert.deepEqual(
    own.filter((page) => !packed.includes(page)),
    [],
  )
})

test('every JSON in a page is JSON', () => {
  for (const page of pages()) {
    for (const { text } of blocks(page, 'json'))
      assert.doesNotThrow(() => JSON.parse(text), `${page}\n${text}`)
  }
})

test('every plugin in a page passes the contract tests', async (t) => {
  const written = pages().flatMap((page) => blocks(page, 'ts').map(({ text }) => ({ page, text })))
  const whole = written.filter(({ text }) => text.includes('export default definePlugin('))
  assert.ok(whole.length >= 1)
  await forEach(whole, async ({ page, text }) => {
    const file = join(homeOf(t, page), 'plugin.mts')
    writeFileSync(file, text)
    const verifying = startedProgram(t, ['plugin', 'verify', file])
    const { output } = verifying
    assert.equal(await verifying.ended(), 0, `${page}\n${output.stdout}${output.stderr}`)
  })
})

test('both commands of the first screen are in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const first = blocks('README.md', 'sh')[0]?.text ?? ''
  assert.match(first, /^npm ci && npm start/m)
  assert.match(first, /^npm ci && npm test/m)
  assert.ok(scripts.start !== undefined && scripts.test !== undefined)
})

test('a page shows every picture, which is small and has a description', () => {
  const shown = pages().flatMap((page) =>
    [...textOf(page).matchAll(/<img src="([^"]+)"[^>]* alt="([^"]{20,})"/g)].map(([, file = '']) =>
      join(root, dirname(page), file),
    ),
  )
  const pictures = ['registry.png', 'server.png', 'tour.svg'].map((name) =>
    join(root, '.github/pictures', name),
  )
  for (const picture of pictures) assert.ok(shown.includes(picture), picture)
  for (const file of shown) {
    const { size } = statSync(file)
    assert.ok(
      size > 1000 && size < 60_000,
      `${file} has ${size} bytes: make it again by \`npm run pictures\``,
    )
  }
})

test('every error code of the source has advice, and no other code has', () => {
  const codes = codesInSource()
  assert.ok(codes.length > 50)
  const known = Object.keys(errorCodes)
  assert.deepEqual(
    codes.filter((code) => !known.includes(code)),
    [],
    'say in test/docs/error-codes.ts what to do about it',
  )
  // The source composes these codes from a part.
  const partOf = (code: string): string => code.replace(/^TARGET_/, '').replace('*', '')
  const source = sourceTexts().join('\n')
  assert.deepEqual(
    known.filter((code) => !codes.includes(code) && !source.includes(partOf(code))),
    [],
  )
})

test('every code in a response has the statuses of these responses', () => {
  const inResponses = Object.entries(errorCodes).filter(([, { where }]) => where === 'response')
  const isOne = (code: string): boolean =>
    statusesOf(code).length > 0 && statusesOf(code).every((status) => status >= 400)
  assert.deepEqual(
    inResponses.filter(([code]) => !isOne(code)).map(([code]) => code),
    [],
    'name the statuses in test/docs/error-codes.ts',
  )
})

test('the table of metrics has every instrument of the source', () => {
  assert.equal(instrumentsInSource().length, makings())
})
