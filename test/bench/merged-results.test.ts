import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedResults } from './merged-results.js'
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

test('new rows replace the old ones at the same position, and the goals are computed again', () => {
  const kept = run('npm run bench', [
    figure('start', 'proxy', 20),
    figure('start', 'registry', 20),
    figure('stdio', 'bridge', 0.5),
  ])
  const later = run('npm run bench -- --only start', [
    figure('start', 'proxy', 8),
    figure('start', 'registry', 21),
  ])
  const { figures, command, renewed: commands, reach } = mergedResults(mergedResults(kept, later), later)
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

test('a run on another machine does not replace rows of the saved run', () => {
  const kept = run('npm run bench', [])
  const message =
    'the saved run is of Node v20.0.0 on 2 cores of one, and this is Node v26.0.0 on 2 cores of one'
  assert.throws(() => mergedResults(kept, { ...kept, node: 'v26.0.0' }), { message: `--write: ${message}` })
})
