import { once } from 'node:events'
import { jsonFromYaml } from './convert.js'
import { frameOf, framesIn } from './frames.js'

// Parsing may take all memory or end the process, so it runs in a process of its own; the reader notices when that
// process ends.
for (const { kind, bytes } of await framesIn(process.stdin)) {
  let reply: Buffer
  try {
    reply = frameOf(kind, Buffer.from(jsonFromYaml(bytes.toString('utf8'))))
  } catch (error) {
    reply = frameOf(kind + 1, Buffer.from(error instanceof SyntaxError ? error.message : 'it cannot be read'))
  }
  if (!process.stdout.write(reply)) await once(process.stdout, 'drain')
}
