import {
  ConfigError,
  type Gateway,
  GatewayError,
  IssuerMetadata,
  type List,
  LoginProvider,
  type Problem,
  Revocation,
  type Revoked,
  SecretStore,
  type SignIn,
  StateStore,
} from 'sallyport'
import { entriesOf } from 'sallyport/embed'
import { planOf } from '../../config/all-problems.js'
import { withPart } from '../../config/part-of-list.js'
import { readList } from '../../config/read-list.js'
import type { Located } from '../../config/result.js'
import { createRunLog, type Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printable, printProblems } from '../../terminal.js'
import { authCommand } from './flags.js'

const SELECTORS = ['subject', 'name', 'session'] as const

/** Whether the action is about the people who signed in at the gateway, and not about its own logins. */
export const isForPeople = ({ positionals: [action] }: Invocation): boolean =>
  action === 'sessions' || action === 'revoke'

/** What is wrong with the flags and the target of `auth sessions` and `auth revoke`, and with their flags at other actions. */
export function peopleProblems(invocation: Invocation): readonly Problem[] {
  const { positionals, options } = invocation
  const [action, target] = positionals
  const place = `auth ${action}`
  const flag = (name: string) => `--${name}`
  const selectors = SELECTORS.filter((name) => options.has(name))
  const misplaced = [
    ...[...SELECTORS, 'idp'].filter((name) => action !== 'revoke' && options.has(name)),
    ...(action !== 'sessions' && options.get('json')?.value === true ? ['json'] : []),
  ]
  if (misplaced.length > 0) {
    const message = `does not go with ${place}`
    return misplaced.map((name) => ({ place: flag(name), message }))
  }
  if (!isForPeople(invocation)) return []
  if (target !== undefined) return [{ place, message: 'takes no target' }]
  if (!options.has('config')) {
    const message = 'is missing: expected the file of the gateway whose people are meant'
    return [{ place: flag('config'), message }]
  }
  if (action === 'sessions') return []
  if (selectors.length !== 1)
    return [{ place, message: 'expected exactly one of --subject, --name and --session' }]
  if (options.has('idp') && !options.has('subject'))
    return [{ place: flag('idp'), message: 'goes with --subject alone' }]
  return []
}

/** One authorization server of the list. */
interface Broker {
  readonly revocation: Revocation
  readonly signIns: readonly SignIn[]
}

/** Shows the sign-ins of people, or revokes. It opens no port: it writes where the running gateway reads. */
export async function withPeople(invocation: Invocation, io: Io): Promise<number> {
  const { positionals, options, environment } = invocation
  const [action] = positionals
  const place = `auth ${action}`
  const { config = '', json } = valuesOf(authCommand.groups, options)
  const located = await readList(config, environment)
  const checked = await planOf(located)
  if ('problems' in checked) return printProblems(checked.problems, io)
  if ('problems' in located) return printProblems(located.problems, io)
  const entries = entriesOf(checked.plan)
  const provides = (token: symbol) =>
    entries.filter(({ provides }) => provides.some((each) => each.token === token))
  if (provides(Revocation.token).length === 0) {
    const message = 'nobody signs in at this gateway: its file has no `broker`, whose people these are'
    return printProblems([{ place, message }], io)
  }
  const alone = provides(StateStore.token).find(({ plugin }) => typeof plugin.oneProcess === 'string')
  if (alone !== undefined) {
    const message = `${alone.id} cannot be shared with a running gateway: expected a state store of several processes`
    return printProblems([{ place, message }], io)
  }
  return inBrokers(place, located, io, (brokers) =>
    action === 'sessions' ? show(brokers, json === true, io) : revoke(brokers, invocation, io),
  )
}

async function inBrokers(
  place: string,
  located: Located<List>,
  io: Io,
  work: (brokers: readonly Broker[]) => Promise<number>,
): Promise<number> {
  const part = {
    name: 'auth',
    read: (gateway: Gateway) => gateway.find(Revocation),
    capabilities: [Revocation, LoginProvider, IssuerMetadata, StateStore, SecretStore],
    log: createRunLog(io, { level: 'warn' }),
  } as const
  try {
    return await withPart(located, part, async (scopes) => {
      const brokers: Broker[] = []
      // An inner scope has that of the outer one.
      for (const revocation of new Set(scopes.map((find) => find())))
        if (revocation !== undefined) brokers.push({ revocation, signIns: await revocation.signIns() })
      return work(brokers)
    })
  } catch (error) {
    if (!(error instanceof GatewayError) || error instanceof ConfigError) throw error
    return printProblems([{ place, message: error.message }], io)
  }
}

async function show(brokers: readonly Broker[], json: boolean, { stdout }: Io): Promise<number> {
  const shown = brokers
    .flatMap(({ signIns }) => signIns)
    .map(({ id, subject, name, client, at }) => ({
      id,
      subject,
      name,
      client,
      at: new Date(at).toISOString(),
    }))
  if (json) stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`)
  else
    for (const { id, subject, name, client, at } of shown) {
      const by = client === '' ? '' : `, by ${client}`
      // A name and a client may hold anything.
      stdout.write(`${printable(`${id}: ${name} (${subject})${by}, since ${at}`)}\n`)
    }
  return exitCode.ok
}

async function revoke(brokers: readonly Broker[], { options }: Invocation, io: Io): Promise<number> {
  const { subject, idp, name, session } = valuesOf(authCommand.groups, options)
  if (subject !== undefined) {
    return revokeIn(
      brokers,
      { subject, idp },
      `the person with the subject ${subject}${idp === undefined ? '' : ` of ${idp}`}`,
      io,
    )
  }
  const isMeant = (signIn: SignIn): boolean =>
    name === undefined ? signIn.id === session : signIn.name === name || signIn.email === name
  const meant = brokers.flatMap((broker) =>
    broker.signIns.filter(isMeant).map((signIn) => ({ broker, signIn })),
  )
  const [first] = meant
  if (first === undefined) {
    const what =
      name === undefined ? `no sign-in has the id ${session}` : `nobody who is signed in is ${name}`
    io.stderr.write(`${printable(what)}: \`auth sessions\` shows them\n`)
    return exitCode.failed
  }
  if (name === undefined)
    return revokeIn([first.broker], { session: first.signIn.id }, `the sign-in ${first.signIn.id}`, io)
  const people = new Map(meant.map((each) => [JSON.stringify([each.signIn.idp, each.signIn.subject]), each]))
  if (people.size > 1)
    return ambiguous(
      name,
      [...people.values()].map(({ signIn }) => signIn),
      io,
    )
  return revokeIn([first.broker], { subject: first.signIn.subject, idp: first.signIn.idp }, name, io)
}

function ambiguous(name: string, people: readonly SignIn[], io: Io): number {
  const message = `${people.length} people are ${name}: name one of them by --subject`
  const code = printProblems([{ place: '--name', message }], io)
  for (const { subject, idp } of people) io.stderr.write(`${printable(`  ${subject} of ${idp}`)}\n`)
  return code
}

async function revokeIn(
  brokers: readonly Broker[],
  revoked: Revoked,
  what: string,
  { stdout }: Io,
): Promise<number> {
  let ended = 0
  for (const { revocation } of brokers) ended += await revocation.revoke(revoked)
  const signIns = ended === 1 ? '1 sign-in has ended' : `${ended} sign-ins have ended`
  stdout.write(`${printable(`revoked ${what}: ${signIns}`)}\n`)
  return exitCode.ok
}
