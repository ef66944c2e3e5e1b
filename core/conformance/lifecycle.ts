import { BackgroundTask } from '../contract/capabilities/background-task.js'
import { Health } from '../contract/capabilities/health.js'
import { Listener } from '../contract/capabilities/listener.js'
import { PublicAddress } from '../contract/capabilities/public-address.js'
import { PublicPath } from '../contract/capabilities/public-path.js'
import { ResourceMetadata } from '../contract/capabilities/resource-metadata.js'
import { within } from '../toolkit/deadline.js'
import { LONGEST_WAIT } from '../toolkit/duration.js'
import { parseHostPort } from '../toolkit/host-port.js'
import { thrownBy } from './observers.js'
import { type ConformanceSuite, firstFault, hasName, isObject, isText, messageOf } from './requirement.js'

export const backgroundTaskConformance: ConformanceSuite<BackgroundTask> = {
  capability: BackgroundTask,
  requirements: [
    {
      code: 'TASK_MALFORMED',
      statement: 'has a promise that settles when it is over',
      advice: 'set `over` to one promise: the gateway reads it once and stops when it settles',
      check(task) {
        const { over } = task
        if (!(over instanceof Promise)) return '`over` is no promise'
        return task.over === over ? undefined : '`over` is another promise each time'
      },
    },
    {
      code: 'TASK_ENDLESS',
      statement: 'is over soon after `end` was called, perhaps twice',
      advice: 'start nothing new, finish or abort open work, and settle `over`',
      async check(task, { timeout }) {
        task.end()
        task.end()
        try {
          const late = (): Error => new Error(`it is not over ${timeout / 1000} s after \`end\` was called`)
          await within(timeout, Promise.resolve(task.over), late)
          return undefined
        } catch (error) {
          return messageOf(error)
        }
      },
    },
  ],
}

const STATES = ['ok', 'degraded', 'down']

export const healthConformance: ConformanceSuite<Health> = {
  capability: Health,
  requirements: [
    hasName('HEALTH_UNNAMED'),
    {
      code: 'HEALTH_THROWS',
      statement: 'always answers',
      advice: "return { status: 'down', reason } instead",
      check: (health) => thrownBy(() => health.check()),
    },
    {
      code: 'HEALTH_MALFORMED',
      statement: 'reports its status at once, with a reason unless it is ok',
      advice:
        "return { status: 'ok' }, or 'degraded' or 'down' with a reason; send no request, so that it never waits",
      check(health) {
        let state: unknown
        if (thrownBy(() => (state = health.check())) !== undefined) return undefined
        if (!isObject(state) || !STATES.includes(String(state['status'])))
          return `its status is none of ${STATES.join(', ')}`
        return state['status'] === 'ok' || typeof state['reason'] === 'string'
          ? undefined
          : 'it gives no reason'
      },
    },
  ],
}

const isPositive = (value: number | undefined): boolean =>
  value === undefined || (Number.isInteger(value) && value > 0)

export const listenerConformance: ConformanceSuite<Listener> = {
  capability: Listener,
  requirements: [
    {
      code: 'LISTENER_MALFORMED',
      statement: 'names the main or the internal port, and an address',
      advice: "provide { port: 'main', address } with HOST:PORT or [V6]:PORT, port 0 for any free one",
      check({ port, address }) {
        if (port !== 'main' && port !== 'internal') return `its port is neither main nor internal: ${port}`
        return typeof address === 'string' && parseHostPort(address) !== undefined
          ? undefined
          : `its address is not HOST:PORT: ${address}`
      },
    },
    {
      code: 'LISTENER_LIMITS',
      statement:
        'has positive whole numbers as limits of connections and times, or none; its drain delay may be 0',
      advice: 'leave a limit out for the default: 0 refuses every connection, or waits for ever',
      check({ maxConnections, headersTimeout, keepAliveTimeout, drainDelay }) {
        const limits = {
          maxConnections,
          headersTimeout,
          keepAliveTimeout,
          drainDelay: drainDelay === 0 ? undefined : drainDelay,
        }
        return firstFault(Object.entries(limits), ([name, value]) =>
          isPositive(value) && (value ?? 0) <= LONGEST_WAIT ? undefined : `\`${name}\` is ${value}`,
        )
      },
    },
  ],
}

