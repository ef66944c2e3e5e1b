import assert from 'node:assert/strict'
import { test } from 'node:test'
import { observationOf, timed } from 'sallyport/toolkit'
import { booted } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'
import { asAnn, known, observing } from './observing.js'

test('a request without observers has no record, and a timed step runs all the same', async (t) => {
  for (const kinds of [[], ['trace']] as const) {
    const asking = plugin('asking', ({ http }) => {
      http.get('/asked', (request) => {
        const answer = timed(request, 'exchange', () => 'ran')
        return { answer, isObserved: observationOf(request) !== undefined }
      })
    })
    const app = await booted(t, [observing(...kinds).entry, known(), asking])
    const ask = () => app.inject({ url: '/asked', headers: asAnn })
    const answers = await Promise.all([ask(), ask()])
    const expected = { answer: 'ran', isObserved: kinds.length > 0 }
    assert.deepEqual(
      answers.map((answer) => answer.json()),
      [expected, expected],
    )
  }
})
