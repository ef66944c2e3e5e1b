import type { FastifyRequest } from 'fastify'
import {
  Authenticator,
  CallerTokens,
  ConfigError,
  Credential,
  definePlugin,
  type Gateway,
  Health,
} from 'sallyport'
import { isPromise, timed } from 'sallyport/toolkit'
import { openEndpoint } from './token-exchange/endpoint.js'
import { Exchanger } from './token-exchange/exchanger.js'
import { type ExchangeOptions, exchangeOptions } from './token-exchange/options.js'
import { ExchangeRequest } from './token-exchange/request.js'
import { type Subject, SubjectTokens } from './token-exchange/subject.js'
import { ID_TOKEN } from './token-exchange/token-type.js'

export default definePlugin({
  name: 'credential/token-exchange',
  api: 1,
  summary: "Exchanges the caller's token, or that of a login, for one that the target accepts (RFC 8693).",
  provides: [Credential, Health],
  options: exchangeOptions,

  setup(gateway, options) {
    const exchanger = openExchanger(gateway, options)
    const credential = credentialOf(gateway, options, exchanger)
    gateway.provide(Credential, credential)
    const { id, scope } = gateway
    gateway.provide(Health, { name: scope === '' ? id : `${scope} ${id}`, check: () => exchanger.health() })

    const credentials = gateway.use(Credential)
    const authenticators = gateway.use(Authenticator)
    const callerTokens = gateway.find(CallerTokens)
    gateway.onStart(() => {
      if (options.subject === 'login' && callerTokens() === undefined) throw mistake('subject', NO_BROKER)
      const list = credentials()
      const isAlone = list[0] === credential && authenticators().every(({ open }) => open === true)
      if (isAlone) throw mistake('subjectTokenType', NOTHING_TO_EXCHANGE)
      const isLast = list.at(-1) === credential
      if (isLast && options.tokenType.toUpperCase() === 'N_A') throw mistake('tokenType', NOT_FOR_A_TARGET)
    })
  },

  facts: () => ({ hasCredential: true }),

  async examine(examination, options) {
    const { examineExchange } = await import('./token-exchange/examine.js')
    await examineExchange(examination, options)
  },
})

function openExchanger(gateway: Gateway, options: ExchangeOptions): Exchanger {
  const { id, log, meter } = gateway
  const { fetch, secrets } = openEndpoint(gateway, options)
  return new Exchanger(options, {
    id,
    fetch,
    request: new ExchangeRequest(options, secrets),
    actor: () => secrets.actor?.reveal(),
    log,
    outcomes: meter.counter(
      'token_exchanges_total',
      'Token exchanges, by outcome: from the cache, exchanged, or the class of failure',
      ['outcome'],
    ),
  })
}

function credentialOf(gateway: Gateway, options: ExchangeOptions, exchanger: Exchanger): Credential {
  const held = options.subject === 'caller' ? () => undefined : gateway.find(CallerTokens)
  const subjects = new SubjectTokens(held, options.subjectTokenType === ID_TOKEN)
  // Refused requests only, so that other requests cost no entry.
  const refused = new WeakSet<FastifyRequest>()
  return {
    name: gateway.id,
    present(request, previous) {
      return timed(request, 'exchange', () => {
        const exchange = (subject: Subject) =>
          refused.delete(request) ? exchanger.renew(subject) : exchanger.exchange(subject)
        const subject = subjects.of(request, previous)
        return isPromise(subject) ? subject.then(exchange) : exchange(subject)
      })
    },
    renew(request, { status, attempt }) {
      // Another token of the same subject allows no more (403), and a third attempt is no better (401).
      if (status !== 401 || attempt > 1) return false
      refused.add(request)
      return true
    },
  }
}

const NOTHING_TO_EXCHANGE =
  'there is no token to exchange: expected an authenticator that verifies tokens, or a credential before this one'
const NO_BROKER =
  'there is no broker in the list, so nobody signs in here: leave it out, or add issuer/broker'
// RFC 8693, 2.2.1: such a token is for no resource, and a target that gets it could exchange it.
const NOT_FOR_A_TARGET = 'a token of type N_A is for a further exchange: expected one after this entry'

const mistake = (place: string, message: string): ConfigError => new ConfigError([{ place, message }])
