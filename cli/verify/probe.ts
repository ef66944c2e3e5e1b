import type { FastifyRequest } from 'fastify'
import {
  AuditSink,
  Authenticator,
  type Capability,
  definePlugin,
  Guard,
  HeaderSource,
  type Plugin,
  Source,
} from 'sallyport'
import type { Chart } from '../findings/chart.js'
import { judgeAuthenticator, judgeGuard, judgeHeaders, type Provided } from './contracts.js'

/** Stands before the plugin in the list, and holds it against its contract with every request that comes in. */
export function probe(chart: Chart, seen: (provided: Provided) => void): Plugin {
  return definePlugin({
    name: 'verify/probe',
    api: 1,
    provides: [Guard, Authenticator],
    setup(gateway) {
      const guards = gateway.use(Guard)
      const authenticators = gateway.use(Authenticator)
      const headerSources = gateway.use(HeaderSource)
      const sources = gateway.use(Source)
      const auditSinks = gateway.use(AuditSink)
      const others = <T>(all: readonly T[], own: unknown): readonly T[] => all.filter((each) => each !== own)
      const guard: Guard = async (request: FastifyRequest) => {
        for (const each of others(guards(), guard)) await judgeGuard(chart, each, request)
        for (const each of headerSources()) judgeHeaders(chart, each, request)
      }
      const authenticator: Authenticator = {
        provider: 'verify',
        async authenticate(request) {
          for (const each of others(authenticators(), authenticator))
            await judgeAuthenticator(chart, each, request)
          return { rejection: { kind: 'notMine', cause: 'verify' } }
        },
      }
      gateway.provide(Guard, guard)
      gateway.provide(Authenticator, authenticator)
      gateway.http.get('/verify', async () => 'closed')
      gateway.http.post('/verify', async () => 'closed')
      gateway.onStart(() =>
        seen({
          guards: others(guards(), guard),
          authenticators: others(authenticators(), authenticator),
          headerSources: headerSources(),
          sources: sources(),
          auditSinks: auditSinks(),
        }),
      )
    },
  })
}

/** What a plugin needs that it does not bring itself. */
export const needsOf = ({ requires = [], provides = [] }: Plugin): readonly Capability[] =>
  requires.filter(({ token }) => !provides.some((own) => own.token === token))
