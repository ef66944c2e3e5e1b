import type { BaseLogger } from 'pino'
import { ConfigError, GatewayError } from '../../contract/errors.js'
import type { Problem } from '../../contract/problem.js'
import { authoritiesFault, certificatesIn, keyPairFaults, outOfDate } from '../certificates.js'
import { WatchedFile } from './watched-file.js'

// Milliseconds. The gateway also uses changes that cause no event, as on NFS, within five seconds.
const POLL = 3_000
// Milliseconds to wait for the other file of a pair, which programs often write just after the first.
const SETTLE = 500

const ROLES = ['cert', 'key', 'ca'] as const

type Role = (typeof ROLES)[number]

/** The certificate of this side, its key, and the authorities of the other side, as PEM text. */
export type TlsTexts = Readonly<Partial<Record<Role, string>>>

/** A file, and the option that names it. */
export interface TlsFile {
  readonly option: string
  readonly path: string
}

/**
 * The files of one side of TLS, read again when they change. While the new files do not fit together, the former
 * content stays in use.
 */
export class TlsFiles {
  private readonly files = new Map<Role, WatchedFile>()
  private readonly listeners = new Set<() => void>()
  #texts: TlsTexts = {}
  private timer: NodeJS.Timeout | undefined
  private lastFault: string | undefined

  /** Throws a `ConfigError` with all faults of the files. */
  constructor(
    named: Readonly<Partial<Record<Role, TlsFile>>>,
    private readonly log: Pick<BaseLogger, 'info' | 'warn'>,
  ) {
    const problems: Problem[] = []
    for (const role of ROLES) {
      const file = named[role]
      if (file === undefined) continue
      try {
        const watch = { log, pollEvery: POLL, secret: role === 'key' }
        this.files.set(role, WatchedFile.open(file.path, watch))
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        problems.push({ place: file.option, message: error.message })
      }
    }
    this.#texts = this.read()
    for (const [role, fault] of faultsIn(this.#texts))
      problems.push({ place: named[role]?.option ?? role, message: `${named[role]?.path}: ${fault}` })
    if (problems.length > 0) {
      this.close()
      throw new ConfigError(problems)
    }
    this.warnIfOutOfDate()
    for (const file of this.files.values()) {
      file.onChange(() => {
        this.timer ??= setTimeout(() => this.update(), SETTLE).unref()
      })
    }
  }

  /** The texts in use. */
  get texts(): TlsTexts {
    return this.#texts
  }

  /** Calls `listener` after a change of `texts`, until the function that it returns is called. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  close(): void {
    clearTimeout(this.timer)
    this.listeners.clear()
    for (const file of this.files.values()) file.close()
  }

  private read(): TlsTexts {
    return Object.fromEntries([...this.files].map(([role, { text }]) => [role, text]))
  }

  private update(): void {
    this.timer = undefined
    const texts = this.read()
    const [first] = faultsIn(texts)
    if (first !== undefined) {
      const [role, reason] = first
      const path = this.files.get(role)?.path
      if (reason !== this.lastFault)
        this.log.warn(
          { path, reason },
          'the TLS files do not fit together: the gateway keeps using the former ones',
        )
      this.lastFault = reason
      return
    }
    this.lastFault = undefined
    if (ROLES.every((role) => texts[role] === this.#texts[role])) return
    this.#texts = texts
    this.log.info('the TLS files were read again and are now in use')
    this.warnIfOutOfDate()
    for (const listener of this.listeners) listener()
  }

  private warnIfOutOfDate(): void {
    for (const role of ['cert', 'ca'] as const) {
      for (const reason of outOfDate(certificatesIn(this.#texts[role] ?? '')))
        this.log.warn({ path: this.files.get(role)?.path, reason }, 'a certificate is out of date')
    }
  }
}

function faultsIn({ cert, key, ca }: TlsTexts): readonly (readonly [Role, string])[] {
  const caFault = ca === undefined ? undefined : authoritiesFault(ca)
  const faults: TlsTexts = { ...keyPairFaults(cert, key), ...(caFault !== undefined && { ca: caFault }) }
  return ROLES.flatMap((role) => {
    const fault = faults[role]
    return fault === undefined ? [] : [[role, fault] as const]
  })
}
