import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateLocated } from '#plugins/registry/publish/validation/validate-located.js'
import { SCHEMA } from './documents.js'

const placesIn = (text: string) =>
  validateLocated(Buffer.from(text)).issues.map(({ line, column, path }) => `${line}:${column} ${path}`)

test('an issue is where its value begins, an unknown or repeated member where its name does, and what is missing where its object does', () => {
  const text = `{
  "$schema": "${SCHEMA}x",
  "name": "é", "description": "Ü", "version": "1.x",
  "odd": 1,
  "title": "a", "title": "b",
  "remotes": [
    { "type": "sse" }
  ]
}`
  assert.deepEqual(placesIn(text), [
    '2:14 schema',
    '3:11 name',
    '3:47 version',
    '4:3 odd',
    '5:17 title',
    '7:5 remotes[0].url',
  ])
})

test('the issue of a text that is not JSON is at the position where it stops being JSON', () => {
  assert.deepEqual(placesIn('{\n  "a": 1,\n}'), ['3:1 '])
  assert.deepEqual(placesIn(''), ['1:1 '])
})
