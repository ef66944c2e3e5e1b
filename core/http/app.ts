import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type RouteOptions,
} from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Logger } from 'pino'
import type { Refusal } from '../errors.js'
import { logOfRequest } from '../log/request-log.js'
import { Answers } from './answers.js'
import { admission, Gate } from './gate.js'
import { guardHooks } from './guarded-hooks.js'
import { routedTarget } from './request-target.js'
import { schemaCompilers } from './schema-compilers.js'
import './fastify-types.js'

const GATE = Symbol('gate')

declare module 'fastify' {
  interface FastifyContextConfig {
    [GATE]?: Gate
  }
}

interface Main {
  readonly app: FastifyInstance
  readonly gate: Gate
  readonly answers: Answers
  /** `METHOD path` of every route that asks nobody for credentials, once they are all declared. */
  readonly publicRoutes: () => readonly string[]
  /** Whether any route takes upgrades, once they are all declared. */
  readonly takesUpgrades: () => boolean
}

/** The application behind the main port: every route of it stands behind the gate of its scope. */
export function createMain(
  log: Logger,
  onRefusal: (refusal: Refusal, request: FastifyRequest) => void,
  bodyDeadline?: number,
): Main {
  const gate = new Gate()
  const gateOf = (request: FastifyRequest): Gate => request.routeOptions.config[GATE] ?? gate
  const answers = new Answers(gateOf, onRefusal)
  const routes: RouteOptions[] = []
  const admit = admission(gateOf, answers.error, bodyDeadline)
  const app = createApp(log, answers, admit)

  app.decorateRequest('identity', undefined)
  app.decorateRequest('credentials')
  // The options themselves: a later hook may still change them.
  app.addHook('onRoute', (route) => void routes.push(route))
  app.addHook('onRequest', admit)
  app.register(behind, { gate, answers })
  return {
    app,
    gate,
    answers,
    publicRoutes: () =>
      routes
        .filter(({ config }) => config?.public === true)
        .map(({ method, url }) => `${String(method)} ${url}`),
    takesUpgrades: () => routes.some(({ config }) => config?.upgrades === true),
  }
}

/** Puts everything declared in a Fastify context behind one gate: its routes, and what it does not know. */
export const behind = fastifyPlugin<{ gate: Gate; answers: Answers }>(
  (context, { gate, answers }, done) => {
    context.addHook('onRoute', (route) => {
      route.config = { ...route.config, [GATE]: gate }
    })
    context.setNotFoundHandler({ config: { [GATE]: gate } } as object, answers.notFound)
    done()
  },
  { name: 'behind', encapsulate: false },
)

/** The application behind the internal port: no gate, for those who run the gateway. */
export function createInternal(log: Logger): FastifyInstance {
  const answers = new Answers(
    () => new Gate(),
    () => {},
  )
  const app = createApp(log, answers, (_request, _reply, done) => done())
  app.setNotFoundHandler(answers.notFound)
  return app
}

function createApp(log: Logger, answers: Answers, admit: ReturnType<typeof admission>): FastifyInstance {
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: logOfRequest,
    requestIdHeader: false,
    genReqId: requestIds(),
    // The kernel's own deadlines name the plugin that is late; avvio's would not.
    pluginTimeout: 0,
    schemaController: { compilersFactory: schemaCompilers },
    routerOptions: { maxParamLength: 1024 },
    rewriteUrl: ({ url = '' }) => routedTarget(url),
    // An absolute target without a host reaches no hook, so it is brought to the gate by hand.
    frameworkErrors: (error, request, reply) =>
      admit(request, reply, () => answers.error(error, request, reply)),
    // A plugin that replaced it would answer refusals, and those of other plugins too.
    allowErrorHandlerOverride: false,
  })
  app.setErrorHandler(answers.error)
  guardHooks(app, log)
  return app
}

/** Short, unique in this process and unlikely in another; cheap, since every request gets one. */
function requestIds(): () => string {
  const start = Math.floor(Math.random() * 36 ** 6)
    .toString(36)
    .padStart(6, '0')
  let count = 0
  return () => `${start}-${(count++).toString(36)}`
}
