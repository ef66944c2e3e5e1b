import { randomBytes } from 'node:crypto'
import { GatewayError, type Log, type SecretKeeping, type SecretStore } from 'sallyport'
import { binary, type SealingKey, sealed } from './sealed-value.js'

const BYTES = 32
// Files name their key. Other secrets that are kept are known to others, and what those encrypt is not ours.
const OWN_NAME = /^state\/[0-9a-f]{16}$/

/** Where the name of the newest key is noted, so that all processes over the same files take the same one. */
export interface Note {
  read(): Promise<string | undefined>
  write(name: string): Promise<void>
  alone<T>(work: () => Promise<T>): Promise<T>
  /** Whether anything is kept that is encrypted. */
  inUse(): Promise<boolean>
}

interface Keeper {
  readonly name: string
  readonly get: SecretStore['get']
  readonly keeping: SecretKeeping
}

/** Keys in the first secret store of the list that can keep one, such as the keyring. */
export class KeptKeys {
  private readonly known = new Map<string, Buffer>()
  private latest: SealingKey | undefined
  private without = false

  constructor(
    private readonly stores: () => readonly SecretStore[],
    private readonly log: Pick<Log, 'info'>,
  ) {}

  /** The key for new values, made when there is none. Nothing where nobody can keep one. */
  async newest(note: Note): Promise<SealingKey | undefined> {
    const keeper = this.keeper()
    if (keeper === undefined || this.without) return undefined
    try {
      this.latest ??= await note.alone(async () => {
        const name = await note.read()
        const bytes = name === undefined ? undefined : await this.find(name, keeper)
        if (name !== undefined && bytes !== undefined) return { mark: { kept: name }, bytes }
        return this.make(note, keeper)
      })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      // Beside what is encrypted, nobody expects anything that is not.
      if (await note.inUse()) throw sealed(error.message, `make the ${keeper.name} available`)
      // Asked once: a keyring that wants its password would ask a person again with every token.
      this.without = true
      this.log.info(
        { reason: error.message },
        'what is kept is not encrypted; only this user may read its files',
      )
    }
    return this.latest
  }

  /** The key of that name; it throws when nobody has it. */
  async of(name: string): Promise<Buffer> {
    const keeper = this.keeper()
    if (keeper === undefined) {
      throw sealed('no secret store of the list has their key', 'add `secrets/keyring` to the list')
    }
    const found = await this.find(name, keeper).catch((error: unknown) => {
      if (error instanceof GatewayError) throw sealed(error.message, `make the ${keeper.name} available`)
      throw error
    })
    if (found === undefined) throw sealed(`the ${keeper.name} does not have their key`, 'bring it back')
    return found
  }

  private async make(note: Note, { get, keeping }: Keeper): Promise<SealingKey | undefined> {
    // Never one that was there: values of the key before may still be about.
    const name = `state/${randomBytes(8).toString('hex')}`
    const text = randomBytes(BYTES).toString('base64')
    await keeping.set(name, text)
    // Before anything is encrypted with it: a key that does not come back takes all of that along.
    if ((await get(name)) !== text) return undefined
    await note.write(name)
    return { mark: { kept: name }, bytes: binary(text) }
  }

  private async find(name: string, { get }: Keeper): Promise<Buffer | undefined> {
    if (!OWN_NAME.test(name)) return undefined
    const known = this.known.get(name)
    if (known !== undefined) return known
    const bytes = binary((await get(name)) ?? '')
    if (bytes.length !== BYTES) return undefined
    this.known.set(name, bytes)
    return bytes
  }

  private keeper(): Keeper | undefined {
    for (const store of this.stores()) {
      const { name, keeping } = store
      if (keeping !== undefined) return { name, keeping, get: (key) => store.get(key) }
    }
    return undefined
  }
}
