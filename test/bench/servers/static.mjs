// A bare Fastify route that responds with the same bytes each time: the lower bound for a registry answer.
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import Fastify from 'fastify'

const [url, headers] = process.argv.slice(2)
const kept = ['content-type', 'content-encoding', 'etag', 'cache-control', 'vary']
const answer = await new Promise((resolve, reject) => {
  request(url, { headers: JSON.parse(headers) }, resolve)
    .on('error', reject)
    .end()
})
const body = await buffer(answer)
const app = Fastify()
app.get('/*', (_request, reply) => {
  reply.code(answer.statusCode)
  for (const name of kept) if (answer.headers[name] !== undefined) reply.header(name, answer.headers[name])
  return reply.send(answer.statusCode === 304 ? undefined : body)
})
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
