import { after } from 'node:test'
import { connectProxy } from '#kit/connect-proxy.js'
import { targetRoute } from './proxied.js'

// The same tests through an outgoing proxy, which resolves every name to this machine.
process.env['HTTP_PROXY'] = (await connectProxy({ after })).url
targetRoute.isDirect = false
targetRoute.urlOf = (target) => target.replace('//127.0.0.1:', '//target.test:')
// The outgoing proxy could read plain text, so the operator has to allow credentials.
targetRoute.options = { allowPlainHttp: true }

for (const file of [
  'http',
  'http-bytes',
  'http-streams',
  'http-upload',
  'http-limits',
  'credentials',
  'http-bodyless',
  'http-kept-bodies',
]) {
  await import(`./${file}.test.js`)
}
