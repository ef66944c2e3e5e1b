import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ConfigError, type Gateway, GatewayError, type List, type Problem, SecretStore } from 'sallyport'
import { encryptedFile, keyring } from 'sallyport/presets/tools'
import { withPart } from '../../config/part-of-list.js'
import { readList } from '../../config/read-list.js'
import { type Located, locatedHere } from '../../config/result.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { secretCommand } from './flags.js'

interface SecretAction {
  readonly action: string
  readonly name: string
  readonly io: Io
}

/** Sets, prints, lists and removes the secrets that `--remote-forward-headers-secret` names. */
export async function secret(invocation: Invocation, io: Io): Promise<number> {
  const [action = '', name = ''] = invocation.positionals
  const asked = { action, name, io }
  const problems = problemsOf(asked, invocation)
  if (problems.length > 0) return printProblems(problems, io)
  const { config, store, passphraseFile } = valuesOf(secretCommand.groups, invocation.options)
  try {
    if (config !== undefined) {
      const list = await readList(config, invocation.environment)
      return 'problems' in list ? printProblems(list.problems, io) : await inStores(list, asked)
    }
    if (store !== 'file') {
      const code = await inKeyring(asked, store === 'keyring')
      if (code !== undefined) return code
    }
    const passphrase = passphraseFile === undefined ? await askedPassphrase(io) : undefined
    return await inStores(locatedHere([encryptedFile({ passphrase, passphraseFile })]), asked)
  } catch (error) {
    if (!(error instanceof GatewayError) || error instanceof ConfigError) throw error
    return printProblems([{ place: `secret ${action}`, message: error.message }], io)
  }
}

function problemsOf({ action, name }: SecretAction, { options }: Invocation): Problem[] {
  const place = `secret ${action}`
  const ofFile = options.has('config') ? ['store', 'passphrase-file'] : []
  const refused = ofFile
    .flatMap((flag) => options.get(flag) ?? [])
    .filter(({ source }) => source !== 'default')
  if (refused.length > 0) {
    const message = 'cannot be combined with --config: the file names the secret stores'
    return refused.map((option) => ({ place: option.place, message }))
  }
  if (action === 'list') {
    return name === '' ? [] : [{ place, message: 'takes no name' }]
  }
  if (isName(name)) return []
  return [{ place, message: 'a name is expected, of letters, digits, ".", "_" and "-", 128 at most' }]
}

const isName = (name: string): boolean => /^\w[\w.-]{0,127}$/.test(name)

/** Undefined when there is no keyring and the file may be used. stderr says so, since it decides where secrets are. */
async function inKeyring(asked: SecretAction, only: boolean): Promise<number | undefined> {
  try {
    return await inStores(locatedHere([keyring]), asked)
  } catch (error) {
    if (only || !(error instanceof GatewayError) || !error.code.startsWith('KEYRING_')) throw error
    asked.io.stderr.write(`${error.message}: using the encrypted file\n`)
    return undefined
  }
}

/** Boots the secret stores of a list, and runs the action on them. */
function inStores(list: Located<List>, asked: SecretAction): Promise<number> {
  const part = {
    name: 'secret',
    read: (gateway: Gateway) => gateway.use(SecretStore),
    capabilities: [SecretStore],
    neededBy: `secret ${asked.action}`,
  }
  return withPart(list, part, ([stores]) => runAction(stores(), asked))
}

async function runAction(
  stores: readonly SecretStore[],
  { action, name, io }: SecretAction,
): Promise<number> {
  if (action === 'get') return printed(await firstOf(io, stores, (store) => store.get(name)), io)
  const writable = stores.flatMap(({ name: store, keeping }) =>
    keeping === undefined ? [] : [{ name: store, keeping }],
  )
  // Before the value is read: a store that cannot be written must not ask the user for a value.
  const found = await firstOf(io, writable, async ({ keeping }) => ({
    keeping,
    names: await keeping.names(),
  }))
  if (found === undefined)
    throw new GatewayError('SECRET_UNWRITABLE', 'no secret store of the list can be written')
  const { keeping, names } = found
  if (action === 'list') {
    // Keys of plugins have names that this command does not accept.
    for (const each of names.filter(isName)) io.stdout.write(`${each}\n`)
    return exitCode.ok
  }
  if (action === 'rm') return (await keeping.delete(name)) ? exitCode.ok : missing(io)
  await keeping.set(name, await newValue(name, io))
  return exitCode.ok
}

/** The first result of the stores; a store that fails ends the search only when no other store has a result. */
async function firstOf<Store extends { readonly name: string }, T>(
  io: Io,
  stores: readonly Store[],
  ask: (store: Store) => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> {
  const failures: GatewayError[] = []
  for (const store of stores) {
    try {
      const found = await ask(store)
      if (found === undefined) continue
      for (const { message } of failures) io.stderr.write(`${message}: using ${store.name}\n`)
      return found
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      failures.push(error)
    }
  }
  if (failures[0] !== undefined) throw failures[0]
  return undefined
}

function printed(value: string | undefined, io: Io): number {
  if (value === undefined) return missing(io)
  io.stdout.write(`${value}\n`)
  return exitCode.ok
}

function missing({ stderr }: Io): number {
  stderr.write('there is no secret of that name\n')
  return exitCode.failed
}

/** Never from the command line, which other users of the machine can read. */
async function newValue(name: string, io: Io): Promise<string> {
  if (io.stdin.isTTY) return askHidden(`Value of ${name}: `, io)
  const value = (await text(io.stdin)).replace(/\r?\n$/, '')
  if (value === '')
    throw new GatewayError('SECRET_EMPTY', 'a value is expected on standard input, and it is empty')
  return value
}

/** Asks for the passphrase; undefined when the environment gives it, or without a terminal. */
async function askedPassphrase(io: Io): Promise<string | undefined> {
  const { SALLYPORT_SECRETS_PASSPHRASE: phrase = '', SALLYPORT_SECRETS_PASSPHRASE_FILE: file = '' } = io.env
  if (phrase !== '' || file !== '' || !io.stdin.isTTY) return undefined
  return askHidden('Passphrase of the encrypted file: ', io)
}

/** Asks a person at the terminal, without showing what is typed. */
async function askHidden(question: string, { stdin, stderr }: Io): Promise<string> {
  stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    stderr.write('\n')
  }
}
