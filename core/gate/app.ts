import type { IncomingMessage } from 'node:http'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RouteOptions,
} from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Logger } from 'pino'
import type { PublishedChange } from '../contract/capabilities/audit-sink.js'
import type { Credentials } from '../contract/credentials.js'
import { decorateBody, replayBody } from '../http/body.js'
import { ClientAddresses } from '../http/client-address.js'
import { routedTarget } from '../http/request-target.js'
import type { LogThrottle } from '../log/log-throttle.js'
import { createRequestLog } from '../log/request-log.js'
import { decorateMessage } from '../mcp/message.js'
import { lacksPassage } from '../mcp/passage.js'
import { decorateObserved } from '../observe/observation.js'
import type { RequestObserver } from '../observe/request-observer.js'
import { credentialsFor } from './credentials.js'
import { ErrorReplies } from './error-replies.js'
import { admission, Gate } from './gate.js'
import { guardHooks } from './guarded-hooks.js'
import { checkHost } from './host-check.js'
import { schemaCompilers } from './schema-compilers.js'
import '../contract/fastify-types.js'

const GATE = Symbol('gate')

declare module 'fastify' {
  interface FastifyContextConfig {
    [GATE]?: Gate
  }
}

export interface MainApp {
  readonly app: FastifyInstance
  readonly gate: Gate
  readonly errorReplies: ErrorReplies
  readonly addresses: ClientAddresses
  /**
   * `METHOD path` of every route that needs no credentials, except those for discovery. Complete once all are declared.
   */
  readonly publicRoutes: () => readonly string[]
  /** `METHOD path` of every route to an MCP server whose plugin opened no passage for its responses. */
  readonly routesWithoutPassage: () => readonly string[]
  /** Whether any route accepts upgrades. Known once all are declared. */
  readonly takesUpgrades: () => boolean
}

/** The application of the main port: the gate of its scope runs before every route. */
export function createMainApp(
  log: Logger,
  throttle: LogThrottle,
  {
    begun,
    refused,
    errorReplied,
    published,
    audits,
  }: Pick<RequestObserver, 'begun' | 'refused' | 'errorReplied' | 'published' | 'audits'>,
  bodyDeadline?: number,
): MainApp {
  const gate = new Gate()
  const gateAt = ({ config }: FastifyRequest['routeOptions']): Gate => config[GATE] ?? gate
  const gateOf = ({ routeOptions }: FastifyRequest): Gate => gateAt(routeOptions)
  const errorReplies = new ErrorReplies(gateOf, { refused, errorReplied }, throttle)
  const routes: RouteOptions[] = []
  const admitAtGate = admission(errorReplies, bodyDeadline)
  const admit = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    // Read once: Fastify makes a new object at each access.
    const { routeOptions } = request
    begun(request, reply, routeOptions)
    const { config } = routeOptions
    const gate = gateAt(routeOptions)
    const needsPassage = config.mcp === true && (gate.readsCalls || audits())
    admitAtGate({ request, reply, config, gate, needsPassage }, done)
  }
  const app = createApp(log, errorReplies, admit)

  app.decorateRequest('identity', undefined)
  app.decorateRequest('isOpen', false)
  // Fastify has no hook for a change that is made after the client has left.
  app.decorateRequest('recordPublished', function (this: FastifyRequest, change: PublishedChange) {
    published(change, this)
  })
  app.decorateRequest('authenticate', function (this: FastifyRequest, credentials?: Credentials) {
    return gateOf(this).identify(this, credentials ?? credentialsFor(this.raw))
  })
  app.decorateRequest('credentials')
  const addresses = new ClientAddresses()
  app.decorateRequest('clientAddress', {
    getter() {
      return addresses.of(this.raw)
    },
  })
  decorateBody(app, bodyDeadline)
  decorateMessage(app)
  decorateObserved(app)
  // The same object, and no copy: a later hook may still change the options.
  app.addHook('onRoute', (route) => void routes.push(route))
  app.addHook('onRoute', replayBody)
  app.addHook('onRequest', admit)
  app.register(gateRoutes, { gate, errorReplies })
  return {
    app,
    gate,
    errorReplies,
    addresses,
    publicRoutes: () =>
      routes
        .filter(({ config, url }) => config?.public === true && !url.startsWith('/.well-known/'))
        .map(nameOf),
    routesWithoutPassage: () => routes.filter(lacksPassage).map(nameOf),
    takesUpgrades: () => routes.some(({ config }) => config?.upgrades === true),
  }
}

const nameOf = ({ method, url }: RouteOptions): string => `${String(method)} ${url}`

/** Puts all routes of a Fastify context behind one gate, also the 404 for unknown paths. */
export const gateRoutes = fastifyPlugin<{ gate: Gate; errorReplies: ErrorReplies }>(
  (context, { gate, errorReplies }, done) => {
    context.addHook('onRoute', (route) => {
      route.config = { ...route.config, [GATE]: gate }
    })
    // With a session, so that a signed-in user gets the 404, and not a redirect to the sign-in page.
    context.setNotFoundHandler({ config: { [GATE]: gate, session: true } } as object, errorReplies.notFound)
    done()
  },
  { name: 'gate-routes', encapsulate: false },
)

/** The application of the internal port, for operators: it has no gate. */
export function createInternalApp(log: Logger, throttle: LogThrottle): FastifyInstance {
  const nothing = (): void => {}
  const errorReplies = new ErrorReplies(
    () => new Gate(),
    { refused: nothing, errorReplied: nothing },
    throttle,
  )
  const app = createApp(log, errorReplies, (_request, _reply, done) => done())
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff')
    checkHost(request)
    done()
  })
  app.setNotFoundHandler(errorReplies.notFound)
  return app
}

function createApp(
  log: Logger,
  errorReplies: ErrorReplies,
  admit: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void,
): FastifyInstance {
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: createRequestLog,
    requestIdHeader: false,
    genReqId: requestIds(),
    // Off: unlike Fastify's timeout, the kernel's deadlines name the plugin that is late.
    pluginTimeout: 0,
    schemaController: { compilersFactory: schemaCompilers },
    routerOptions: { maxParamLength: 1024 },
    rewriteUrl: ({ url = '' }) => routedTarget(url),
    // A request that Fastify itself refuses, such as an absolute target without a host, reaches no hook.
    frameworkErrors: (error, request, reply) =>
      admit(request, reply, () => errorReplies.error(error, request, reply)),
    // A plugin that replaced the error handler would decide the replies to refusals, also those by other plugins.
    allowErrorHandlerOverride: false,
  })
  app.addConstraintStrategy(preflightConstraint)
  app.setErrorHandler(errorReplies.error)
  guardHooks(app, log)
  return app
}

/** Ids that are short, unique in this process and unlikely in another; cheap, since every request gets one. */
function requestIds(): () => string {
  const start = Math.floor(Math.random() * 36 ** 6)
    .toString(36)
    .padStart(6, '0')
  let count = 0
  return () => `${start}-${(count++).toString(36)}`
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined

/**
 * Lets routes for OPTIONS set `constraints: { preflight: true }`, or `false`: a preflight carries no credentials by
 * design (Fetch, CORS-preflight), and needs routes of its own.
 */
const preflightConstraint = {
  name: 'preflight',
  storage() {
    const handlers = new Map<unknown, unknown>()
    return {
      get: (value: unknown) => handlers.get(value) ?? null,
      set: (value: unknown, handler: unknown) => void handlers.set(value, handler),
    } as never
  },
  deriveConstraint: isPreflight,
  validate() {},
}
