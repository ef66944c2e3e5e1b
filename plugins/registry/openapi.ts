import { Authenticator, definePlugin } from 'sallyport'
import { openAccess } from 'sallyport/toolkit'
import { z } from 'zod'
import { type DeclaredRoute, openApiDocument } from './openapi-document.js'
import { type RouteSchema, refuseOtherMethods, routeFor } from './route.js'

export default definePlugin({
  name: 'registry/openapi',
  api: 1,
  summary:
    'Serves `/openapi.json`: every route that comes after it in the list and has a schema, as OpenAPI 3.1.',
  options: z.strictObject({
    anonymous: z
      .boolean()
      .optional()
      .describe('callers are not authenticated; by default as the authenticators of the list say'),
    title: z.string().default('MCP registry').describe('the title of the document'),
  }),

  setup(gateway, { anonymous, title }) {
    const isOpen = openAccess(gateway.use(Authenticator), anonymous)
    const routes: DeclaredRoute[] = []
    gateway.http.addHook('onRoute', ({ url, method, schema, config }) => {
      if (!isRouteSchema(schema)) return
      const needsCaller = config?.public !== true
      for (const each of [method].flat()) {
        if (each !== 'HEAD') routes.push({ url, method: each, schema, needsCaller })
      }
    })

    // Made by the first request for it, not by every start.
    let document: Buffer | undefined
    const config = { public: true }
    gateway.http.route(
      routeFor({
        url: '/openapi.json',
        config,
        schema: {
          summary: 'This description',
          tags: ['description'],
          response: { 200: z.looseObject({ openapi: z.string() }) },
        },
        handler: (_request, reply) => {
          document ??= Buffer.from(
            JSON.stringify(openApiDocument(title, isOpen() ? routes.map(withoutCaller) : routes)),
          )
          return reply
            .header('cache-control', 'public, max-age=300')
            .header('content-type', 'application/json; charset=utf-8')
            .send(document)
        },
      }),
    )
    refuseOtherMethods(gateway.http, { url: '/openapi.json', config })
  },
})

const isRouteSchema = (schema: unknown): schema is RouteSchema =>
  typeof schema === 'object' && schema !== null && 'summary' in schema && 'response' in schema

const withoutCaller = (route: DeclaredRoute): DeclaredRoute => ({ ...route, needsCaller: false })
