import { text } from 'node:stream/consumers'
import { boot, createLog, definePlugin, type Entry, GatewayError, SecretStore } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import type { Problem } from 'sallyport/problem'
import type { Invocation } from '../options/option.js'
import { secretsGroups } from '../options/secrets.js'
import { valuesOf } from '../options/values.js'
import { askHidden } from '../prompt.js'
import { exitCode, tell } from '../terminal.js'

interface Asked {
  readonly action: string
  readonly name: string
}

/** Keeps the secrets that `--remote-forward-headers-secret` names. */
export async function secret({ positionals: [action = '', name = ''], given }: Invocation): Promise<number> {
  const { store, 'passphrase-file': passphraseFile } = valuesOf(secretsGroups, given)
  const problems = problemsOf({ action, name })
  if (problems.length > 0) return tell(problems)
  try {
    if (store !== 'file') {
      const code = await inKeyring({ action, name }, store === 'keyring')
      if (code !== undefined) return code
    }
    const passphrase = passphraseFile === undefined ? await askedPassphrase() : undefined
    const options = {
      ...(passphrase !== undefined && { passphrase }),
      ...(passphraseFile && { passphraseFile }),
    }
    return await within({ use: 'secrets/encrypted-file', with: options }, { action, name })
  } catch (error) {
    if (error instanceof GatewayError) return tell([{ place: `secret ${action}`, message: error.message }])
    throw error
  }
}

function problemsOf({ action, name }: Asked): Problem[] {
  const place = `secret ${action}`
  if (action === 'list') {
    return name === '' ? [] : [{ place, message: 'takes no name' }]
  }
  if (isName(name)) return []
  return [{ place, message: 'a name is expected, of letters, digits, ".", "_" and "-", 128 at most' }]
}

const isName = (name: string): boolean => /^\w[\w.-]{0,127}$/.test(name)

/** Nothing when there is no keyring and somebody else may be asked; that is said, for it decides where secrets lie. */
async function inKeyring(asked: Asked, only: boolean): Promise<number | undefined> {
  try {
    return await within({ use: 'secrets/keyring' }, asked)
  } catch (error) {
    if (only || !(error instanceof GatewayError) || !error.code.startsWith('KEYRING_')) throw error
    process.stderr.write(`${error.message}: using the encrypted file\n`)
    return undefined
  }
}

/** Boots a list of one store, and does with it what was asked. */
async function within(store: Entry, asked: Asked): Promise<number> {
  let stores: () => readonly SecretStore[] = () => []
  const reader = definePlugin({
    name: 'reader',
    api: 1,
    setup(gateway) {
      stores = gateway.use(SecretStore)
    },
  })
  const log = createLog({ level: 'silent' })
  const booted = await boot([store, { use: reader }], { catalogue, folder: process.cwd(), log })
  try {
    const [found] = stores()
    return found === undefined ? exitCode.failed : await act(found, asked)
  } finally {
    await booted.stop()
  }
}

async function act(store: SecretStore, { action, name }: Asked): Promise<number> {
  if (action === 'get') return printed(await store.get(name))
  const { keeping } = store
  if (action === 'list') {
    // A plugin's own keys have names that nobody can ask for here.
    for (const each of ((await keeping?.names()) ?? []).filter(isName)) process.stdout.write(`${each}\n`)
    return exitCode.asked
  }
  if (action === 'rm') return (await keeping?.delete(name)) ? exitCode.asked : missing()
  // Asked for before the value is read: a store that cannot be written must not take a value to nowhere.
  await keeping?.names()
  await keeping?.set(name, await newValue(name))
  return exitCode.asked
}

function printed(value: string | undefined): number {
  if (value === undefined) return missing()
  process.stdout.write(`${value}\n`)
  return exitCode.asked
}

function missing(): number {
  process.stderr.write('there is no secret of that name\n')
  return exitCode.failed
}

/** Never from the command line, which other users of the machine can read. */
async function newValue(name: string): Promise<string> {
  if (process.stdin.isTTY) return askHidden(`Value of ${name}: `)
  const value = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (value === '')
    throw new GatewayError('SECRET_EMPTY', 'a value is expected on standard input, and it is empty')
  return value
}

/** Nothing where the environment tells it, or nobody is there to be asked. */
async function askedPassphrase(): Promise<string | undefined> {
  const { SALLYPORT_SECRETS_PASSPHRASE: phrase = '', SALLYPORT_SECRETS_PASSPHRASE_FILE: file = '' } =
    process.env
  if (phrase !== '' || file !== '' || !process.stdin.isTTY) return undefined
  return askHidden('Passphrase of the encrypted file: ')
}
