import { createRequire } from 'node:module'
import { dirname, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// The root folder of this package, from its sources and as it is published.
const index = createRequire(import.meta.url).resolve('sallyport')
const own = pathToFileURL(`${dirname(dirname(index))}/`).href

/** The line of an operator's own plugin that an error came from, as `file:line:column`; none where it is of this package or another. */
export function pluginFrame({ message, stack }: Error): string | undefined {
  // The stack repeats the message, which may hold anything, and code that throws may have changed both.
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
