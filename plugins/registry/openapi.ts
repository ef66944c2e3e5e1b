import { definePlugin } from 'sallyport'
import { z } from 'zod'
import { type Declared, openApiDocument } from './openapi-document.js'
import { type RouteSchema, routeFor } from './route.js'

export default definePlugin({
  name: 'registry/openapi',
  api: 1,
  summary:
    'Serves `/openapi.json`: every route that comes after it in the list and has a schema, as OpenAPI 3.1.',
  options: z.strictObject({
    anonymous: z.boolean().default(false).describe('nobody is asked for credentials'),
    title: z.string().default('MCP registry').describe('the title of the document'),
  }),

  setup(gateway, { anonymous, title }) {
    const routes: Declared[] = []
    gateway.http.addHook('onRoute', ({ url, method, schema, config }) => {
      if (!isRouteSchema(schema) || String(method) === 'HEAD') return
      routes.push({ url, schema, needsCaller: !anonymous && config?.public !== true })
    })

    // Made when it is first asked for: most starts are not about this.
    let document: Buffer | undefined
    gateway.http.route(
      routeFor({
        url: '/openapi.json',
        config: { public: true },
        schema: {
          summary: 'This description',
          tags: ['description'],
          response: { 200: z.looseObject({ openapi: z.string() }) },
        },
        handler: (_request, reply) => {
          document ??= Buffer.from(JSON.stringify(openApiDocument(title, routes)))
          return reply
            .header('cache-control', 'public, max-age=300')
            .header('content-type', 'application/json; charset=utf-8')
            .send(document)
        },
      }),
    )
  },
})

const isRouteSchema = (schema: unknown): schema is RouteSchema =>
  typeof schema === 'object' && schema !== null && 'summary' in schema && 'response' in schema
