import { randomBytes } from 'node:crypto'

/** A name that nothing has yet. */
export const randomName = (): string => `conformance-${randomBytes(6).toString('hex')}`

/** Names that mean something to a file system, a database or an object of JavaScript. */
export const UNUSUAL_NAMES = [
  '../../etc/passwd',
  '/etc/passwd',
  '..',
  '.',
  '',
  ' ',
  'a/b',
  'a\0b',
  '__proto__',
  'constructor',
  'ä',
]
