import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDocument } from '#cli/config/document.js'
import { folder } from '#kit/folder.js'

const PROVIDERS = 'auth:\n  oauth:\n    resourceUrl: https://r.example\n    providers:\n'

/** What was written, where a person looks to correct it, and what is said there. */
const SLIPS: readonly (readonly [slip: string, text: string, place: string, message: RegExp])[] = [
  [
    'three spaces under `- name:`',
    `${PROVIDERS}      - name: a\n         issuerUrl: x\n         audience: y\n`,
    '6:10',
    /9 spaces .*expected 8/,
  ],
  [
    'one space under `- name:`',
    `${PROVIDERS}      - name: a\n       issuerUrl: x\n        audience: y\n`,
    '6:8',
    /expected 8, beside the key after the dash/,
  ],
  [
    'a later key of an item too far left',
    `${PROVIDERS}      - name: a\n        issuerUrl: x\n       audience: y\n`,
    '7:8',
    /expected 8/,
  ],
  [
    'a later key of an item too far right',
    `${PROVIDERS}      - name: a\n        issuerUrl: x\n          audience: y\n`,
    '7:11',
    /expected 8/,
  ],
  [
    'a key beside a flow list',
    'allowedOrigins: [https://a.example] address: x:1\n',
    '1:36',
    /line of its own/,
  ],
  ['a key below a flow list, indented', 'allowedOrigins: [a, b]\n  address: x:1\n', '2:3', /expected 0/],
  ['a key below a value, indented', 'address: x:1\n  internalAddress: x:2\n', '2:3', /expected 0/],
  ['a tab', 'auth:\n\tmode: anonymous\n', '2:1', /tab/],
  ['tabs before a dash', 'sources:\n\t- name: a\n', '2:1', /tab/],
  ['a tab after spaces', 'auth:\n  oauth:\n  \trealm: x\n', '3:3', /tab/],
  ['two tabs, on two lines', 'auth:\n  oauth:\n\t\trealm: x\nsources:\n\t- name: a\n', '3:1 5:1', /tab/],
  [
    'back to a column that no line has',
    'auth:\n    oauth:\n      realm: x\n  mode: oauth\n',
    '4:3',
    /expected 6 or 4 or 0/,
  ],
  ['a dash too far left', 'sources:\n  - name: a\n - name: b\n', '3:2', /expected 2/],
  ['a dash too far right', 'sources:\n  - name: a\n    - name: b\n', '3:5', /expected 2/],
  ['a dash beside keys', 'sources:\n  name: a\n  - name: b\n', '3:3', /a list item beside keys/],
  ['a key beside dashes', 'sources:\n  - name: a\n  file: b\n', '3:3', /a key beside list items/],
  ['no space after a colon', 'auth:\n  mode:anonymous\n  publicPaths: []\n', '2:8', /space after the colon/],
  [
    'no space after the last colon',
    'auth:\n  publicPaths: []\n  mode:anonymous\n',
    '3:8',
    /space after the colon/,
  ],
  ['no space after a dash', 'sources:\n  -name: a\n  -name: b\n', '3:4', /space after the dash/],
  ['no colon after a key', 'address: x:1\nauth\n  mode: anonymous\n', '2:5', /expected a colon/],
  [
    'a bracket that is not closed',
    'allowedOrigins: [https://a.example\naddress: x:1\n',
    '1:17',
    /bracket is not closed/,
  ],
  [
    'a brace that is not closed',
    'sources:\n  - { name: a, file: { path: x }\naddress: x:1\n',
    '2:5',
    /bracket is not closed/,
  ],
  ['a quote that is not closed', 'address: "x:1\nauth:\n  mode: oauth\n', '1:10', /quote is not closed/],
  ['a colon inside a value', 'auth:\n  oauth:\n    realm: mine: yours\n', '3:16', /quotes around the value/],
  ['no comma in braces', 'sources:\n  - { name: a file: { path: x } }\n', '2:14', /comma/],
  ['a value that begins with @', 'auth:\n  oauth:\n    realm: @mine\n', '3:12', /quotes/],
  ['a value that begins with *', 'allowedOrigins: [*]\n', '1:18', /quotes/],
  [
    'a first key that is indented',
    '  address: x:1\nauth:\n  mode: anonymous\n',
    '1:1',
    /no spaces before the first key/,
  ],
  ['spaces that are no plain ones', 'auth:\n\u00a0\u00a0mode: anonymous\n', '2:1', /plain spaces/],
]

for (const [slip, text, place, message] of SLIPS)
  test(`${slip} is explained where a person would look`, async (t) => {
    const file = 'sallyport.yaml'
    const home = folder(t, { [file]: text })
    const { problems } = await readDocument(`${home}/${file}`, {})
    const places = problems.map((problem) => problem.place.replace(`${home}/${file}:`, ''))
    assert.equal(places.join(' '), place, JSON.stringify(problems))
    for (const problem of problems) {
      assert.match(problem.message, message)
      // It may be a secret.
      assert.doesNotMatch(problem.message, /mine|anonymous|example/)
    }
  })
