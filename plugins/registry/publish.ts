import {
  Authenticator,
  ConfigError,
  definePlugin,
  type Gateway,
  ManagedSource,
  ServerCatalogue,
} from 'sallyport'
import { byteSize } from 'sallyport/toolkit'
import { z } from 'zod'
import { InvalidBodies } from './publish/bodies.js'
import { PublishRate, publishRate } from './publish/publish-rate.js'
import { Publishers, publisherRules } from './publish/publishers.js'
import { PublishRoutes } from './publish/routes.js'
import { PublicationWriter } from './publish/writer.js'
import { API_VERSIONS, refuseOtherMethods } from './route.js'

/** Bounds the history of a name: a publisher that publishes and withdraws without end fills no disk. */
const MOST_EVENTS = 20_000

export default definePlugin({
  name: 'registry/publish',
  api: 1,
  summary:
    'Lets callers publish server documents to the managed source of a registry. It stands before `registry/api`.',
  requires: [ServerCatalogue, ManagedSource],
  options: z.strictObject({
    publishers: publisherRules
      .prefault([])
      .describe('who may publish: `when` (claims of the caller), `names`, and `may`; nobody by default'),
    maxVersions: z
      .int()
      .positive()
      .default(10_000)
      .describe('the most versions of one name, deleted ones too'),
    maxBytes: byteSize()
      .prefault('512MiB')
      .describe(
        'the most bytes of all documents of a managed source, deleted ones too until they are purged; 0 for no limit',
      ),
    maxBytesEach: byteSize()
      .prefault('128MiB')
      .describe('the same, of what one caller published; 0 for no limit'),
    publishRate: publishRate
      .prefault('600/1m')
      .describe('how often each caller may publish or edit, counted by each process'),
    openRate: publishRate
      .prefault('600/1m')
      .describe('how often each address may validate or log in, which needs no token'),
  }),

  async setup(gateway, { publishers, maxVersions, maxBytes, maxBytesEach, ...rates }) {
    const catalogue = gateway.use(ServerCatalogue)
    const managed = gateway.use(ManagedSource)
    const authenticators = gateway.use(Authenticator)
    const rate = new PublishRate(
      rates.publishRate,
      'TOO_MANY_PUBLICATIONS',
      'you have published too often in that time',
    )
    const openRate = new PublishRate(
      rates.openRate,
      'TOO_MANY_REQUESTS',
      'this is more requests than are allowed in that time',
    )
    const warn = (fields: object, message: string): void => gateway.log.warn(fields, message)
    const limits = {
      ...{ maxVersions, maxEvents: MOST_EVENTS },
      ...(maxBytes > 0 && { maxBytes }),
      ...(maxBytesEach > 0 && { maxBytesOfActor: maxBytesEach }),
    }
    const writer = new PublicationWriter({ catalogue, managed, rate, limits, warn })
    const routes = new PublishRoutes({
      writer,
      publishers: new Publishers(publishers),
      invalid: new InvalidBodies(),
      catalogue,
      openRate,
    })
    await declareRoutes(gateway, routes)
    gateway.onStart(() => {
      checkAuthenticators(authenticators(), publishers.length > 0)
      checkCatalogue(catalogue())
    })
  },
})

async function declareRoutes({ http }: Gateway, routes: PublishRoutes): Promise<void> {
  // `registry/api` refuses the methods that have no route when it declares its own.
  const deletion = `${http.prefix}/registry/:registry/v0/servers/:serverName/versions/:version`
  if (http.hasRoute({ method: 'DELETE', url: deletion })) throw wrong('it has to come before registry/api')
  await http.register(async (own) => {
    own.removeAllContentTypeParsers()
    // The handlers read the body, after the caller is authenticated.
    own.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const version of API_VERSIONS) {
      for (const route of routes.routes(version)) {
        own.route(route)
        if (route.method !== 'DELETE') refuseOtherMethods(own, route)
      }
    }
  })
}

function checkAuthenticators(authenticators: readonly Authenticator[], hasPublishers: boolean): void {
  if (authenticators.length === 0)
    throw wrong('nobody could publish: the list needs an authenticator that asks for a token')
  if (hasPublishers && authenticators.some(({ open }) => open === true))
    throw wrong(
      'anybody could publish, since nobody is asked for credentials: leave it empty, or use an authenticator that asks for a token',
    )
}

function checkCatalogue(catalogue: ServerCatalogue): void {
  if (catalogue.refresh === undefined || catalogue.sourcesOf === undefined)
    throw wrong('the server catalogue of this list cannot be published to: use registry/catalogue')
}

const wrong = (message: string): ConfigError => new ConfigError([{ place: 'publishers', message }])
