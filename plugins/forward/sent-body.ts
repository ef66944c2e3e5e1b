import type { ClientRequest } from 'node:http'
import type { Body } from './body.js'
import { LARGEST_HELD } from './transport.js'

/** Writes a body as fast as the target takes it. `onWait` is called whenever it takes no more; then comes `drain`. */
export function writeBody(
  request: ClientRequest,
  body: Buffer | Body,
  onWait: () => void,
  onEnd: () => void,
): void {
  const write = (chunk: Buffer): boolean => {
    const flows = request.write(chunk)
    if (!flows) onWait()
    return flows
  }
  if (Buffer.isBuffer(body)) writeParts(request, body, write, onEnd)
  else {
    request.on('drain', () => body.resume())
    body.streamTo(write, onEnd)
  }
}

/** Of one write nothing would tell whether the target still reads. */
function writeParts(
  request: ClientRequest,
  body: Buffer,
  write: (part: Buffer) => boolean,
  onEnd: () => void,
): void {
  const rest = body.subarray(LARGEST_HELD)
  const next = (): void => (rest.length === 0 ? onEnd() : writeParts(request, rest, write, onEnd))
  if (write(body.subarray(0, LARGEST_HELD))) next()
  else request.once('drain', next)
}
