import { METHODS } from 'node:http'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import {
  Authenticator,
  Credential,
  definePlugin,
  type Gateway,
  HeaderSource,
  isUpgrade,
  LONGEST_WAIT,
} from 'sallyport'
import { z } from 'zod'
import { Body, type BodyFacts, type BodyLimits, bodyFacts } from './body.js'
import { Credentials } from './credentials.js'
import { Exchange, type Parcel } from './exchange.js'
import { House } from './house.js'
import { jsonRpcErrors } from './json-rpc-errors.js'
import type { Lane } from './lane.js'
import { lanesTo } from './lanes.js'
import { SlowBodies } from './slow-bodies.js'
import { SpentBodies } from './spent-bodies.js'
import { Target } from './target.js'

// Bodies up to this length are read whole and sent in one write.
const QUICK_BODY = 256 * 1024
// The most that is kept of a body to send it again with a renewed credential.
const KEPT_BODY = 16 * 1024 * 1024

const options = z.strictObject({
  target: z
    .url({ protocol: /^https?$/, error: 'expected a URL of http or https' })
    .refine((url) => !/[?#]/.test(url), 'expected a URL without query and fragment')
    .refine((url) => {
      const { username, password } = new URL(url)
      return username === '' && password === ''
    }, 'expected a URL without user and password: credentials have options of their own')
    .describe('the server that requests go to; its path stands for `/`'),
  forwardAuthorization: z
    .boolean()
    .default(false)
    .describe("send the caller's `Authorization` on, unless a credential takes its place"),
  forwardCookies: z.boolean().default(false).describe("send the caller's `Cookie` on"),
  forwardedHeaders: z.boolean().default(false).describe('tell who asked, in `Forwarded` and `X-Forwarded-*`'),
  targetTimeout: z
    .int()
    .nonnegative()
    .max(LONGEST_WAIT)
    .default(60_000)
    .describe('milliseconds for the target to begin its answer, none for event streams; 0 for no limit'),
  maxBody: z.int().positive().optional().describe('bytes of the largest request body; none by default'),
  bodyTimeout: z
    .int()
    .positive()
    .max(LONGEST_WAIT)
    .default(60_000)
    .describe('milliseconds that a request body may stand still'),
})

export default definePlugin({
  name: 'forward/http',
  api: 1,
  summary: 'Sends every request that no other route takes to one server, as the bytes it is.',
  options,
  setup: (gateway, given) => new Forwarder(gateway, given).install(),
})

class Forwarder {
  private readonly target: Target
  private readonly quick: Lane
  private readonly wide: Lane
  private readonly limits: BodyLimits
  private house: House | undefined

  constructor(
    private readonly gateway: Gateway,
    private readonly given: z.output<typeof options>,
  ) {
    this.target = new Target(given.target, gateway.scope)
    const { quick, wide } = lanesTo(this.target, gateway.log)
    this.quick = quick
    this.wide = wide
    const most = given.maxBody ?? Number.POSITIVE_INFINITY
    this.limits = { most, slow: new SlowBodies(given.bodyTimeout), spent: new SpentBodies() }
  }

  async install(): Promise<void> {
    const { gateway, target, given } = this
    const credentials = gateway.use(Credential)
    const sources = gateway.use(HeaderSource)
    const measure = gateway.meter.counter(
      'target_answers_total',
      'What became of requests on their way to the target: its class of status, or a class of failure',
      ['outcome', 'mcp_method'],
    )
    const judges = gateway.use(Authenticator)
    gateway.onStart(() => {
      if (given.forwardAuthorization && judges().some(({ provider }) => provider !== 'anonymous')) {
        gateway.log.warn(
          'tokens that were checked here are sent on: whoever runs the target can use them here',
        )
      }
      const held = new Credentials(credentials())
      this.house = new House(target, held, sources(), given, measure, gateway.log, this.limits.spent)
    })
    gateway.onStop(() => this.close())
    await this.declare()
  }

  private async declare(): Promise<void> {
    const methods = METHODS.filter((method) => method !== 'CONNECT')
    await this.gateway.http.register((http, _options, declared) => {
      for (const method of methods) {
        if (!http.supportedMethods.includes(method)) http.addHttpMethod(method, { hasBody: false })
      }
      const everywhere = {
        config: { errors: jsonRpcErrors, forwardsExpect: true, upgrades: true },
        // The last step before Fastify looks at the body: it would refuse content types it does not understand.
        preParsing: (request, reply, _payload, done) => this.forward(request, reply, done),
        handler: (_request, reply) => reply,
      } satisfies Partial<RouteOptions>
      http.route({ ...everywhere, method: methods, url: '/*' })
      // The path of a scope itself, without a slash after it: where clients are told that the server is.
      const left = methods.filter((method) => !http.hasRoute({ method, url: this.gateway.scope }))
      if (this.gateway.scope !== '') http.route({ ...everywhere, method: left, url: '' })
      declared()
    })
  }

  private forward(request: FastifyRequest, reply: FastifyReply, done: (error: Error) => void): void {
    const { house } = this
    if (house === undefined) throw new Error('a request came before the start')
    // Who left while it was checked cannot leave a second time, and nobody would end what is begun for it.
    if (request.raw.socket.destroyed) return
    const path = this.target.pathFor(request.originalUrl)
    const facts = bodyFacts(request.raw, this.limits.most)
    let exchange: Exchange | undefined
    const go = (body: Parcel['body'], lane: Parcel['lane']): void => {
      exchange = new Exchange(house, request, reply, { path, body, lane }, done)
      exchange.start()
    }
    if (facts.length === 0) {
      go(undefined, this.isPlain(request) ? this.quick : this.wide)
      return
    }
    const body = new Body(request.raw, this.limits, (refusal) => {
      reply.header('connection', 'close')
      if (exchange === undefined) done(refusal)
      else exchange.stop(refusal)
    })
    const kept = keptOf(facts, request, house.credentials.renewable)
    if (kept === 0) {
      go(body, this.wide)
      return
    }
    body.collect(facts.length, kept, (whole) => {
      request.body = whole
      const { method } = request
      const odd = facts.chunked || method === 'GET' || method === 'HEAD'
      go(whole ?? body, whole === undefined || odd ? this.wide : this.quick)
    })
  }

  /** What undici would write in another way, or not at all, goes through the wide lane. */
  private isPlain({ raw, method, headers }: FastifyRequest): boolean {
    if (method === 'HEAD' || isUpgrade(raw) || headers.expect !== undefined) return false
    return headers['content-length'] === undefined || method === 'POST' || method === 'PUT'
  }

  private close(): void {
    this.quick.close()
    this.wide.close()
    this.limits.slow.close()
  }
}

/** How much of a body is read before the request leaves: all of a small one, and none of what has to stream. */
function keptOf({ length, chunked }: BodyFacts, { headers }: FastifyRequest, renewable: boolean): number {
  if (headers.expect !== undefined) return 0
  const most = renewable ? KEPT_BODY : chunked ? 0 : QUICK_BODY
  return (length ?? 0) > most ? 0 : most
}
