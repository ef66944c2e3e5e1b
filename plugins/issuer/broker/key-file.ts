import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError, type Gateway } from 'sallyport'
import { fileFailure, warnIfWorldReadable } from 'sallyport/toolkit'

const MIN_BYTES = 32

/** The secrets of the key files. One path that names no file yet gets a new key; of a list every file must exist. */
export function readKeyFiles(gateway: Gateway, written: string | readonly string[]): readonly Buffer[] {
  const isList = typeof written !== 'string'
  const paths = isList ? written : [written]
  return paths.map((each, index) => {
    const path = gateway.path(each)
    const option = isList ? `keyFile[${index}]` : 'keyFile'
    try {
      if (!isList) createOnce(path)
      warnIfWorldReadable(path, gateway.log)
      return secretIn(readFileSync(path, 'utf8'), path, option)
    } catch (error) {
      if (error instanceof ConfigError) throw error
      const message = `cannot read ${path}: ${fileFailure(error)}`
      throw new ConfigError([{ place: option, message }], { cause: error })
    }
  })
}

/** Of two processes that start at once, one makes the key, and the other reads it. */
function createOnce(path: string): void {
  const made = `${path}.${randomBytes(6).toString('hex')}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    readFileSync(path)
    return
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
  }
  writeFileSync(made, `${randomBytes(MIN_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(made, path)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  } finally {
    unlinkSync(made)
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

function secretIn(text: string, path: string, option: string): Buffer {
  const written = text.trim()
  const bytes = /^[\w+/-]+=*$/.test(written) ? Buffer.from(written, 'base64') : Buffer.alloc(0)
  if (bytes.length >= MIN_BYTES) return bytes
  const message = `${path} holds no key: expected at least ${MIN_BYTES} bytes in base64, as \`openssl rand -base64 32\` prints them`
  throw new ConfigError([{ place: option, message }])
}
