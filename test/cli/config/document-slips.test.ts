import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDocument } from '#cli/config/document.js'
import { folder } from '#kit/folder.js'

const PROVIDERS = 'auth:\n  oauth:\n    resourceUrl: https://r.example\n    providers:\n'

/** What was written, and the line where the parser says that something is wrong: that of the slip, or one beside it. */
const SLIPS: readonly (readonly [slip: string, text: string, lines: string])[] = [
  [
    'three spaces under `- name:`',
    `${PROVIDERS}      - name: a\n         issuerUrl: x\n         audience: y\n`,
    '5 6',
  ],
  [
    'one space under `- name:`',
    `${PROVIDERS}      - name: a\n       issuerUrl: x\n        audience: y\n`,
    '6',
  ],
  [
    'a later key of an item too far left',
    `${PROVIDERS}      - name: a\n        issuerUrl: x\n       audience: y\n`,
    '7',
  ],
  [
    'a later key of an item too far right',
    `${PROVIDERS}      - name: a\n        issuerUrl: x\n          audience: y\n`,
    '6',
  ],
  ['a key beside a flow list', 'allowedOrigins: [https://a.example] address: x:1\n', '1'],
  ['a key below a flow list, indented', 'allowedOrigins: [a, b]\n  address: x:1\n', '2'],
  ['a key below a value, indented', 'address: x:1\n  internalAddress: x:2\n', '1'],
  ['a tab', 'auth:\n\tmode: anonymous\n', '2'],
  ['tabs before a dash', 'sources:\n\t- name: a\n', '2'],
  ['a tab after spaces', 'auth:\n  oauth:\n  \trealm: x\n', '3'],
  ['two tabs, on two lines', 'auth:\n  oauth:\n\t\trealm: x\nsources:\n\t- name: a\n', '3 5'],
  ['back to a column that no line has', 'auth:\n    oauth:\n      realm: x\n  mode: oauth\n', '4'],
  ['a dash too far left', 'sources:\n  - name: a\n - name: b\n', '3'],
  ['a dash too far right', 'sources:\n  - name: a\n    - name: b\n', '3'],
  ['a dash beside keys', 'sources:\n  name: a\n  - name: b\n', '3'],
  ['a key beside dashes', 'sources:\n  - name: a\n  file: b\n', '3'],
  ['no space after a colon', 'auth:\n  mode:anonymous\n  publicPaths: []\n', '2'],
  ['no space after the last colon', 'auth:\n  publicPaths: []\n  mode:anonymous\n', '3'],
  ['no space after a dash', 'sources:\n  -name: a\n  -name: b\n', '3'],
  ['no colon after a key', 'address: x:1\nauth\n  mode: anonymous\n', '2'],
  ['a bracket that is not closed', 'allowedOrigins: [https://a.example\naddress: x:1\n', '2'],
  ['a brace that is not closed', 'sources:\n  - { name: a, file: { path: x }\naddress: x:1\n', '3'],
  ['a quote that is not closed', 'address: "x:1\nauth:\n  mode: oauth\n', '4'],
  ['a colon inside a value', 'auth:\n  oauth:\n    realm: mine: yours\n', '3'],
  ['no comma in braces', 'sources:\n  - { name: a file: { path: x } }\n', '2'],
  ['a value that begins with @', 'auth:\n  oauth:\n    realm: @mine\n', '3'],
  ['a value that begins with *', 'allowedOrigins: [*]\n', '1'],
  ['a first key that is indented', '  address: x:1\nauth:\n  mode: anonymous\n', '2'],
]

for (const [slip, text, lines] of SLIPS)
  test(`${slip} is reported with its line, and without text of the file`, async (t) => {
    const file = 'sallyport.yaml'
    const home = folder(t, { [file]: text })
    const { problems } = await readDocument(`${home}/${file}`, {})
    const found = problems.map(({ place }) => place.replace(`${home}/${file}:`, '').replace(/:.*/, ''))
    assert.equal(found.join(' '), lines, JSON.stringify(problems))
    // It may be a secret.
    for (const { message } of problems) assert.doesNotMatch(message, /mine|anonymous|example/)
  })
