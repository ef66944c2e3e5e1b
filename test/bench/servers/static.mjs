// A bare Fastify route that answers the same bytes each time: what a registry answer cannot be cheaper than.
import Fastify from 'fastify'

const body = Buffer.from(
  await (
    await fetch(process.argv[2], { headers: { authorization: process.env.AUTHORIZATION } })
  ).arrayBuffer(),
)
const app = Fastify()
app.get('/*', (_request, reply) => reply.header('content-type', 'application/json').send(body))
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
