import { inspect } from 'node:util'
import { z } from 'zod'
import { GatewayError } from '../contract/errors.js'
import type { Scrubber } from '../contract/scrubber.js'
import { WatchedFile, type WatchedFileOptions } from './files/watched-file.js'

/** A secret that prints as `***` everywhere; only `reveal` returns it. */
export class Secret {
  // Not `private`: no inspection of this object may show the value.
  readonly #read: () => string
  readonly #release: () => void

  constructor(read: string | (() => string), release: () => void = () => {}) {
    this.#read = typeof read === 'string' ? () => read : read
    this.#release = release
  }

  /** The current value: a secret in a file is read again when the file changes. */
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

/** The possible locations of a secret; the first of these that is set is used. */
export interface SecretLocations {
  readonly value?: string | undefined
  readonly file?: string | undefined
  /** Names of environment variables, in order. An empty variable counts as unset. */
  readonly env?: readonly string[] | undefined
}

export interface SecretContext {
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly log?: WatchedFileOptions['log']
  /**
   * Throws when a value is unusable, without quoting it. When a file changes to such a value, the last valid one
   * stays.
   */
  readonly check?: ((value: string, location: string) => void) | undefined
  /** The gateway adds the value to it, and each new one, so that no log line shows it. */
  readonly scrubber?: Scrubber | undefined
}

/** The secret at the first of `locations` that is set, or `undefined`. A missing or empty file throws. */
export function secretFrom(locations: SecretLocations, context: SecretContext = {}): Secret | undefined {
  const { value, file, env = [] } = locations
  if (value !== undefined) return fixed(value, 'the value', context)
  if (file !== undefined) return watched(file, context)

  const { environment = process.env } = context
  const name = env.find((each) => (environment[each] ?? '') !== '')
  return name === undefined ? undefined : fixed(environment[name] ?? '', name, context)
}

function fixed(value: string, location: string, { scrubber, check }: SecretContext): Secret {
  refuseEmpty(value, location)
  check?.(value, location)
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
    // Requests in flight may still hold the previous value, but not the one before it.
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

// Editors and `echo` end a file with a newline. Other white space may be part of the secret.
function trimmed(text: string): string {
  return text.replace(/\r?\n$/, '')
}

function refuseEmpty(value: string, location: string): void {
  if (value === '') throw new GatewayError('SECRET_EMPTY', `the secret in ${location} is empty`)
}

/** An option that holds a secret. `writeOnly` is JSON Schema's keyword for a value that may be set but never shown. */
export function secretText() {
  return z.string().min(1).meta({ writeOnly: true })
}
