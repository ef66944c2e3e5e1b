import { styleText } from 'node:util'

export type Paint = (style: 'bold' | 'dim' | 'red' | 'cyan', text: string) => string

/** Paints for a person at a terminal, and leaves text alone in a pipe, under NO_COLOR, and on a dumb terminal. */
export function painter(stream: { readonly isTTY?: boolean }, environment: NodeJS.ProcessEnv): Paint {
  const { NO_COLOR = '', TERM } = environment
  if (stream.isTTY !== true || NO_COLOR !== '' || TERM === 'dumb') return (_style, text) => text
  // The stream has been looked at above; Node would look at stdout, whichever stream is meant.
  return (style, text) => styleText(style, text, { validateStream: false })
}
