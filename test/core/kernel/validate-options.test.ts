import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { problemsOf } from './problems-of.js'

test('wrong options are all reported at once, with their place and a suggestion, and never their value', async (t) => {
  const list = [
    { use: 'guard/origin', with: { alowed: ['hunter2'] } },
    {
      use: 'listen/http',
      with: { address: 'hunter2', headersTimeout: 'hunter2' },
      origin: { address: ['listen', 'at'] },
    },
    { use: 'auth/anonymous', with: { secret: 'hunter2' } },
  ]
  const problems = await problemsOf(list, folder(t))

  assert.deepEqual(
    problems.map(({ place, suggestion }) => [place, suggestion]),
    [
      ['plugins[0].with.alowed (guard/origin)', 'allowed'],
      ['listen.at (listen/http)', undefined],
      ['plugins[1].with.headersTimeout (listen/http)', undefined],
      ['plugins[2].with.secret (auth/anonymous)', undefined],
    ],
  )
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('the message for a limit is understandable', async (t) => {
  const provider = { name: 'corp', issuerUrl: 'https://idp.example.com', audience: '' }
  const page = { name: 'far', url: 'https://registry.example.com', maxPageBytes: 0 }
  const list = [
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: provider },
    { use: 'headers/static', with: { headers: [] } },
    { use: 'source/http', with: page },
  ]

  assert.deepEqual(
    (await problemsOf(list, folder(t))).map(({ message }) => message),
    ['expected a text that is not empty', 'expected >=1 items', 'expected a number >0'],
  )
})
