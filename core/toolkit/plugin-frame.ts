import { createRequire } from 'node:module'
import { dirname, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// The root folder of this package, from its sources and as it is published.
const index = createRequire(import.meta.url).resolve('sallyport')
const packageUrl = pathToFileURL(`${dirname(dirname(index))}/`).href

/**
 * The line of an operator's own plugin that an error came from, as `file:line:column`; undefined for an error from
 * this package or another one.
 */
export function pluginFrame({ message, stack }: Error): string | undefined {
  // The stack repeats the message, which may hold anything, and the code that threw the error may have changed both.
  if (typeof stack !== 'string' || typeof message !== 'string' || !stack.includes(message)) return undefined
  const frames = stack.slice(stack.indexOf(message) + message.length).matchAll(FRAME)
  for (const [, inBrackets, bare] of frames) {
    const location = inBrackets ?? bare ?? ''
    const isPath = /^(?:file:\/\/\/|[/\\]|[A-Za-z]:\\)/.test(location)
    if (isPath && !isOfThisPackage(location) && !/[/\\]node_modules[/\\]/.test(location))
      return shortened(location)
  }
  return undefined
}

const FRAME = /^ +at (?:.*\((.+:\d+:\d+)\)|(?:async )?(.+:\d+:\d+))$/gm

const isOfThisPackage = (location: string): boolean =>
  location.startsWith(packageUrl) || location.startsWith(fileURLToPath(packageUrl))

function shortened(location: string): string {
  const [, file = '', position = ''] = /^(.*?)(?:\?.*?)?(:\d+:\d+)$/.exec(location) ?? []
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const near = relative('', path)
  return `${near.startsWith('..') ? path : near}${position}`
}
