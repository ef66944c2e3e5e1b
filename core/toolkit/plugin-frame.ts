import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// Where all code of this package lies, as it is written and as it is published.
const own = new URL('..', import.meta.url).href

/** The line of somebody's own code that an error came from, as `file:line:column`; none where it is ours or a package's. */
export function foreignPlace({ message, stack }: Error): string | undefined {
  // The stack repeats the message, which may hold anything, and whoever throws may have written into both.
  if (typeof stack !== 'string' || typeof message !== 'string' || !stack.includes(message)) return undefined
  const frames = stack.slice(stack.indexOf(message) + message.length).matchAll(FRAME)
  for (const [, inBrackets, bare] of frames) {
    const place = inBrackets ?? bare ?? ''
    const isPath = /^(?:file:\/\/\/|[/\\]|[A-Za-z]:\\)/.test(place)
    if (isPath && !isOurs(place) && !/[/\\]node_modules[/\\]/.test(place)) return shortened(place)
  }
  return undefined
}

const FRAME = /^ +at (?:.*\((.+:\d+:\d+)\)|(?:async )?(.+:\d+:\d+))$/gm

const isOurs = (place: string): boolean => place.startsWith(own) || place.startsWith(fileURLToPath(own))

function shortened(place: string): string {
  const [, file = '', position = ''] = /^(.*?)(?:\?.*?)?(:\d+:\d+)$/.exec(place) ?? []
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const near = relative('', path)
  return `${near.startsWith('..') ? path : near}${position}`
}
