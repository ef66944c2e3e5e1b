export interface Heard {
  readonly text: string
  stop(): void
}

/** Keeps what a plugin writes past the log to itself, so that it can be searched and does not mix with the report. */
export function listenToOutput(): Heard {
  const streams = [process.stdout, process.stderr]
  const originals = streams.map((stream) => stream.write.bind(stream))
  let text = ''
  for (const stream of streams) {
    stream.write = (chunk: string | Uint8Array): boolean => {
      text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      return true
    }
  }
  return {
    get text() {
      return text
    },
    stop() {
      for (const [index, stream] of streams.entries()) {
        const original = originals[index]
        if (original !== undefined) stream.write = original
      }
    },
  }
}
