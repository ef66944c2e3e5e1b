import { test } from 'node:test'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { killLoop } from './kill-loop.js'

const cluster = new PostgresCluster()

test('after kill -9 at any moment, all that was answered is in the database once', {
  skip: noPostgres,
}, async (t) => {
  const { url } = await cluster.database()
  await killLoop(t, { use: 'store/postgres', with: { url, migrate: true, directory: null } }, 5)
})
