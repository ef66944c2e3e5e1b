import { inspect } from 'node:util'
import { z } from 'zod'
import { GatewayError } from './errors.js'
import { WatchedFile, type WatchedFileOptions } from './files/watched-file.js'
import type { Scrubber } from './log/scrubber.js'

/** A secret that prints as `***` wherever it lands; only `reveal` tells it. */
export class Secret {
  readonly #read: () => string
  readonly #release: () => void

  constructor(read: string | (() => string), release: () => void = () => {}) {
    this.#read = typeof read === 'string' ? () => read : read
    this.#release = release
  }

  /** The value as it is now: one that comes from a file is read again when the file changes. */
  reveal(): string {
    return this.#read()
  }

  close(): void {
    this.#release()
  }

  toString(): string {
    return '***'
  }

  toJSON(): string {
    return '***'
  }

  [inspect.custom](): string {
    return '***'
  }
}

/** Where a secret may stand; the first of these that is set is taken. */
export interface SecretPlaces {
  readonly value?: string | undefined
  readonly file?: string | undefined
  /** Names of environment variables, in order. An empty variable counts as unset. */
  readonly env?: readonly string[] | undefined
}

export interface SecretContext {
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly log?: WatchedFileOptions['log']
  /** Throws when a value is of no use, and never quotes it. Of a file that changes, the last good one is kept. */
  readonly check?: ((value: string, place: string) => void) | undefined
  /** Learns the value, and each new one, so that no log line shows it. */
  readonly scrubber?: Scrubber | undefined
}

/** The secret at the first of `places` that is set, or `undefined`. A file that is missing or empty throws. */
export function secretFrom(places: SecretPlaces, context: SecretContext = {}): Secret | undefined {
  const { value, file, env = [] } = places
  if (value !== undefined) return fixed(value, 'the value', context)
  if (file !== undefined) return watched(file, context)

  const { environment = process.env } = context
  const name = env.find((each) => (environment[each] ?? '') !== '')
  return name === undefined ? undefined : fixed(environment[name] ?? '', name, context)
}

function fixed(value: string, place: string, { scrubber, check }: SecretContext): Secret {
  refuseEmpty(value, place)
  check?.(value, place)
  const forget = scrubber?.add(value)
  return new Secret(value, forget)
}

function watched(path: string, { log, scrubber, check }: SecretContext): Secret {
  const file = WatchedFile.open(path, {
    log,
    secret: true,
    check(text) {
      refuseEmpty(trimmed(text), path)
      check?.(trimmed(text), path)
    },
  })
  let forget = scrubber?.add(trimmed(file.text))
  let forgetLast: (() => void) | undefined
  file.onChange((text) => {
    // The value before this one may still be in flight, the one before that is not.
    forgetLast?.()
    forgetLast = forget
    forget = scrubber?.add(trimmed(text))
  })
  return new Secret(
    () => trimmed(file.text),
    () => {
      file.close()
      forgetLast?.()
      forget?.()
    },
  )
}

// Editors and `echo` end a file with a newline. Any other white space may be part of the secret.
function trimmed(text: string): string {
  return text.replace(/\r?\n$/, '')
}

function refuseEmpty(value: string, place: string): void {
  if (value === '') throw new GatewayError('SECRET_EMPTY', `the secret in ${place} is empty`)
}

/** An option that holds a secret. `writeOnly` is JSON Schema's own word for what may be set but never shown. */
export function secretText() {
  return z.string().min(1).meta({ writeOnly: true })
}
