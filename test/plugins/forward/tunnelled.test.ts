import { after } from 'node:test'
import { connectProxy } from '../../kit/connect-proxy.js'
import { way } from './proxied.js'

// The same tests through a proxy of the environment: it leads every name to this machine.
process.env['HTTP_PROXY'] = (await connectProxy({ after })).url
way.isDirect = false
way.to = (target) => target.replace('//127.0.0.1:', '//target.test:')

for (const file of ['transparency', 'bytes', 'streams', 'upload', 'limits', 'credentials']) {
  await import(`./${file}.test.js`)
}
