import { once } from 'node:events'
import { jsonFromYaml } from './convert.js'
import { frameOf, framesIn } from './frames.js'

// Parsing may take all memory or end the process: so it runs in a process of its own, whose end the reader notices.
for (const { kind, bytes } of await framesIn(process.stdin)) {
  let answer: Buffer
  try {
    answer = frameOf(kind, Buffer.from(jsonFromYaml(bytes.toString('utf8'))))
  } catch (error) {
    answer = frameOf(
      kind + 1,
      Buffer.from(error instanceof SyntaxError ? error.message : 'it cannot be read'),
    )
  }
  if (!process.stdout.write(answer)) await once(process.stdout, 'drain')
}
