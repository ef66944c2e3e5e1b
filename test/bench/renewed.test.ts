import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renewed } from './renewed.js'
import type { Figure, Results } from './results.js'

const run = (command: string, figures: readonly Figure[]): Results => ({
  ...{
    command,
    node: 'v20.0.0',
    cpu: 'one',
    cores: 2,
    pinned: true,
    busy: 0,
    missing: [],
    calls: [],
    reach: [],
  },
  figures,
})

const figure = (row: string, name: string, value: number): Figure => ({
  ...{ row, name, value },
  title: row,
  unit: 'times',
})

test('rows that are measured anew stand where they stood, and what they reach is judged anew', () => {
  const kept = run('npm run bench', [
    figure('start', 'proxy', 20),
    figure('start', 'registry', 20),
    figure('stdio', 'bridge', 0.5),
  ])
  const later = run('npm run bench -- --only start', [
    figure('start', 'proxy', 8),
    figure('start', 'registry', 21),
  ])
  const { figures, command, renewed: commands, reach } = renewed(renewed(kept, later), later)
  assert.deepEqual(
    figures.map(({ row, name, value }) => [row, name, value]),
    [
      ['start', 'proxy', 8],
      ['start', 'registry', 21],
      ['stdio', 'bridge', 0.5],
    ],
  )
  assert.equal(command, 'npm run bench')
  assert.deepEqual(commands, ['npm run bench -- --only start'])
  const held = reach.filter(({ what }) => what.startsWith('start of')).map(({ held: is }) => is)
  assert.deepEqual(held, [true, false])
})

test('rows of another machine do not stand beside those of the run that is kept', () => {
  const kept = run('npm run bench', [])
  const message =
    'the run that is kept is of Node v20.0.0 on 2 cores of one, and this is Node v26.0.0 on 2 cores of one'
  assert.throws(() => renewed(kept, { ...kept, node: 'v26.0.0' }), { message: `--write: ${message}` })
})
