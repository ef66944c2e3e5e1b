import { styleText } from 'node:util'

export type Paint = (style: 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan', text: string) => string

/** Returns a function that styles text for a terminal, but not in a pipe, with NO_COLOR or on a dumb terminal. */
export function painter(stream: { readonly isTTY?: boolean }, environment: NodeJS.ProcessEnv): Paint {
  const { NO_COLOR = '', TERM } = environment
  if (stream.isTTY !== true || NO_COLOR !== '' || TERM === 'dumb') return (_style, text) => text
  // The stream was checked above; Node would check stdout instead of this stream.
  return (style, text) => styleText(style, text, { validateStream: false })
}