const isOrigin = (text: unknown): boolean =>
  isText(text) && URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text

const MALFORMED = 'its origin is not as a browser writes it'

export const publicAddressConformance: ConformanceSuite<PublicAddress> = {
  capability: PublicAddress,
  requirements: [
    {
      code: 'ORIGIN_MALFORMED',
      statement: 'has an origin as a browser writes it, or none yet',
      advice:
        "return `new URL(text).origin`, such as https://a.example: guards compare it with a caller's `Origin`",
      check: ({ origin }) => (origin === undefined || isOrigin(origin) ? undefined : MALFORMED),
    },
    {
      code: 'ORIGIN_UNTOLD',
      statement: 'calls a new watcher with the known origin',
      advice:
        'let `watch` call the function at once when the origin is known, and again for every later origin',
      async check(address) {
        const origins: unknown[] = []
        address.watch((origin) => void origins.push(origin))
        // A promise that is settled already counts as at once.
        await new Promise((resolve) => void setImmediate(resolve))
        if (address.origin === undefined)
          return origins.length === 0 ? undefined : 'it calls a watcher with an origin that it does not have'
        return origins.includes(address.origin)
          ? undefined
          : 'it does not call a watcher with the known origin'
      },
    },
  ],
}

export const publicPathConformance: ConformanceSuite<PublicPath> = {
  capability: PublicPath,
  requirements: [
    {
      code: 'PATH_MALFORMED',
      statement: 'is a plain path below /',
      advice:
        'give a path such as /registry/public: the gate compares patterns and encodings as text, so they never match',
      check: (path) =>
        /^(?:\/(?!\.{1,2}(?:\/|$))[^/\s?#%*:]+)+\/?$/.test(path)
          ? undefined
          : `${JSON.stringify(path)} is no plain path`,
    },
  ],
}

const LISTS = [
  'authorization_servers',
  'scopes_supported',
  'bearer_methods_supported',
  'resource_signing_alg_values_supported',
  'authorization_details_types_supported',
  'dpop_signing_alg_values_supported',
]
const FLAGS = ['tls_client_certificate_bound_access_tokens', 'dpop_bound_access_tokens_required']
const TEXTS = [
  'resource',
  'jwks_uri',
  'resource_name',
  'resource_documentation',
  'resource_policy_uri',
  'resource_tos_uri',
  'signed_metadata',
]

const isList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** The type that RFC 9728, 2 gives a field; any of the three for others. */
function typeFault(field: string, value: unknown): string | undefined {
  if (LISTS.includes(field)) return isList(value) ? undefined : 'a list of texts'
  if (FLAGS.includes(field)) return typeof value === 'boolean' ? undefined : 'true or false'
  if (TEXTS.includes(field)) return typeof value === 'string' ? undefined : 'a text'
  return ['string', 'boolean'].includes(typeof value) || isList(value)
    ? undefined
    : 'a text, true or false, or a list of texts'
}

export const resourceMetadataConformance: ConformanceSuite<ResourceMetadata> = {
  capability: ResourceMetadata,
  requirements: [
    {
      code: 'RESOURCE_METADATA_MALFORMED',
      statement: 'gives fields with the types of RFC 9728',
      advice:
        'give lists as arrays, also lists of one: the gateway joins them with the lists of other plugins',
      check: (document: unknown) =>
        isObject(document) && !Array.isArray(document)
          ? firstFault(Object.entries(document), ([field, value]) => {
              const expected = typeFault(field, value)
              return expected === undefined ? undefined : `\`${field}\` is not ${expected}`
            })
          : 'it is no object',
    },
  ],
}
