import type { Scrubber } from './log/scrubber.js'

// A configuration may name them too, and no program runs well without them.
const NEEDED = /^(?:HOME|PATH|USER|LOGNAME|SHELL|TERM|LANG|TMPDIR|TZ|PWD|LC_\w+|XDG_\w+|SSH_AUTH_SOCK)$/

/** The environment for a program that a plugin starts: without the gateway's own variables, and without its secrets. */
export const childEnvironment = (scrubber: Scrubber): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name, value = '']) =>
        NEEDED.test(name) || !(/^(?:SALLYPORT|SERVICE)_/.test(name) || scrubber.knows(value)),
    ),
  )
