import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closedPort } from '#kit/listening.js'
import { program } from '#kit/program.js'

test('one process is what it always was: no cluster is loaded for it', async (t) => {
  const argv = ['proxy', 'name', '--target-uri', await closedPort(), '--workers', '1']
  const environment = { NODE_DEBUG: 'esm', SALLYPORT_WORKER_NUMBER: '7' }
  const gateway = program(t, argv, { environment, patience: 60 })

  await gateway.ready()
  assert.match(gateway.output.stderr, /dist\/parts\/program-/)
  assert.doesNotMatch(gateway.output.stderr, /node:cluster|dist\/parts\/worker-/)
})
