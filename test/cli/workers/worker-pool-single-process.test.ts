import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from 'sallyport/builtin'
import { createLog, planList } from 'sallyport/embed'
import { singleProcessOnly } from '#cli/workers/worker-pool.js'
import { closedPort } from '#kit/listening.js'
import { startedProgram } from '#kit/started-program.js'

test('a gateway of one process loads no cluster', async (t) => {
  const argv = ['proxy', 'name', '--target-uri', await closedPort(), '--workers', '1']
  const environment = { NODE_DEBUG: 'esm', SALLYPORT_WORKER_NUMBER: '7' }
  const gateway = startedProgram(t, argv, { environment, patience: 60 })

  await gateway.ready()
  assert.match(gateway.output.stderr, /dist\/parts\/program-/)
  assert.doesNotMatch(gateway.output.stderr, /node:cluster|dist\/parts\/worker-/)
})

test('a list with plugins for one process is refused for several workers', async () => {
  const refusedIn = async (...uses: (readonly [use: string, options?: object])[]) => {
    const list = uses.map(([use, options = {}]) => ({ use, with: options }))
    const log = createLog({ level: 'silent' })
    const problems = singleProcessOnly(await planList(list, { catalogue, folder: '.', log }), '--workers')
    return problems.map(({ place, message }) => `${place} ${/"(.+)" cannot run/.exec(message)?.[1]}`)
  }
  assert.deepEqual(await refusedIn(['state/memory']), ['--workers state/memory'])
  assert.deepEqual(await refusedIn(['listen/stdio', { target: 'http://127.0.0.1:9/mcp' }]), [
    '--workers listen/stdio',
  ])
  assert.deepEqual(await refusedIn(['store/sqlite']), [])
  const published = await refusedIn(['store/sqlite'], ['source/managed', { name: 'own' }])
  assert.deepEqual(published, ['--workers store/sqlite'])
})
