import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '../kit/folder.js'
import { program } from '../kit/program.js'
import { wordsOf } from '../kit/words.js'
import { errorCodes } from './error-codes.js'
import { blocks, readmePath, renewed } from './readme.js'
import { codesInSource, instrumentsInSource, makings, sourceTexts } from './source.js'

test('the tables of the README are those of the code', async () => {
  assert.equal(readFileSync(readmePath, 'utf8'), await renewed(), 'run `npm run docs`')
})

test('every configuration in the README is accepted', async (t) => {
  const samples = blocks('yaml')
  assert.ok(samples.length >= 3)
  for (const { text } of samples) {
    const home = folder(t, { 'sample.yaml': text, 'servers.json': '[]' })
    const checking = program(t, ['check', '--config', join(home, 'sample.yaml')], {
      environment: { API_KEY: 'x' },
    })
    assert.equal(await checking.ended(), 0, `${text}\n${checking.output.stdout}${checking.output.stderr}`)
  }
})

test('every command in the README is understood', async (t) => {
  const commands = blocks('sh')
    .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line.startsWith('sallyport '))
  assert.ok(commands.length >= 4)
  const samples = blocks('yaml')
  const textOf = (kind: string): string => samples.find(({ words }) => words === kind)?.text ?? ''
  const home = folder(t, { 'sallyport.yaml': textOf(''), 'gateway.yaml': textOf('run'), token: 'x' })

  for (const command of commands) {
    const argv = wordsOf(command).slice(1)
    const serves = ['proxy', 'registry', 'run'].includes(argv[0] ?? '')
    const asking = program(t, [...argv, serves ? '--print-plugins' : '--help'], {
      cwd: home,
      environment: { API_KEY: 'x' },
    })
    assert.equal(await asking.ended(), 0, `${command}\n${asking.output.stderr}`)
  }
})

test('both commands of the first screen are scripts of the package', () => {
  const { scripts } = JSON.parse(readFileSync(join(readmePath, '../package.json'), 'utf8'))
  const first = blocks('sh')[0]?.text ?? ''
  assert.match(first, /^npm ci && npm start/m)
  assert.match(first, /^npm ci && npm test/m)
  assert.ok(scripts.start !== undefined && scripts.test !== undefined)
})

test('every picture of the README is there, and small, and says what is in it', () => {
  const pictures = [
    ...readFileSync(readmePath, 'utf8').matchAll(/<img src="(\.github\/[^"]+)"[^>]* alt="([^"]{20,})"/g),
  ]
  assert.equal(pictures.length, 3)
  for (const [, file = ''] of pictures) {
    const { size } = statSync(join(readmePath, '..', file))
    assert.ok(
      size > 1000 && size < 60_000,
      `${file} has ${size} bytes: make it again by \`npm run pictures\``,
    )
  }
})

test('every error code of the source has its advice, and no advice is for a code that is gone', () => {
  const codes = codesInSource()
  assert.ok(codes.length > 50)
  const known = Object.keys(errorCodes)
  assert.deepEqual(
    codes.filter((code) => !known.includes(code)),
    [],
    'tell in test/docs/error-codes.ts what to do about it',
  )
  // These are put together from a part that stands in the source.
  const partOf = (code: string): string => code.replace(/^TARGET_/, '').replace('*', '')
  const source = sourceTexts().join('\n')
  assert.deepEqual(
    known.filter((code) => !codes.includes(code) && !source.includes(partOf(code))),
    [],
  )
})

test('every instrument is read off the source', () => {
  assert.equal(instrumentsInSource().length, makings())
})
